"""Tests of operand collectors against a sequential model, with arbitrary timing around them."""

import random

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.operands.collector_pool import Collectors
from spica.hw.isa.operations import PORTS, Port
from spica.sim.engine.testbench import require_no_loop
from support.core.collector_pool_bench import CollectorsBench
from support.core.collector_pool_surroundings import Surroundings, issue_of
from support.core.trial_groups import SIZE, trial_groups

SMALL = {"warps": 3, "threads": 3, "banks": 4}
BEST = Surroundings()
RANDOM = Surroundings(grant=0.5, accept=0.5, latency=(1, 2, 4, 9), write=0.5, issue=0.8)
CROWDED = Surroundings(grant=0.9, accept=0.4, latency=(1, 3), write=0.9, conflicts=True)
LATE = Surroundings(grant=0.9, accept=0.9, latency=(1, 3), write=0.2)


def random_program(config: CoreConfig, count: int, seed: int = 1) -> list[dict]:
    """Return instructions with all kinds of dependences and masks."""
    rng = random.Random(seed)
    full = (1 << config.threads) - 1
    names = [1, 2, 31, 32, 63]
    program = []
    for number in range(count):
        port = rng.choice(config.ports)
        fields = {
            "port": port,
            "rd": rng.choice(names),  # must not be taken for a result if there is none
            "writes": int(rng.random() < 0.8),
            "sources": [rng.choice(names) for _ in range(3)],
            "reads": rng.getrandbits(PORTS[port].operands),
        }
        masks = [full, full, 1, 1 << config.threads - 1, rng.randint(1, full)]
        program.append(issue_of(number, rng.randrange(config.warps), rng.choice(masks), **fields))
    return program


def test_micro_operations_keep_their_number():
    """The collectors pass it on with the operands."""
    config, rng = CoreConfig(**SMALL), random.Random(3)
    with trial_groups():
        program = random_program(config, 60)
        for issue in program:
            issue["beat"] = rng.randrange(SIZE)
            issue["instruction"] |= {"grouped": rng.getrandbits(4), "last": SIZE - 1}
        CollectorsBench(config, RANDOM, program).run()


def independent(config: CoreConfig, count: int, operands: int = 3, warps: int = 0) -> list[dict]:
    """Return independent instructions of all warps in turn."""
    full = (1 << config.threads) - 1
    return [
        issue_of(
            number,
            number % (warps or config.warps),
            full,
            port=Port.FP32,
            rd=32 + number % 31,
            writes=1,
            sources=[1, 2, 3],
            reads=(1 << operands) - 1,
        )
        for number in range(count)
    ]


def chain(config: CoreConfig, count: int) -> list[dict]:
    """Return fused multiply-adds of one warp, each of which adds to the previous result."""
    fields = {"port": Port.FP32, "rd": 40, "writes": 1, "sources": [41, 42, 40], "reads": 7}
    return [issue_of(n, 0, (1 << config.threads) - 1, **fields) for n in range(count)]


@pytest.mark.parametrize("surroundings", [BEST, RANDOM, CROWDED, LATE])
@pytest.mark.parametrize("snoop", [True, False])
@pytest.mark.quick(1)
def test_operands(snoop, surroundings):
    config = CoreConfig(**SMALL, snoop=snoop, collectors=4)
    require_no_loop(Collectors, config)
    bench = CollectorsBench(config, surroundings, random_program(config, 100)).run()
    assert bool(bench.snooped) == snoop


@pytest.mark.parametrize(
    "fields",
    [
        {"collectors": 1, "issue_width": 2},
        {"collectors": 3, "issue_width": 2},
        {"collectors": 8, "issue_width": 2, "writeback_buses": 4},
        {"warps": 1, "threads": 1, "collectors": 2, "writeback_buses": 1},
        {"warps": 2, "threads": 5, "banks": 2, "bank_mapping": "thread"},
        {"bank_mapping": "thread", "snoop": False, "issue_width": 2, "collectors": 5},
        {"bank_mapping": "thread", "banks": 1, "collectors": 7},
        {"warps": 8, "threads": 8},
    ],
)
@pytest.mark.quick(1)
def test_shapes(fields):
    config = CoreConfig(**(SMALL | fields))
    require_no_loop(Collectors, config)
    CollectorsBench(config, RANDOM, random_program(config, 60, seed=2), seed=2).run()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_at_length(seed):
    rng = random.Random(seed)
    config = CoreConfig(
        warps=rng.choice([1, 2, 5, 8]),
        threads=rng.choice([1, 2, 4]),
        banks=rng.choice([1, 2, 8]),
        bank_mapping=rng.choice(["warp", "thread"]),
        collectors=rng.randint(1, 8),
        issue_width=rng.randint(1, 2),
        writeback_buses=rng.randint(1, 4),
        snoop=rng.random() < 0.7,
    )
    surroundings = Surroundings(
        grant=rng.choice([0.2, 0.6, 1]),
        accept=rng.choice([0.2, 0.6, 1]),
        write=rng.choice([0.2, 0.6, 1]),
        issue=rng.choice([0.5, 1]),
        latency=(1, 2, 3, 8),
        early=rng.choice([None, 2, 6]),
        conflicts=rng.random() < 0.5,
    )
    CollectorsBench(config, surroundings, random_program(config, 600, seed), seed).run()


@pytest.mark.parametrize(("operands", "cycles"), [(0, 2), (1, 2), (2, 3), (3, 4)])
@pytest.mark.quick(2)
def test_latency(operands, cycles):
    """At its port one cycle after the last operand was granted; then the collector is free."""
    config = CoreConfig(**SMALL, collectors=1)
    bench = CollectorsBench(config, BEST, independent(config, 10, operands, warps=1)).run()
    assert bench.accepted[0] - bench.issued[0] == cycles
    assert bench.issued == [cycles * number for number in range(10)]


