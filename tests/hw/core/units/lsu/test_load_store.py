"""Tests of the load/store unit against accesses carried out one after the other."""

import random
from collections import Counter, defaultdict

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.units.lsu.load_store import LoadStoreUnit
from spica.hw.core.units.lsu.memory_layouts import beats, slots
from spica.hw.isa.operations import MemoryOperation
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.sim.golden.core.units.load_store import (
    Fault,
    SequentialMemory,
    fault_of,
    requests_of,
)
from spica.synth.measure import measure
from support.core.load_store_bench import (
    BASE,
    completions,
    make_access,
    make_memory,
    random_access,
    run,
)


def check(config, accesses, memory, *, rng, stall=0.0, willing_from=0):
    """Run `accesses`, and compare all results with sequential execution."""
    golden = SequentialMemory(base=memory.base, contents=bytearray(memory.contents))
    loaded, refused = {}, {}
    for number, access in enumerate(accesses):
        if fault_of(access) is None:
            loaded[number], refused[number] = golden.carry_out(access)
    good = [number for number, mask in refused.items() if not mask]
    counts = (
        len(good),
        sum(fault_of(access) is not None for access in accesses),
        sum(mask.bit_count() for mask in refused.values()),
    )
    outcome = run(
        config, accesses, memory, rng=rng, stall=stall, willing_from=willing_from,
        until=lambda seen: counts == (
            len(seen.results),
            sum(fault.kind != MemoryFault.REFUSED for fault in seen.faults),
            seen.refused(),
        ),
    )  # fmt: skip
    results = outcome.results

    assert outcome.busy[-1] == 0
    may_be = [access for access in accesses if fault_of(access) is None]
    assert memory.requests == [r for access in may_be for r in requests_of(config, access)]
    assert memory.contents == golden.contents
    order = [n for n in completions(config, accesses, memory) if not refused[n]]
    assert len(order) == len(results) == len(good)
    for number, result in zip(order, results, strict=True):
        access = accesses[number]
        expected = (access.warp, access.mask, access.pc, access.rd, access.writes, 0)
        got = (result.warp, result.mask, result.pc, result.rd, result.writes, result.flags)
        assert got == expected
        if access.writes:
            assert {thread: result.values[thread] for thread in access.active} == loaded[number]
    check_faults(accesses, outcome.faults, refused)
    check_announcements(accesses, completions(config, accesses, memory), order, outcome)
    return outcome


def check_announcements(accesses, completed, order, outcome):
    """Check that only results not yet taken are announced, at once if they leave at once."""
    allowed, stated = defaultdict(set), {}
    for number, access in enumerate(accesses[n] for n in order):
        if not access.writes:
            continue
        name, answered = (access.warp, access.rd), completed[order[number]]
        for cycle in range(answered + 1, outcome.results_at[number] + 1):
            allowed[cycle].add(name)
        if outcome.offered[number] == answered + 2:
            stated[answered + 1] = name
    assert all(name in allowed[cycle] for cycle, name in outcome.announced.items())
    assert stated.items() <= outcome.announced.items()


def check_faults(accesses, faults, refused):
    """Compare faults: those of refused threads may come in parts, the others come once."""
    reported = [
        Fault(warp=f.warp, pc=f.pc, mask=f.mask, kind=MemoryFault(f.kind), address=f.address)
        for f in faults
    ]
    expected = [fault for access in accesses if (fault := fault_of(access)) is not None]
    assert [fault for fault in reported if fault.kind != MemoryFault.REFUSED] == expected
    parts = defaultdict(list)
    for fault in reported:
        if fault.kind == MemoryFault.REFUSED:
            parts[fault.warp, fault.pc].append(fault)
    by_name = {(accesses[n].warp, accesses[n].pc): n for n, mask in refused.items() if mask}
    assert parts.keys() == by_name.keys()
    for name, number in by_name.items():
        assert sum(fault.mask for fault in parts[name]) == refused[number]
        for fault in parts[name]:
            lowest = (fault.mask & -fault.mask).bit_length() - 1
            assert fault.address == accesses[number].address(lowest)


CONFIGS = {
    "1x1": CoreConfig(warps=1, threads=1, accesses=1),
    "2x2": CoreConfig(warps=2, threads=2, accesses=4),
    "3x5": CoreConfig(warps=3, threads=5, accesses=8),
    "4x4 by 2": CoreConfig(warps=4, threads=4, memory_lanes=2, accesses=8),
    "4x6 by 2": CoreConfig(warps=4, threads=6, memory_lanes=2, accesses=16),
    "2x4 by 1": CoreConfig(warps=2, threads=4, memory_lanes=1, accesses=32),
    "8x8": CoreConfig(),
    "32x4": CoreConfig(warps=32, threads=4, accesses=32),
}
ATOMIC_CONFIGS = {
    name: CoreConfig(atomics=True, **fields)
    for name, fields in {
        "1x1": {"warps": 1, "threads": 1, "accesses": 1},
        "3x5": {"warps": 3, "threads": 5, "accesses": 8},
        "4x6 by 2": {"warps": 4, "threads": 6, "memory_lanes": 2, "accesses": 16},
        "8x8": {},
    }.items()
}
MANNERS = {
    "at once": {},
    "slow": {"latency": 7},
    "wild": {
        "latency": 2,
        "jitter": 20,
        "stall": 0.2,
        "silence": 0.2,
        "split": 0.5,
        "shuffle": True,
    },
}


