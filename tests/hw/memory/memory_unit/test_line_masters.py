"""Tests of core writes at the AXI masters: responses in order, each with its burst's error."""

import random
from collections import deque
from dataclasses import replace
from functools import cached_property

import pytest
from amaranth import Module, Value

from spica.hw.config import AxiConfig, MemoryUnitConfig
from spica.hw.isa.memory_map import DRAM_BASE
from spica.hw.isa.operations import AtomicOperation
from spica.hw.lib.axi import RESPONSE_OKAY, RESPONSE_SLAVE_ERROR
from spica.hw.memory.memory_unit.line_master import combiner_config
from spica.hw.memory.memory_unit.line_masters import LineMasters
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.atomic.atomic_unit import atomic_word
from spica.sim.golden.memory.dma.dma import SparseMemory
from spica.sim.iss.program_bench import small_config
from support.memory.axi_memory import interleaved_memories
from support.packing import Packing, Together

TWO = small_config(warps=2, threads=4, transactions=32)
CONFIGS = {
    "two": TWO,
    "one": replace(TWO, axi=AxiConfig(masters=1, data_width=128)),
    "four": replace(TWO, axi=AxiConfig(masters=4, data_width=128, interleave_bytes=64)),
    "atomics": small_config(warps=2, threads=4, transactions=32, atomics=True),
    "atomics of four": replace(
        small_config(warps=4, threads=4, transactions=32, atomics=True),
        axi=AxiConfig(masters=4, data_width=128, interleave_bytes=64),
    ),
}
#: Operations whose result memory alone determines.
OPERATIONS = [
    operation
    for operation in AtomicOperation
    if operation not in (AtomicOperation.LR, AtomicOperation.SC)
]


