"""Tests of the on-chip memory that replaces DRAM, against an array of bytes."""

import random

import pytest

from spica.hw.config import AxiConfig
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.synth.fpga.self_test.axi_ram import AxiRam, AxiRamConfig, Window

AXI = {
    "one master": AxiConfig(masters=1, data_width=32, id_width=3, interleave_bytes=16),
    "two masters": AxiConfig(masters=2, data_width=64, id_width=2, interleave_bytes=64),
}
PORTS = [(axi, channel) for axi in AXI.values() for channel in range(axi.masters)]
BASES = (0x8000_0000, 0x9FFF_0000)


def own_addresses(axi: AxiConfig, channel: int, base: int, size: int) -> list[int]:
    """Return the addresses of a master's bursts within a window."""
    step = axi.interleave_bytes
    return [
        address
        for address in range(base, base + size, step)
        if address // step % axi.masters == channel
    ]


async def offer(ctx, rng, valid, ready):
    """Raise `valid` after a pause and wait until it is taken."""
    while rng.random() < 0.4:
        await ctx.tick()
    ctx.set(valid, 1)
    while True:
        is_accepted = ctx.get(ready)
        await ctx.tick()
        if is_accepted:
            break
    ctx.set(valid, 0)


@pytest.mark.parametrize("spoilt", [None, "a read byte", "a written byte"])
@pytest.mark.parametrize(("axi", "channel"), PORTS)
@pytest.mark.quick(3)
def test_bursts_and_the_reads_at_the_end(axi, spoilt, channel):
    rng = random.Random(f"{axi} {channel}")
    sizes = dict(zip(BASES, (512, 256), strict=True))
    before = {base: bytearray(rng.randbytes(size)) for base, size in sizes.items()}
    after = {base: bytearray(contents) for base, contents in before.items()}
    bursts = {base: own_addresses(axi, channel, base, size) for base, size in sizes.items()}
    writes = []
    for _ in range(40):  # into the second window: reads of the first return its initial contents
        base = BASES[1]
        address = rng.choice(bursts[base]) + axi.beat_bytes * rng.randrange(axi.burst_beats)
        most = axi.burst_beats - address % axi.interleave_bytes // axi.beat_bytes
        beats = [
            (rng.getrandbits(axi.data_width), rng.getrandbits(axi.beat_bytes))
            for _ in range(rng.randint(1, most))
        ]
        writes.append((address, beats))
        for number, (word, strobes) in enumerate(beats):
            for byte in range(axi.beat_bytes):
                if strobes >> byte & 1:
                    place = address - base + number * axi.beat_bytes + byte
                    after[base][place] = word >> 8 * byte & 0xFF
    if spoilt == "a read byte":
        after[BASES[0]][rng.choice(bursts[BASES[0]]) - BASES[0]] ^= 0x10
    if spoilt == "a written byte":
        address, beats = writes[-1]
        writes[-1] = address, [(word ^ 0xFF, strobes | 1) for word, strobes in beats]
    windows = tuple(
        Window(base=base, before=bytes(before[base]), after=bytes(after[base])) for base in BASES
    )
    config = AxiRamConfig(axi=axi, id_width=axi.id_width, channel=channel, windows=windows)
    dut = require_no_loop(AxiRam(config))
    port = dut.axi

    async def write(ctx):
        rng = random.Random(1)
        for number, (address, beats) in enumerate(writes):
            ctx.set(port.awaddr, address)
            ctx.set(port.awid, number % (1 << axi.id_width))
            ctx.set(port.awlen, len(beats) - 1)
            await offer(ctx, rng, port.awvalid, port.awready)
            for place, (word, strobes) in enumerate(beats):
                ctx.set(port.wdata, word)
                ctx.set(port.wstrb, strobes)
                ctx.set(port.wlast, place == len(beats) - 1)
                await offer(ctx, rng, port.wvalid, port.wready)
            while not ctx.get(port.bvalid):
                await ctx.tick()
            assert ctx.get(port.bid) == number % (1 << axi.id_width)
            assert ctx.get(port.bresp) == 0
            await offer(ctx, rng, port.bready, port.bvalid)
        done.add("write")

    async def read(ctx):
        rng = random.Random(2)
        base = BASES[0]
        for number in range(60):
            there = rng.random() < 0.8
            address = rng.choice(bursts[base]) + axi.beat_bytes * rng.randrange(axi.burst_beats)
            count = rng.randint(
                1, axi.burst_beats - address % axi.interleave_bytes // axi.beat_bytes
            )
            ctx.set(port.araddr, address if there else address ^ 1 << rng.randrange(10, 31))
            ctx.set(port.arid, number % (1 << axi.id_width))
            ctx.set(port.arlen, count - 1)
            await offer(ctx, rng, port.arvalid, port.arready)
            for beat in range(count):
                while rng.random() < 0.4:
                    await ctx.tick()
                ctx.set(port.rready, 1)
                while not ctx.get(port.rvalid):
                    await ctx.tick()
                at = address - base + beat * axi.beat_bytes
                word = int.from_bytes(before[base][at : at + axi.beat_bytes], "little")
                assert ctx.get(port.rdata) == (word if there else 0)
                assert ctx.get(port.rresp) == (0 if there else 0b10)
                assert ctx.get(port.rid) == number % (1 << axi.id_width)
                assert ctx.get(port.rlast) == (beat == count - 1)
                await ctx.tick()
                ctx.set(port.rready, 0)
        done.add("read")

    async def observe(ctx):
        while len(done) < 2:
            await ctx.tick()
        ctx.set(dut.verify, 1)
        await ctx.tick()
        while not ctx.get(dut.verified):
            await ctx.tick()
        assert ctx.get(dut.differs) == (spoilt is not None)

    done: set[str] = set()
    simulate(dut, write, read, observe)


def test_windows_must_fit():
    with pytest.raises(ValueError, match="same power of two of bytes, not 3 and 3"):
        Window(base=0, before=b"abc", after=b"abc")
    with pytest.raises(ValueError, match="multiple of 4 bytes, not 0x2"):
        Window(base=2, before=b"abcd", after=b"abcd")
    window = Window(base=0, before=bytes(4), after=bytes(4))
    with pytest.raises(ValueError, match="windows must have 16 bytes or more, not 4"):
        AxiRamConfig(axi=AXI["one master"], id_width=1, windows=(window,))
    with pytest.raises(ValueError, match="at least 1, not 0"):
        AxiRamConfig(axi=AXI["one master"], id_width=1, windows=())