SLOW_CONFIGS = CONFIGS | {
    "32x32 by 8": CoreConfig(warps=32, threads=32, memory_lanes=8, accesses=32),
    "8x32": CoreConfig(threads=32),
}


def check_random(config, count, manners, *, seed, room=256, **chances):
    rng = random.Random(f"{config} {manners} {seed}")
    accesses = [random_access(rng, config, room, **chances) for _ in range(count)]
    memory = make_memory(config, rng, room, **MANNERS[manners])
    return check(config, accesses, memory, rng=rng, stall=0.3 if manners == "wild" else 0.0)


@pytest.mark.parametrize("manners", MANNERS)
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(1)
def test_random_accesses(name, manners):
    """More than 20,000 thread accesses in total."""
    config = CONFIGS[name]
    count = (150 if beats(config) > 1 else 250) if config.threads < 8 else 600
    check_random(config, count, manners, seed=1)


@pytest.mark.parametrize("name", ["2x2", "4x4 by 2", "8x8"])
@pytest.mark.quick(1)
def test_accesses_of_a_few_bytes_take_effect_in_program_order(name):
    check_random(CONFIGS[name], 150, "wild", seed=2, room=8)


@pytest.mark.parametrize(
    ("name", "manners"),
    [("1x1", "wild"), ("3x5", "at once"), ("4x6 by 2", "wild"), ("8x8", "slow")],
)
@pytest.mark.quick(1)
def test_random_accesses_that_cannot_be(name, manners):
    chance = 0.3 / CONFIGS[name].threads
    outcome = check_random(CONFIGS[name], 150, manners, seed=3, wrong=chance, refused=chance)
    of_tensor_units = {MemoryFault.NOT_SHARED}
    assert {fault.kind for fault in outcome.faults} == set(MemoryFault) - of_tensor_units


@pytest.mark.parametrize("room", [16, 256])
@pytest.mark.parametrize("manners", MANNERS)
@pytest.mark.parametrize("name", ATOMIC_CONFIGS)
@pytest.mark.quick(1)
def test_random_atomics(name, manners, room):
    """Among loads and stores, many of them to the same words, by lanes of one instruction too."""
    count = 100 if name == "8x8" else 200
    check_random(ATOMIC_CONFIGS[name], count, manners, seed=6, room=room)


@pytest.mark.parametrize("name", ["1x1", "4x6 by 2"])
@pytest.mark.quick(1)
def test_random_atomics_that_cannot_be(name):
    chance = 0.3 / ATOMIC_CONFIGS[name].threads
    outcome = check_random(ATOMIC_CONFIGS[name], 150, "wild", seed=7, wrong=chance, refused=chance)
    assert {fault.kind for fault in outcome.faults} == set(MemoryFault) - {MemoryFault.NOT_SHARED}


@pytest.mark.slow
@pytest.mark.parametrize("manners", MANNERS)
@pytest.mark.parametrize("name", SLOW_CONFIGS)
def test_many_random_accesses(name, manners):
    check_random(SLOW_CONFIGS[name], 1000, manners, seed=4)
    check_random(SLOW_CONFIGS[name], 200, manners, seed=5, wrong=0.02, refused=0.02)


def test_the_golden_model_extends_and_cuts():
    memory = SequentialMemory(base=BASE, contents=bytearray([0x80, 0x7F, 0xFF, 0x90]))

    def load(operation, place):
        access = make_access(CONFIGS["1x1"], operation, [BASE + place])
        return memory.carry_out(access)[0][0]

    assert load(MemoryOperation.LB, 0) == 0xFFFF_FF80
    assert load(MemoryOperation.LBU, 0) == 0x80
    assert load(MemoryOperation.LB, 1) == 0x7F
    assert load(MemoryOperation.LH, 2) == 0xFFFF_90FF
    assert load(MemoryOperation.LHU, 2) == 0x90FF
    assert load(MemoryOperation.LH, 0) == 0x7F80
    assert load(MemoryOperation.LW, 0) == 0x90FF_7F80
    store = make_access(CONFIGS["2x2"], MemoryOperation.SH, [BASE] * 2, values=(1, 0x12345678))
    memory.carry_out(store)
    assert memory.contents == bytes([0x78, 0x56, 0xFF, 0x90])


@pytest.mark.parametrize("latency", [1, 9])
@pytest.mark.quick(1)
def test_latency(latency):
    config = CONFIGS["8x8"]
    memory = make_memory(config, random.Random(10), latency=latency)
    addresses = [BASE + 4 * k for k in range(8)]
    operations = (MemoryOperation.LW, MemoryOperation.SB)
    accesses = [make_access(config, operation, addresses) for operation in operations]
    outcome = check(config, accesses, memory, rng=random.Random(10))
    answered = [cycle for _, mask, cycle in memory.answers if mask == 0xFF]
    assert answered == [accepted + 1 + latency for accepted in outcome.accepted_at]
    assert outcome.results_at == [cycle + 2 for cycle in answered]
    load, _ = accesses
    destination = (load.warp, load.rd)
    assert outcome.announced == {answered[0] + k: destination for k in (1, 2)}


