"""Tests of the AXI4 multiplexer: every master gets its own responses, in order, under stalls."""

import random
from collections import deque
from dataclasses import replace

import pytest
from amaranth import EnableInserter, Module

from spica.hw.emit.emitter import emit
from spica.hw.lib.axi import BURST_INCR, RESPONSE_OKAY, RESPONSE_SLAVE_ERROR
from spica.hw.lib.axi_mux import AxiMux, AxiMuxConfig
from spica.sim.engine.testbench import require_no_loop, simulate
from support.memory.axi_memory import AxiMemory
from support.memory.axi_wires import BACK, FORWARD, AxiWires
from support.packing import Together

CONFIG = AxiMuxConfig(id_widths=(4, 2, 3), data_width=64)
ONE = AxiMuxConfig(id_widths=(2,), data_width=64)
USERS = AxiMuxConfig(id_widths=(4, 2, 3), data_width=64, owner_width=6)
MIXED = replace(USERS, plain_sources=1)
BEAT_BYTES = 8


def test_it_converts():
    require_no_loop(AxiMux, CONFIG)


def test_a_single_master_becomes_verilog():
    assert "module " in emit(AxiMux(ONE), "mux").verilog


def test_masters_must_have_ids():
    with pytest.raises(ValueError, match="each of id_widths must be between 1 and 16, not 0"):
        AxiMuxConfig(id_widths=(0,), data_width=64)
    with pytest.raises(ValueError, match="masters must be between 1 and 256, not 0"):
        AxiMuxConfig(id_widths=(), data_width=64)


class Source:
    """Master that issues bursts and checks the responses."""

    def __init__(self, port, number: int, id_width: int, rng: random.Random, bursts: int):
        self.wires, self.number, self.rng = AxiWires(port, BACK, FORWARD), number, rng
        self.ids = 1 << id_width
        self.left = {"ar": bursts, "aw": bursts}
        self.offers: dict[str, tuple | None] = {"ar": None, "aw": None, "w": None}
        self.beats: deque = deque()  # write data not yet offered
        self.expected: dict[tuple, deque] = {}  # expected responses in order, by (channel, id)

    def user(self, seed: int) -> tuple[int, ...]:
        """Return the user bits of an address or a response, if there are any."""
        return (user_of(seed),) if "awuser" in self.wires.driven else ()

    @property
    def idle(self) -> bool:
        pending = any(self.expected.values())
        return not (any(self.left.values()) or any(self.offers.values()) or self.beats or pending)

    def drive(self):
        """Offer bursts and beats at random, and select the channels that are ready."""
        rng, size = self.rng, BEAT_BYTES.bit_length() - 1
        for channel, back in (("ar", "r"), ("aw", "b")):
            if self.offers[channel] is None and self.left[channel] and rng.random() < 0.6:
                self.left[channel] -= 1
                name, length = rng.randrange(self.ids), rng.randrange(4)
                address = rng.randrange(1 << 20) * 64 | self.number << 28
                user = self.user(address) if channel == "aw" else ()
                self.offers[channel] = (name, address, length, size, BURST_INCR, *user)
                beats_back = self.expected.setdefault((back, name), deque())
                beats = [(address + BEAT_BYTES * n, n == length) for n in range(length + 1)]
                code = response(address, channel == "aw")
                if channel == "ar":
                    beats_back += [(value, code, last) for value, last in beats]
                else:
                    beats_back.append((code, *self.user(~address)))
                    self.beats += [(value, value & 0xFF, last) for value, last in beats]
        if self.offers["w"] is None and self.beats and rng.random() < 0.7:
            self.offers["w"] = self.beats.popleft()
        values = {f"{channel}ready": int(rng.random() < 0.7) for channel in BACK}
        for channel in FORWARD:
            offer = self.offers[channel]
            values[f"{channel}valid"] = int(offer is not None)
            values |= dict(zip(self.wires.payloads[channel], offer or (), strict=False))
        self.wires.driven |= values

    def take(self, values):
        seen = self.wires.see(values)
        for channel in FORWARD:
            if self.wires.moved(channel, seen):
                self.offers[channel] = None
        for channel in BACK:
            if self.wires.moved(channel, seen):
                name, *got = (seen[member] for member in self.wires.payloads[channel])
                expected = self.expected[channel, name].popleft()
                refused = channel == "b" and expected[0] != RESPONSE_OKAY
                assert tuple(got[:1] if refused else got) == (expected[:1] if refused else expected)


def user_of(seed: int) -> int:
    """Return user bits that depend on all bits of a number."""
    return seed * 0x9E37_79B1 >> 8 & 0xFFF


class Addresses:
    """Memory in which each beat is its address, with one strobe per bit of the lowest byte."""

    def __init__(self, plain_sources: int):
        self.plain_sources = plain_sources

    def read(self, address: int, count: int) -> bytes:
        return address.to_bytes(count, "little")

    def write_masked(self, address: int, value: int, mask: int, size: int):
        assert value == address, "data of another burst"
        assert mask == value & 0xFF

    def does(self, user: int, beats: list[tuple[int, int, int]]) -> int:
        """Write the beats of a burst with user bits; return those of its response."""
        for address, value, mask in beats:
            self.write_masked(address, value, mask, BEAT_BYTES)
        first = beats[0][0] if beats else 0
        is_plain = first >> 28 < self.plain_sources
        assert not beats or user == (0 if is_plain else user_of(first)), (
            "user bits of another burst"
        )
        return user_of(~first)


def response(address: int, is_write: bool) -> int:
    """Refuse an eighth of the bursts."""
    return RESPONSE_SLAVE_ERROR if address >> 6 & 7 == 7 else RESPONSE_OKAY


@pytest.mark.parametrize("config", [CONFIG, ONE, USERS, MIXED])
@pytest.mark.quick(1)
def test_all_get_what_is_theirs(config):
    rng = random.Random(7)
    dut = AxiMux(config)
    ports = dut.inputs
    sources = [Source(port, k, config.id_widths[k], rng, 60) for k, port in enumerate(ports)]
    addresses = Addresses(config.plain_sources)
    memory = AxiMemory(
        dut.o, addresses, rng, stall=0.3, jitter=3, reorders=True, response=response,
        does=addresses.does if config.owner_width else None,
    )  # fmt: skip
    top = Module()
    top.submodules.dut = EnableInserter(dut.busy)(dut)

    async def bench(ctx):
        wires = [source.wires for source in sources]
        inputs = Together([signal for part in (*wires, memory) for signal in part.drives])
        outputs = [signal for part in (*wires, memory) for signal in part.samples]
        driven = list(memory.wires.driven.values())
        while not all(source.idle for source in sources):
            for source in sources:
                source.drive()
            inputs.set(ctx, [value for wire in wires for value in wire.driven.values()] + driven)
            _, _, *seen = await ctx.tick().sample(*outputs)
            for source in sources:
                own = len(source.wires.samples)
                source.take(seen[:own])
                seen = seen[own:]
            driven = memory.step(seen)
        inputs.set(ctx, [0] * len(inputs.widths))
        await ctx.tick().repeat(2)
        assert not ctx.get(dut.busy)

    simulate(top, bench, timeout=4000)
