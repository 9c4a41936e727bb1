"""Tests of dispatch: the complete instructions offered to each port, and their timing."""

import random

import pytest
from amaranth import Value

from spica.hw.config import CoreConfig
from spica.hw.core.layouts import operation_layout
from spica.hw.core.operands.dispatch import Dispatch
from spica.hw.isa.operations import PORTS, Port
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.synth.measure import measure
from support.packing import Packing


class DispatchBench:
    """Bench in which instructions enter collectors, complete, and leave at random.

    Parameters
    ----------
    complete, accept : float
        Probabilities that an instruction completes, and that a port accepts, in a cycle.
    ports : list of Port
        Ports of the instructions.

    """

    def __init__(self, config, *, complete: float, accept: float, ports: list[Port], seed: int = 1):
        self.config = config
        self.complete = complete
        self.accept = accept
        self.ports = ports
        self.rng = random.Random(seed)
        self.packing = Packing(operation_layout(config))
        self.instructions: dict[int, dict] = {}  # by collector
        self.offered: dict[int, int] = {}  # collector by port
        self.count = 0
        self.left: list[tuple[int, int, int]] = []  # cycle, port, number

    def fill(self, ctx, dut):
        """Put an instruction into each free collector, in random order."""
        free = [c for c in range(self.config.collectors) if c not in self.instructions]
        self.rng.shuffle(free)
        for collector in free:
            port = self.rng.choice(self.ports)
            operation = self.rng.getrandbits(self.packing.width)
            self.instructions[collector] = {
                "number": self.count,
                "port": port,
                "complete": False,
                "operation": operation,
            }
            self.count += 1
            ctx.set(dut.port[collector], 1 << port)
            ctx.set(Value.cast(dut.collected[collector]), operation)

    def rivals(self, collector: int) -> int:
        """Return the collectors with older instructions for the same port."""
        own = self.instructions[collector]
        return sum(
            1 << other
            for other, one in self.instructions.items()
            if one["port"] == own["port"] and one["number"] < own["number"]
        )

    def expected(self, port: int) -> dict:
        """Return the expected offer at `port`: unused operands are 0."""
        instruction = self.instructions[self.offered[port]]
        operation = self.packing.unpack(instruction["operation"])
        for k in range(PORTS[Port(port)].operands, 3):
            operation["operands"][k] = [0] * self.config.threads
        return operation

    def choose(self):
        """Offer each free port the oldest complete instruction."""
        for port in set(self.config.ports) - set(self.offered):
            able = {
                one["number"]: collector
                for collector, one in self.instructions.items()
                if one["port"] == port and one["complete"]
            }
            if able:
                self.offered[port] = able[min(able)]

    async def cycle(self, ctx, dut, number: int):
        """Run a cycle and compare all outputs with the expected ones."""
        self.fill(ctx, dut)
        for one in self.instructions.values():
            one["complete"] |= self.rng.random() < self.complete
        complete = sum(1 << c for c, one in self.instructions.items() if one["complete"])
        ctx.set(dut.complete, complete)
        for collector in self.instructions:
            ctx.set(dut.rivals[collector], self.rivals(collector))
        ready = [self.rng.random() < self.accept for _ in self.config.ports]
        leaves = 0
        for port in self.config.ports:
            stream = dut.operation[port]
            ctx.set(stream.ready, ready[port])
            assert ctx.get(stream.valid) == (port in self.offered), f"{port!r} in {number}"
            if port in self.offered:
                found = self.packing.unpack(ctx.get(Value.cast(stream.payload)))
                assert found == self.expected(port), f"{port!r} in cycle {number}"
                leaves |= ready[port] << self.offered[port]
        assert ctx.get(dut.leaves) == leaves
        await ctx.tick()
        left = [port for port in self.offered if ready[port]]
        gone = [self.offered.pop(port) for port in left]
        offered = set(self.offered.values())
        self.left += [
            (number, p, self.instructions[c]["number"]) for p, c in zip(left, gone, strict=True)
        ]
        for collector in gone:
            del self.instructions[collector]
        assert not offered & set(gone)
        self.choose()

    def run(self, cycles: int):
        """Run for `cycles` cycles."""
        dut = Dispatch(self.config)
        require_no_loop(dut)

        async def testbench(ctx):
            for number in range(cycles):
                await self.cycle(ctx, dut, number)

        simulate(dut, testbench)
        return self


@pytest.mark.parametrize("collectors", [1, 2, 6, 8])
@pytest.mark.parametrize(("complete", "accept"), [(1.0, 1.0), (0.3, 0.5), (0.9, 0.2)])
@pytest.mark.quick(4)
def test_offers(collectors, complete, accept):
    config = CoreConfig(collectors=collectors, threads=2, warps=4)
    DispatchBench(config, complete=complete, accept=accept, ports=list(config.ports)).run(60)


def test_one_port_takes_one_instruction_per_cycle_in_order_of_age():
    config = CoreConfig(collectors=6, threads=1)
    bench = DispatchBench(config, complete=1.0, accept=1.0, ports=[Port.INT]).run(50)
    assert [(cycle, number) for cycle, _, number in bench.left] == [
        (number + 1, number) for number in range(49)
    ]


def test_no_instruction_is_passed_over():
    """A complete instruction leaves once older ones have left, whatever enters after it."""
    config = CoreConfig(collectors=8, threads=1)
    bench = DispatchBench(config, complete=1.0, accept=0.4, ports=[Port.INT, Port.FP32])
    bench.run(200)
    for port in (Port.INT, Port.FP32):
        numbers = [number for _, where, number in bench.left if where == port]
        assert numbers == sorted(numbers)
        assert len(numbers) > 40


def test_all_ports_at_once():
    config = CoreConfig(collectors=6, threads=1)
    ports = list(config.ports)
    bench = DispatchBench(config, complete=1.0, accept=0.5, ports=ports, seed=5).run(200)
    cycles = [cycle for cycle, _, _ in bench.left]
    assert max(cycles.count(cycle) for cycle in set(cycles)) > 2


@pytest.mark.full
def test_cells_and_depth():
    measurement = measure(Dispatch(CoreConfig(threads=1)), "dispatch")
    assert measurement.cells <= 150
    assert measurement.depth <= 20
