"""Tests of the unit register bus for host and cores: each access once, in order, fairly."""

from collections import defaultdict

import pytest

from spica.hw.cluster.unit_register_bus import UnitRegisterBus
from spica.hw.config import UnitRegisterBusConfig
from spica.hw.isa.memory_map import MATRIX, MATRIX_BASE, WINDOW_BYTES
from spica.sim.engine.testbench import require_no_loop
from spica.synth.budgets import too_deep
from spica.synth.measure import measure
from support.cluster.unit_register_bus_bench import (
    Program,
    Speaker,
    UnitRegisterBusBench,
    answer_to,
)

CISC = MATRIX["cisc"].offset


CONFIGS = {
    "one": UnitRegisterBusConfig(cores=1, matrices=1),
    "no matrix unit": UnitRegisterBusConfig(cores=2, matrices=0),
    "two": UnitRegisterBusConfig(cores=2, matrices=2),
    "many": UnitRegisterBusConfig(cores=4, matrices=3),
}


def expected_word(word: int, units: int) -> tuple[str, int]:
    """Return the unit that takes a command word, and the word it gets."""
    number = word >> 5 & 3
    if number >= units:
        return "matrix", word
    return f"matrix{number or ''}", word & ~0x60


def source_of(data: int) -> int:
    """Return the sender of a write: 0 the host, 1 + c core c, 0x80 + c its command words."""
    return data >> 24


@pytest.mark.parametrize("name", CONFIGS)
def test_it_converts(name):
    require_no_loop(UnitRegisterBus, CONFIGS[name])


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(1)
def test_every_access_reaches_its_unit_once_and_in_order(name, stall):
    config = CONFIGS[name]
    bench = UnitRegisterBusBench(config, seed=len(name), stall=stall)
    rng, count = bench.rng, 120
    offsets = [0, 0x10, 0x18, CISC, 0xC0, 0xFC]
    sent: dict[str, dict[int, list]] = defaultdict(lambda: defaultdict(list))
    for unit, host in bench.hosts.items():
        for n in range(count):
            access = rng.choice(offsets), rng.randrange(2), n
            host.todo.append(access)
            sent[unit][0].append(access)
    names = list(bench.bases)
    for number, core in enumerate(bench.cores):
        for n in range(count):
            unit, offset, write = rng.choice([*names, None]), rng.choice(offsets), rng.randrange(2)
            base = 0x800 if unit is None else bench.bases[unit]
            access = base + offset, write, 1 + number << 24 | n
            core.todo.append(access)
            if unit is not None:
                sent[unit][1 + number].append((offset, *access[1:]))
    for number, speaker in enumerate(bench.speakers):
        for n in range(count):
            word = 0x80 + number << 24 | n << 8 | rng.randrange(0x80)
            speaker.todo.append(word)
            unit, data = expected_word(word, config.matrices)
            sent[unit][0x80 + number].append((CISC, 1, data))
    bench.expected = sum(len(of) for all_of in sent.values() for of in all_of.values())
    bench.run()
    for unit, device in bench.units.items():
        accesses = defaultdict(list)
        for _, *access in device.log:
            accesses[source_of(access[2])].append(tuple(access))
        assert accesses == sent[unit]
    for unit in bench.hosts:
        for access, answer in bench.hosts[unit].answers:
            assert answer == answer_to(*access)
    for core in bench.cores:
        assert len(core.answers) == count
        for (address, write, data), answer in core.answers:
            known = any(address >> 8 == base >> 8 for base in bench.bases.values())
            assert answer == (answer_to(address & 0xFF, write, data) if known else 1 << 32)