def test_full_collectors_refuse():
    """Without a grant nothing leaves, and only as many enter as there are collectors."""
    config = CoreConfig(**SMALL, collectors=3)
    bench = CollectorsBench(config, Surroundings(grant=0.0), independent(config, 8))
    with pytest.raises(TimeoutError):
        bench.run(timeout=30)
    assert [cycle for cycle in bench.issued if cycle >= 0] == [0, 1, 2]
    assert bench.accepted == [-1] * 8


def test_the_oldest_of_all_warps_goes_first():
    """The port stalls, so that several instructions are ready; they leave as they came."""
    config = CoreConfig(**SMALL, collectors=4)
    bench = CollectorsBench(config, Surroundings(accept=0.3), independent(config, 40)).run()
    by_issue, by_dispatch = (
        sorted(range(40), key=cycles.__getitem__) for cycles in (bench.issued, bench.accepted)
    )
    assert by_issue == by_dispatch


@pytest.mark.full
def test_threads_in_parts():
    """32 threads in 16 banks: two cycles for each operand."""
    config = CoreConfig(warps=1, threads=32, banks=16, bank_mapping="thread", collectors=1)
    bench = CollectorsBench(config, BEST, independent(config, 3)).run()
    assert [a - i for a, i in zip(bench.accepted, bench.issued, strict=True)] == [7, 7, 7]


def consumer_after(config: CoreConfig, producer: int, consumer: int):
    """Return the cycles from the write of a result to its use, by masks; two are issued at once."""
    program = [
        issue_of(0, 0, producer, port=Port.FP32, rd=5, writes=1),
        issue_of(1, 0, consumer, port=Port.INT, rd=6, writes=1, sources=[5, 5, 0], reads=3),
    ]
    bench = CollectorsBench(config, Surroundings(latency=(6,)), program).run()
    assert bench.issued == [0, 1]
    return bench.accepted[1] - bench.written[0], bench.snooped


def test_results_are_taken_from_the_bus():
    config = CoreConfig(**SMALL)
    assert consumer_after(config, producer=7, consumer=7) == (1, 2)
    assert consumer_after(config, producer=7, consumer=2) == (1, 2)


def test_results_of_other_threads_are_read_from_the_banks():
    """They are read from the next cycle on, after the write, one after the other."""
    config = CoreConfig(**SMALL)
    assert consumer_after(config, producer=3, consumer=7) == (3, 0)


def test_an_overtaken_read_holds_back_what_would_overwrite_it():
    """Instruction 2 is complete, but instruction 1 must first read the register that it writes."""
    config = CoreConfig(**SMALL)
    program = [
        issue_of(0, 0, 7, port=Port.MEMORY, rd=5, writes=1),
        issue_of(1, 0, 7, port=Port.FP32, rd=7, writes=1, sources=[5, 6, 6], reads=7),
        issue_of(2, 0, 7, port=Port.INT, rd=6, writes=1),
        issue_of(3, 1, 7, port=Port.CONTROL, rd=6, writes=1),
    ]
    bench = CollectorsBench(config, Surroundings(latency=(20,)), program).run()
    assert bench.issued == [0, 2, 3, 1]
    assert bench.accepted[3] == bench.issued[3] + 2, "another warp need not wait"
    assert bench.accepted[1] == bench.accepted[2] == bench.written[0] + 1


@pytest.mark.parametrize("collectors", range(1, 9))
@pytest.mark.quick(1)
def test_throughput(collectors):
    """Each collector takes a three-operand instruction every four cycles, up to one per cycle."""
    config = CoreConfig(warps=8, threads=2, collectors=collectors)
    count = 40
    bench = CollectorsBench(config, BEST, independent(config, count)).run()
    cycles = bench.issued[-1] - bench.issued[0]
    assert (count - 1) / cycles >= min(1.0, collectors / 4)


def test_throughput_of_two_slots():
    """Two slots, two ports: eight collectors carry two three-operand instructions per cycle."""
    config = CoreConfig(warps=8, threads=2, collectors=8, issue_width=2)
    program = independent(config, 60)
    for number, issue in enumerate(program):
        issue["warp"] = number // 2 % 8
        issue["instruction"]["port"] = (Port.FP32, Port.INT)[number % 2]
        issue["instruction"]["reads"] = (7, 3)[number % 2]
    bench = CollectorsBench(config, Surroundings(), program).run()
    assert bench.issued == [number // 2 for number in range(60)]


@pytest.mark.parametrize(("snoop", "step"), [(True, 5), (False, 8)])
def test_chain(snoop, step):
    """Cycles from a fused multiply-add of four cycles to the next one that needs it."""
    config = CoreConfig(**SMALL, snoop=snoop)
    bench = CollectorsBench(config, Surroundings(latency=(4,)), chain(config, 12)).run()
    steps = [b - a for a, b in zip(bench.accepted, bench.accepted[1:], strict=False)]
    assert steps == [step] * 11


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"collectors": 0}, "collectors must be between 1 and 8, not 0"),
        ({"collectors": 9}, "collectors must be between 1 and 8, not 9"),
        ({"issue_width": 3}, "issue_width must be between 1 and 2, not 3"),
        ({"writeback_buses": 5}, "writeback_buses must be between 1 and 4, not 5"),
    ],
)
def test_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Collectors(CoreConfig(**fields))