@pytest.mark.parametrize("name", ["4x4 by 2", "32x4"])
def test_latency_of_parts(name):
    config = CONFIGS[name]
    memory = make_memory(config, random.Random(11), latency=3, split=0.9)
    access = make_access(config, MemoryOperation.LW, [BASE + 4 * k for k in range(4)])
    outcome = check(config, [access], memory, rng=random.Random(11))
    assert len(memory.answers) > 1
    assert outcome.results_at == [memory.answers[-1][2] + (3 if slots(config) <= 16 else 4)]


@pytest.mark.parametrize("name", ["2x2", "4x4 by 2", "4x6 by 2", "8x8"])
@pytest.mark.quick(2)
def test_throughput(name):
    """With the longest latency that the slots cover."""
    config = CONFIGS[name]
    is_assembled = beats(config) > 1
    latency = (slots(config) - 1) * beats(config) - (3 if is_assembled else 2)
    memory = make_memory(config, random.Random(12), latency=latency)
    operations = [MemoryOperation.LW, MemoryOperation.SW] * 30
    accesses = [
        make_access(config, operation, [BASE + 4 * k for k in range(config.threads)])
        for operation in operations
    ]
    outcome = check(config, accesses, memory, rng=random.Random(12))
    gaps = {b - a for a, b in zip(outcome.results_at, outcome.results_at[1:], strict=False)}
    assert gaps == {beats(config)}


def test_upper_beats_without_an_active_thread_cost_nothing():
    config = CONFIGS["2x4 by 1"]
    accesses = [
        make_access(config, MemoryOperation.LW, [BASE] * 4, mask=mask)
        for mask in (0b0001, 0b0010, 0b0101, 0b1000, 0b0001)
    ]
    memory = make_memory(config, random.Random(13))
    outcome = check(config, accesses, memory, rng=random.Random(13))
    start = outcome.accepted_at[0]
    assert [cycle - start for cycle in outcome.accepted_at] == [0, 1, 3, 6, 10]
    assert len(memory.requests) == 6


@pytest.mark.parametrize("name", ["1x1", "4x4 by 2"])
def test_a_full_table_stalls(name):
    config = CONFIGS[name]
    memory = make_memory(config, random.Random(14), latency=100)
    access = make_access(config, MemoryOperation.LW, [BASE] * config.threads)
    outcome = check(config, [access] * (slots(config) + 3), memory, rng=random.Random(14))
    assert sum(cycle <= 100 for cycle in outcome.accepted_at) == slots(config)


@pytest.mark.parametrize("name", ["1x1", "8x8"])
def test_results_that_nobody_takes_wait_and_then_leave_one_per_cycle(name):
    config = CONFIGS[name]
    rng = random.Random(15)
    accesses = [random_access(rng, config, 256) for _ in range(slots(config) + 1)]
    memory = make_memory(config, rng, latency=2, jitter=5, shuffle=True)
    outcome = check(config, accesses, memory, rng=rng, willing_from=60)
    first = outcome.results_at[: slots(config)]
    assert first == list(range(60, 60 + slots(config)))


@pytest.mark.parametrize("name", ["4x4 by 2", "32x4"])
@pytest.mark.quick(1)
def test_which_warps_are_busy(name):
    config = CONFIGS[name]
    rng = random.Random(16)
    accesses = [random_access(rng, config, 256, wrong=0.02) for _ in range(80)]
    memory = make_memory(config, rng, **MANNERS["wild"])
    outcome = check(config, accesses, memory, rng=rng, stall=0.3)
    faulty = [n for n, access in enumerate(accesses) if fault_of(access) is not None]
    ends = {n: cycle - 1 for n, cycle in zip(faulty, outcome.faults_at, strict=True)}
    for number, answered in completions(config, accesses, memory).items():
        ends[number] = answered + 1
    under_way = [Counter() for _ in outcome.busy]
    for number, start in enumerate(outcome.accepted_at):
        for cycle in range(start + 1, ends[number] + 1):
            under_way[cycle][accesses[number].warp] += 1
    assert outcome.busy == [sum(1 << warp for warp in counts) for counts in under_way]


@pytest.mark.filterwarnings("ignore:.*created but never used")
def test_a_memory_answers_after_the_request():
    with pytest.raises(ValueError, match="latency must be at least 1, not 0"):
        make_memory(CoreConfig(), random.Random(0), latency=0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cells"), [("8x8", 320), ("32x32 by 8", 600)])
def test_cells_and_depth(name, cells):
    measured = measure(LoadStoreUnit(SLOW_CONFIGS[name]), "load_store")
    assert measured.cells <= cells
    assert measured.depth <= 60