class WriteBench:
    """Write beats until all are answered; each must be answered once, after its burst's response.

    Writer and receiver pause with a probability of `stall`, memories with that of `behind`.
    """

    def __init__(self, config, rng: random.Random, stall: float, behind: float, fails: float):
        self.config, self.rng, self.stall = config, rng, stall
        unit = MemoryUnitConfig.of(config)
        self.has_atomics = config.core.atomics
        self.results: deque = deque()  # expected of each write, if nothing fails; None of others
        self.dut = require_no_loop(LineMasters(unit))
        self.line_beats = combiner_config(unit).line_beats
        self.memory = SparseMemory()

        def response(address: int, is_write: bool) -> int:
            return RESPONSE_SLAVE_ERROR if is_write and rng.random() < fails else RESPONSE_OKAY

        self.buses = interleaved_memories(
            self.dut, self.memory, config.axi, rng,
            stall=behind, jitter=3, reorders=True, response=response, prompt=True,
            does=self.does if self.has_atomics else None,
        )  # fmt: skip
        self.model, self.checks_results = SparseMemory(), not fails
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
        samples = [dut.line_write.ready, dut.line_written.valid]
        samples += [Value.cast(dut.line_written.payload), dut.busy]
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
                if offer is not None and ready and self.has_atomics:
                    self.results.append(self.do(self.model, offer))
                self.step(ctx, seen, offer if ready else None)
                offer = None if ready else offer
            assert not ctx.get(dut.busy)

        top = Module()
        top.submodules.dut = dut
        simulate(top, bench, timeout=20_000)

    def do(self, memory: SparseMemory, write: dict) -> int | None:
        """Do a write on `memory`; return the result of an atomic."""
        size = self.config.axi.beat_bytes
        address, value, strobes = write["beat"] * size, write["data"], write["strobes"]
        if not write["user"]["atomic"]:
            if strobes:
                memory.write_masked(address, value, strobes, size)
            return None
        place = ((strobes & -strobes).bit_length() - 1) // 4
        old = int.from_bytes(memory.read(address + 4 * place, 4), "little")
        operand, expected = (value >> 32 * n & 0xFFFF_FFFF for n in (place, place ^ 1))
        operation = AtomicOperation(write["user"]["operation"])
        new = atomic_word(operation, strobes >> 4 * place, old, operand, expected)
        if new is not None:
            memory.write_masked(address, new << 32 * place, strobes, size)
        return old ^ write["user"]["owner"] << 8  # so that each owner must arrive

    def does(self, user: int, beats: list[tuple[int, int, int]]) -> int:
        """Do a burst at a memory; return its user bits."""
        fields, size, result = self.user.unpack(user), self.config.axi.beat_bytes, None
        assert len(beats) <= 1 or not fields["atomic"], "an atomic in a burst of others"
        for address, value, strobes in beats:
            write = {"beat": address // size, "data": value, "strobes": strobes, "user": fields}
            result = self.do(self.memory, write)
        return self.rng.getrandbits(32) if result is None else result

    @cached_property
    def user(self) -> Packing:
        """Packing of the user bits of a write."""
        return Packing(self.dut.line_write.payload.user.shape())

    def report(self, answer: int):
        """Check the answer to the oldest write."""
        error, word = answer & 1, answer >> 1
        if self.results:
            result = self.results.popleft()
            assert not self.checks_results or result in (None, word), "another result"
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
                is_atomic = self.has_atomics and accepted["user"]["atomic"]
                burst = self.burst_of(c, accepted["beat"], shown["awvalid"], is_atomic)
                self.joined_others += burst < self.begun[c] - 1
                self.awaited.append((c, burst))
            if wires.moved("aw", shown):
                self.waiting[c].pop(0)
            driven += bus.step(values)
        self.inputs.set(ctx, driven)

    def burst_of(self, master: int, beat: int, closed: int, is_atomic: bool) -> int:
        """Return the burst of a write: that of its line, unless it is among the first `closed`.

        An atomic closes all bursts: they have no line from then on.
        """
        line, waiting = beat // self.line_beats, self.waiting[master]
        if is_atomic:
            waiting[:] = [-1] * (len(waiting) + 1)
            self.begun[master] += 1
            return self.begun[master] - 1
        if line not in waiting[closed:]:
            waiting.append(line)
            self.begun[master] += 1
        return self.begun[master] - len(waiting) + waiting.index(line, closed)

    def master_of(self, beat: int) -> int:
        axi = self.config.axi
        return beat * axi.beat_bytes // axi.interleave_bytes % axi.masters


def random_writes(rng: random.Random, config, lines: int, count: int, atomics: float = 0.4):
    """Yield writes of beats in this many lines, often of some bytes only, and atomics."""
    size = config.axi.beat_bytes
    beats = config.axi.interleave_bytes // size
    for _ in range(count):
        write: dict = {
            "beat": DRAM_BASE // size + rng.randrange(lines * beats),
            "data": rng.getrandbits(8 * size),
            "strobes": rng.choice([(1 << size) - 1, rng.getrandbits(size)]),
        }
        if config.core.atomics:
            owner = rng.randrange(config.core.warps * config.core.threads)
            write["user"] = {"atomic": 0, "operation": rng.choice(OPERATIONS), "owner": owner}
            if rng.random() < atomics:
                write["strobes"] = rng.choice([0xF, 1, 0xC]) << 4 * rng.randrange(size // 4)
                write["user"]["atomic"] = 1
        yield write


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
    if behind == 0.8 and lines == 6 and not config.core.atomics:
        assert bench.joined_others > 0


@pytest.mark.parametrize("stall, behind", [(0.0, 0.0), (0.0, 0.8), (0.5, 0.3)])
@pytest.mark.parametrize("atomics", [0.1, 0.9])
@pytest.mark.parametrize("name", ["atomics", "atomics of four"])
@pytest.mark.quick(1)
def test_atomics_return_results_in_the_order_of_writes_to_a_beat(name, atomics, stall, behind):
    config, rng = CONFIGS[name], random.Random(f"{name} {atomics} {behind}")
    writes = list(random_writes(rng, config, 2, 150, atomics))
    bench = WriteBench(config, rng, stall, behind, fails=0.0)
    bench.run(writes)
    assert bench.memory == bench.model and not bench.results


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
