"""Tests of core writes at the AXI masters: responses in order, each with its burst's error."""

import random
from collections import deque
from dataclasses import replace

import pytest
from amaranth import Module, Value

from spica.hw.config import AxiConfig, MemoryUnitConfig
from spica.hw.isa.memory_map import DRAM_BASE
from spica.hw.lib.axi import RESPONSE_OKAY, RESPONSE_SLAVE_ERROR
from spica.hw.memory.memory_unit.line_master import combiner_config
from spica.hw.memory.memory_unit.line_masters import LineMasters
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.dma.dma import SparseMemory
from spica.sim.iss.program_bench import small_config
from support.memory.axi_memory import interleaved_memories
from support.packing import Packing, Together

TWO = small_config(warps=2, threads=4, transactions=32)
CONFIGS = {
    "two": TWO,
    "one": replace(TWO, axi=AxiConfig(masters=1, data_width=128)),
    "four": replace(TWO, axi=AxiConfig(masters=4, data_width=128, interleave_bytes=64)),
}


class WriteBench:
    """Write beats until all are answered; each must be answered once, after its burst's response.

    Writer and receiver pause with a probability of `stall`, memories with that of `behind`.
    """

    def __init__(self, config, rng: random.Random, stall: float, behind: float, fails: float):
        self.config, self.rng, self.stall = config, rng, stall
        unit = MemoryUnitConfig.of(config)
        self.dut = require_no_loop(LineMasters(unit))
        self.line_beats = combiner_config(unit).line_beats
        self.memory = SparseMemory()

        def response(address: int, is_write: bool) -> int:
            return RESPONSE_SLAVE_ERROR if is_write and rng.random() < fails else RESPONSE_OKAY

        self.buses = interleaved_memories(
            self.dut, self.memory, config.axi, rng,
            stall=behind, jitter=3, reorders=True, response=response, prompt=True,
        )  # fmt: skip
        self.inputs = Together([signal for bus in self.buses for signal in bus.drives])
        self.waiting: list[list[int]] = [[] for _ in self.buses]  # lines of bursts, oldest first
        self.begun = [0 for _ in self.buses]
        self.responses: list[list[int]] = [[] for _ in self.buses]
        self.awaited: deque = deque()  # (master, number of the burst)
        self.reported: list[int] = []
        self.joined_others = 0  # answered after another burst of their master

    def run(self, writes):
        left, dut, rng = deque(writes), self.dut, self.rng
        packing = Packing(dut.line_write.payload.shape())
        samples = [dut.line_write.ready, dut.line_written.valid, dut.line_written.payload, dut.busy]
        samples += [s for bus in self.buses for s in bus.samples]

        async def bench(ctx):
            offer = None
            while left or offer or self.awaited:
                has_room = len(self.awaited) < dut.mshr_config.waiters
                if offer is None and left and has_room and rng.random() >= self.stall:
                    offer = left.popleft()
                    ctx.set(Value.cast(dut.line_write.payload), packing.pack(offer))
                willing = rng.random() >= self.stall
                ctx.set(dut.line_write.valid, offer is not None)
                ctx.set(dut.line_written.ready, willing)
                _, _, ready, valid, error, busy, *seen = await ctx.tick().sample(*samples)
                assert busy or not (offer or self.awaited)
                if valid and willing:
                    self.report(error)
                self.step(ctx, seen, offer if ready else None)
                offer = None if ready else offer
            assert not ctx.get(dut.busy)

        top = Module()
        top.submodules.dut = dut
        simulate(top, bench, timeout=20_000)

    def report(self, error: int):
        """Check the outcome of the oldest write."""
        master, burst = self.awaited.popleft()
        assert burst < len(self.responses[master]), "told before it was done"
        assert error == self.responses[master][burst]
        self.reported.append(error)

    def step(self, ctx, seen, accepted: dict | None):
        """Advance the memories, and the bursts that writes join."""
        per_bus, driven = len(self.buses[0].samples), []
        for c, bus in enumerate(self.buses):
            values = seen[c * per_bus : (c + 1) * per_bus]
            shown, wires = dict(zip(bus.wires.names, values, strict=True)), bus.wires
            if wires.moved("b", shown):
                self.responses[c].append(wires.driven["bresp"] >> 1)
            if accepted is not None and self.master_of(accepted["beat"]) == c:
                burst = self.burst_of(c, accepted["beat"], closed=shown["awvalid"])
                self.joined_others += burst < self.begun[c] - 1
                self.awaited.append((c, burst))
            if wires.moved("aw", shown):
                self.waiting[c].pop(0)
            driven += bus.step(values)
        self.inputs.set(ctx, driven)

    def burst_of(self, master: int, beat: int, *, closed: int) -> int:
        """Return the burst of a write: that of its line, unless it is among the first `closed`."""
        line, waiting = beat // self.line_beats, self.waiting[master]
        if line not in waiting[closed:]:
            waiting.append(line)
            self.begun[master] += 1
        return self.begun[master] - len(waiting) + waiting.index(line, closed)

    def master_of(self, beat: int) -> int:
        axi = self.config.axi
        return beat * axi.beat_bytes // axi.interleave_bytes % axi.masters


def random_writes(rng: random.Random, config, lines: int, count: int):
    """Yield writes of beats in this many lines, often of some bytes only."""
    size = config.axi.beat_bytes
    beats = config.axi.interleave_bytes // size
    for _ in range(count):
        yield {
            "beat": DRAM_BASE // size + rng.randrange(lines * beats),
            "data": rng.getrandbits(8 * size),
            "strobes": rng.choice([(1 << size) - 1, rng.getrandbits(size)]),
        }


@pytest.mark.parametrize("stall, behind", [(0.0, 0.0), (0.0, 0.8), (0.5, 0.5)])
@pytest.mark.parametrize("lines", [2, 6, 60])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(1)
def test_writes_are_reported_in_order_with_the_errors_of_their_bursts(name, lines, stall, behind):
    config, rng = CONFIGS[name], random.Random(f"{name} {lines} {behind}")
    writes = list(random_writes(rng, config, lines, 100))
    bench = WriteBench(config, rng, stall, behind, fails=0.2)
    bench.run(writes)
    assert len(bench.reported) == len(writes)
    assert 0 < sum(bench.reported) < len(writes)
    if behind == 0.8 and lines == 6:
        assert bench.joined_others > 0


def test_memory_is_as_if_writes_were_done_in_their_order():
    config, rng = CONFIGS["two"], random.Random(9)
    size = config.axi.beat_bytes
    writes = list(random_writes(rng, config, 4, 200))
    bench = WriteBench(config, rng, 0.0, 0.7, fails=0.0)
    bench.run(writes)
    expected = SparseMemory()
    for write in writes:
        if write["strobes"]:
            expected.write_masked(write["beat"] * size, write["data"], write["strobes"], size)
    assert bench.memory == expected
    bursts = [burst for bus in bench.buses for burst in bus.bursts_written]
    assert len(bursts) < len(writes) and max(beats for _, beats, _ in bursts) > 1