def test_an_access_waits_for_at_most_one_of_everybody_else():
    config = CONFIGS["many"]
    bench = UnitRegisterBusBench(config, seed=1)
    at = bench.bases["matrix"]
    for number, core in enumerate(bench.cores):
        core.todo.extend([(at + 0x10, 1, number)] * 100)
    bench.hosts["matrix"].todo.extend([(0x10, 1, 9)] * 100)
    bench.run(cycles=300)
    askers = 1 + config.cores
    for asker in [bench.hosts["matrix"], *bench.cores]:
        # Its turn follows the others', and then it passes through the register.
        assert max(asker.waits) <= askers
        assert len(asker.waits) >= 300 // (askers + 1) - 1
    # The unit is never idle.
    cycles = [cycle for cycle, *_ in bench.units["matrix"].log]
    assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))


def test_words_and_accesses_of_a_core_take_turns():
    bench = UnitRegisterBusBench(CONFIGS["one"], seed=2)
    bench.cores[0].todo.extend((MATRIX_BASE + 0x10, 1, n) for n in range(60))
    bench.speakers[0].todo.extend(0x8000_0000 | n << 8 for n in range(60))
    bench.run(cycles=150)
    kinds = [address == CISC for _, address, *_ in bench.units["matrix"].log[:100]]
    longest = max(map(len, "".join("01"[kind] for kind in kinds).split("1")))
    assert sum(kinds) >= 30 and len(kinds) - sum(kinds) >= 30 and longest <= 2


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.quick(2)
def test_words_and_accesses_of_a_warp_arrive_in_its_order(seed):
    bench = UnitRegisterBusBench(CONFIGS["two"], seed=seed, stall=0.6)
    program = Program(bench.cores[0], bench.speakers[0], bench.rng, 60)
    bench.cores[0], bench.speakers[0] = program, Speaker(bench.dut.command[1], [], bench.rng, 0)
    del bench.speakers[1]
    bench.expected = len(program.steps)
    bench.run()
    log = bench.units["matrix1"].log
    accesses = [(int(at == CISC), data >> 8 if at == CISC else data) for _, at, _, data in log]
    assert accesses == program.steps


def test_what_a_unit_holds_does_not_keep_others_from_other_units():
    bench = UnitRegisterBusBench(CONFIGS["two"], seed=3, holds={"matrix": 1.0})
    bench.cores[0].todo.extend([(MATRIX_BASE, 1, 0)] + [(bench.bases["dma"], 1, 1)] * 3)
    bench.cores[1].todo.extend([(bench.bases["dma1"], 1, 2)] * 20)
    bench.hosts["matrix"].todo.append((0, 0, 0))
    bench.hosts["dma"].todo.extend([(0, 0, 3)] * 20)
    bench.run(cycles=120)
    assert not bench.cores[0].answers and not bench.hosts["matrix"].answers
    assert len(bench.cores[1].answers) == len(bench.hosts["dma"].answers) == 20


def test_latency_is_as_stated():
    bench = UnitRegisterBusBench(CONFIGS["many"], seed=4)
    bench.cores[2].todo.append((bench.bases["matrix2"] + 4, 0, 0))
    bench.hosts["dma"].todo.append((4, 0, 0))
    bench.run()
    # Offered in one cycle, accepted in the next, answered one later; others may follow at once.
    assert bench.cores[2].waits == bench.hosts["dma"].waits == [1]


def test_addresses_without_a_unit_are_refused():
    bench = UnitRegisterBusBench(CONFIGS["two"], seed=6)
    bases = bench.bases.values()
    holes = [at for at in range(0, WINDOW_BYTES, 0x100) if at not in bases]
    bench.cores[1].todo.extend((at, n % 2, n) for n, at in enumerate(holes))
    bench.run()
    assert {answer for _, answer in bench.cores[1].answers} == {1 << 32}
    assert len(bench.cores[1].answers) == len(holes)
    assert bench.cores[1].waits == [0] * len(holes)


@pytest.mark.slow
@pytest.mark.parametrize("cores", [4, 32])
def test_depth_is_within_budget(cores):
    measured = measure(UnitRegisterBus(UnitRegisterBusConfig(cores=cores, matrices=4)), "devices")
    assert too_deep(measured) == {}
