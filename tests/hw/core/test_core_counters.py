"""Tests of a core's performance counters: their table, and counts of random events."""

import random

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.clock_control import SLEEP_WIDTH
from spica.hw.core.counters import COUNTED, COUNTER_WIDTH, CoreCounters
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.csr import COUNTER_NUMBERS, COUNTER_PLACES, COUNTERS, CSR_NUMBERS, CSRS
from spica.hw.isa.operations import Port
from spica.hw.isa.program import assemble_program
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.counters import CounterModel, Cycle

#: Cycles from an event until the counters show it.
DELAY = 3
SHAPES = {
    "default": CoreConfig(),
    "one of each": CoreConfig(warps=1, threads=1, banks=1, collectors=1, writeback_buses=1),
    "many": CoreConfig(
        threads=32, banks=16, bank_mapping="thread", issue_width=2, writeback_buses=4
    ),
}


def make(config):
    return require_no_loop(CoreCounters(config), ports=[])


def test_the_table_names_every_reason_and_every_port():
    assert {name for name in COUNTERS if name.startswith("slots_")} == {
        f"slots_{reason.name.lower()}" for reason in StallReason
    }
    assert {name for name in COUNTERS if name.startswith("operations_")} == {
        f"operations_{port.name.lower()}" for port in Port if port is not Port.MEMORY
    }
    assert [*COUNTERS][2:] == [counter.name for counter in COUNTED]


def test_the_numbers():
    places = [counter.place for counter in COUNTERS.values()]
    assert len({*places}) == len(places)
    assert {*places} <= {*range(COUNTER_PLACES)} - {1}  # there is no time counter
    assert COUNTERS["cycles"].number == CSRS["mcycle"].number
    assert COUNTERS["instructions"].high_number == CSRS["minstreth"].number
    assert CSR_NUMBERS["slots_none"] == 0xB03
    assert CSR_NUMBERS["slots_none_high"] == 0xB83
    assert len(CSR_NUMBERS) == len(CSRS) + 2 * len(COUNTERS)
    assert all(
        counter.number in COUNTER_NUMBERS[0::2][counter.place // 32]
        for counter in COUNTERS.values()
    )
    assert all(
        counter.high_number in COUNTER_NUMBERS[1::2][counter.place // 32]
        for counter in COUNTERS.values()
    )
    words = assemble_program("csrr a0, loads\ncsrr a0, loads_high").data
    assert words == assemble_program("csrr a0, 0xb13\ncsrr a0, 0xb93").data


def random_cycle(rng, config):
    """Return a random set of events for a cycle, consistent or not."""

    def some(most):
        return rng.choice((0, most, rng.randint(0, most)))

    return Cycle(
        busy=rng.random() < 0.7,
        slept=some((1 << SLEEP_WIDTH) - 1),
        slots=[rng.choice([*StallReason]) for _ in range(config.issue_width)],
        operations=[port for port in config.ports if rng.random() < 0.5],
        is_store=rng.random() < 0.5,
        requests=some(1),
        fetches=some(1),
        done=[some((1 << config.threads) - 1) for _ in range(some(config.writeback_buses))],
        reads=some(config.banks),
        writes=some(config.banks),
        read_conflicts=some(config.banks),
        write_conflicts=some(config.banks),
        occupied=some(config.collectors),
        snooped=some(3 * config.collectors),
        splits=some(1),
    )


def bits(rng, width, ones):
    """Return random bits with the given number set."""
    return sum(1 << place for place in rng.sample(range(width), ones))


def give(ctx, dut, rng, cycle, before):
    """Set the inputs for a cycle; outcomes and cycles asleep are those of the cycle before."""
    config = dut.config
    names = ("reads", "writes", "read_conflicts", "write_conflicts")
    done = [*cycle.done, *[0] * (config.writeback_buses - len(cycle.done))]
    ctx.set(dut.busy, cycle.busy)
    ctx.set(dut.slots, before.slots)
    ctx.set(dut.slept, before.slept)
    ctx.set(
        dut.events,
        {
            "operations": sum(1 << port for port in cycle.operations),
            "is_store": cycle.is_store,
            "memory_request": cycle.requests,
            "fetch": cycle.fetches,
            "registers": {name: bits(rng, config.banks, getattr(cycle, name)) for name in names},
            "collectors": {"occupied": cycle.occupied, "refused": 0, "snooped": cycle.snooped},
            "done": rng.sample(done, len(done)),
            "divergent_split": cycle.splits,
        },
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(1)
def test_random_events(shape):
    """At any time all counters include all cycles up to the third before."""
    config, rng, model = SHAPES[shape], random.Random(shape), CounterModel()
    dut = make(config)
    expected = [dict(model.counters)] * DELAY

    async def bench(ctx):
        before = Cycle(busy=False, slots=[StallReason.IDLE] * config.issue_width)
        busy = [False, False]
        for _ in range(150):
            cycle = random_cycle(rng, config)
            give(ctx, dut, rng, cycle, before)
            model.step(cycle)
            expected.append(dict(model.counters))
            held = [ctx.get(dut.values[place]) for place in range(len(COUNTED))]
            assert dict(zip([*COUNTERS][2:], held, strict=True)) == {
                name: value for name, value in expected.pop(0).items() if name in [*COUNTERS][2:]
            }
            place = rng.randrange(COUNTER_PLACES)
            ctx.set(dut.number, place)
            counter = next((c for c in COUNTED if c.place == place), None)
            assert ctx.get(dut.value) == (held[COUNTED.index(counter)] if counter else 0)
            assert (ctx.get(dut.was_busy), ctx.get(dut.settling)) == (busy[-1], any(busy))
            before, busy = cycle, [busy[-1], cycle.busy]
            await ctx.tick()

    simulate(dut, bench)
    total = sum(model.counters[f"slots_{reason.name.lower()}"] for reason in StallReason)
    assert total == model.counters["cycles"] * config.issue_width


def test_they_wrap():
    dut = make(CoreConfig())

    async def bench(ctx):
        for counted in dut.counted.values():
            ctx.set(counted, (1 << COUNTER_WIDTH) - 1)
        ctx.set(dut.number, COUNTERS["fetches"].place)
        ctx.set(dut.events.fetch, 1)
        values = []
        for _ in range(DELAY + 2):
            values.append(ctx.get(dut.value))
            await ctx.tick()
        assert values == [(1 << COUNTER_WIDTH) - 1] * DELAY + [0, 1]

    simulate(dut, bench)
