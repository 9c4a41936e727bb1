"""Tests of the simulator's patch: every signal has the value it has without the patch."""

import random
from contextlib import nullcontext

import pytest
from amaranth import *
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator
from amaranth.sim import _pyrtl as pyrtl

from spica.hw.emit.amaranth_patches.quick_simulation import REPLACED, quick_simulation
from spica.sim.engine.testbench import Simulation, simulate
from support.slow_cases import fast_only

WIDTHS = (1, 2, 3, 8, 17)
SHIFTS = (1, 2, 3)


def random_shape(rng: random.Random) -> Shape:
    return Shape(rng.choice(WIDTHS), rng.random() < 0.4)


def random_value(rng: random.Random, signals: list[Signal], depth: int) -> Value:
    """Return an expression of signals and constants with operators of every kind."""
    if not depth or rng.random() < 0.1:
        shape = random_shape(rng)
        constant = Const(rng.getrandbits(20), shape)
        return constant if rng.random() < 0.2 else rng.choice(signals)

    def part() -> Value:
        return random_value(rng, signals, depth - 1)

    def few(count: int = 3) -> Value:
        return part()[:count].as_unsigned()

    a, b = part(), part()
    kinds = {
        "arithmetic": lambda: rng.choice([a + b, a - b, a * b, -a, +a, abs(a)]),
        "division": lambda: rng.choice([a // b, a % b]),
        "logic": lambda: rng.choice([a & b, a | b, a ^ b, ~a]),
        "comparison": lambda: rng.choice([a == b, a != b, a < b, a <= b, a > b, a >= b]),
        "reduction": lambda: rng.choice([a.bool(), a.any(), a.all(), a.xor()]),
        "shift": lambda: rng.choice([a << few(), a >> few(), a.shift_left(2), a.rotate_left(1)]),
        "cast": lambda: rng.choice([a.as_signed(), a.as_unsigned(), a[:2].as_signed()]),
        "slice": lambda: a[rng.randrange(len(a)) :],
        "low slice": lambda: a[: rng.randrange(len(a)) + 1],
        "part": lambda: rng.choice([a.bit_select(few(), 2), a.word_select(few(), 3)]),
        "concatenation": lambda: Cat(a, b, part()),
        "choice": lambda: Mux(part(), a, b),
        "array": lambda: Array([a, b, part()])[few(2)],
    }
    value = kinds[rng.choice(list(kinds))]()
    return value if 0 < len(value) < 60 else rng.choice(signals)


class RandomDesign(Elaboratable):
    """Assignments of random expressions to signals, in whole, in part and under conditions."""

    def __init__(self, seed: int):
        rng = random.Random(seed)
        self.inputs = [Signal(random_shape(rng), name=f"i{n}") for n in range(6)]
        self.outputs = [Signal(random_shape(rng), name=f"o{n}") for n in range(12)]
        shapes = [random_shape(rng) for _ in range(4)]
        self.state = [Signal(shape, init=-1 if shape.signed else 1) for shape in shapes]
        self.memory = Memory(shape=8, depth=6, init=[3, 1, 4])
        self.rng = rng

    @property
    def seen(self) -> list[Value]:
        return [*self.outputs, *self.state, self.read]

    def elaborate(self, platform):
        m, rng = Module(), self.rng
        m.submodules.memory = memory = self.memory
        write, read = memory.write_port(), memory.read_port(transparent_for=())
        self.read = Value.cast(read.data)
        sources = [*self.inputs, *self.state]
        m.d.comb += [
            write.addr.eq(random_value(rng, sources, 2)),
            write.data.eq(random_value(rng, sources, 3)),
            write.en.eq(random_value(rng, sources, 2)),
            read.addr.eq(random_value(rng, sources, 2)),
            read.en.eq(1),
        ]
        for domain, targets in (("comb", self.outputs), ("sync", self.state)):
            for target in targets:
                m.d[domain] += target.eq(random_value(rng, sources, 4))
                with m.If(random_value(rng, sources, 3).bool()):
                    m.d[domain] += target[: rng.randrange(len(target)) + 1].eq(
                        random_value(rng, sources, 3)
                    )
                with m.Switch(Cat(random_value(rng, sources, 2), rng.choice(sources))[:2]):
                    with m.Case(1):
                        at = rng.choice(self.inputs)[:2].as_unsigned()
                        m.d[domain] += target.bit_select(at, 1).eq(random_value(rng, sources, 2))
                    with m.Case(2):
                        m.d[domain] += target.eq(random_value(rng, sources, 2))
        return m


def values_of(seed: int, patch) -> list[tuple]:
    """Return the values of all signals of a random design in each cycle, and their types."""
    with patch():
        design, samples = RandomDesign(seed), []
        simulator = Simulator(design)
        simulator.add_clock(1e-6)
        rng = random.Random(seed)

        async def bench(ctx):
            for _ in range(40):
                for signal in design.inputs:
                    shape = signal.shape()
                    value = rng.choice([0, -1, rng.getrandbits(shape.width)])
                    ctx.set(signal, Const(value, shape).value)
                values = [ctx.get(value) for value in design.seen]
                samples.append(tuple((type(value), value) for value in values))
                await ctx.tick()

        simulator.add_testbench(bench)
        simulator.run()
    return samples


@pytest.mark.parametrize("seed", fast_only(range(12), range(60)))
@pytest.mark.quick(2)
def test_values_are_those_without_the_patch(seed):
    expected = values_of(seed, nullcontext)
    assert len(set(expected)) > 20
    assert values_of(seed, quick_simulation) == expected


def test_amaranth_is_restored():
    before = [getattr(kind, name) for kind, name, _ in REPLACED]
    with quick_simulation():
        assert hasattr(pyrtl, "compile")
        assert all(getattr(kind, name) is new for kind, name, new in REPLACED)
    assert [getattr(kind, name) for kind, name, _ in REPLACED] == before
    assert not hasattr(pyrtl, "compile")


class Counter(Elaboratable):
    """Counts, and writes each count into a memory."""

    def __init__(self):
        self.count, self.last = Signal(8, init=5), Signal(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=4, init=[9])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [write.data.eq(self.count), write.en.eq(1), self.last.eq(read.data)]
        m.d.sync += self.count.eq(self.count + 1)
        return m


def test_each_run_of_a_simulation_begins_in_the_initial_state():
    design = Counter()
    simulation, seen = Simulation(design), []

    def bench(cycles):
        async def watch(ctx):
            for _ in range(cycles):
                seen.append((ctx.get(design.count), ctx.get(design.last)))
                await ctx.tick()

        return watch

    simulation.run(bench(3))
    assert seen == [(5, 9), (6, 5), (7, 6)]
    first = list(seen)
    simulator = simulation.simulator
    for benches in ([3], [2, 3, 2], [3]):
        seen.clear()
        simulation.run(*map(bench, benches))
        assert set(seen) == set(first) and len(seen) == sum(benches)
    assert simulation.simulator is simulator


def test_a_simulation_that_failed_is_built_again():
    design = Counter()
    simulation = Simulation(design)

    async def waits(ctx):
        while ctx.get(design.count) != 4:  # wraps after 255 cycles
            await ctx.tick()

    with pytest.raises(TimeoutError, match="Counter still busy after 20 cycles"):
        simulation.run(waits, timeout=20)
    assert simulation.simulator is None
    simulation.run(waits, timeout=300)
    with pytest.raises(TimeoutError, match="Counter still busy after 20 cycles"):
        simulate(design, waits, timeout=20)
