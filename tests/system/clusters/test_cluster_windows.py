"""Tests of windows: programs reach the shared memory of all clusters of their machine."""

from dataclasses import replace

import pytest

from spica.hw.config import CacheConfig
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE, cluster_window
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.hw.presets import PRESETS
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause
from spica.sim.machine.program_machine import ProgramMachine
from support.cluster.window_cases import BEYOND, IN_ORDER, TIMED, TWO_WAYS
from support.cluster.window_programs import (
    DIVERGENT,
    FLAGS,
    RING,
    ROOM,
    WindowProgram,
    window_config,
)
from support.cluster.window_stress import random_accesses
from support.programs.source_run import PROGRAMS as PROGRAM_FOLDER
from support.programs.source_run import loaded

DRAM = DramConfig(latency=20)
LIMIT = 200_000


def require_ring(results: list) -> None:
    """Check what each cluster has received from the one before it, and sent."""
    clusters = len(results)
    for cluster, words in enumerate(results):
        received = [(cluster - 1) % clusters, cluster]
        word, sent = (0x7F0 + number for number in received)
        half, half_sent = (0x8123 + number for number in received)
        byte, byte_sent = ((number - 9) & 0xFF for number in received)
        packed = half << 16 | byte << 8
        assert words[:7] == [
            word, packed, packed, 0xFFFF_0000 | half, byte_sent, half_sent, sent,
        ]  # fmt: skip


def require_divergent(results: list) -> None:
    """Check what each of 8 threads has stored in its places and loaded from them."""
    for cluster, words in enumerate(results):
        for thread in range(8):
            stored = 0x100 + thread | cluster << 12
            in_dram = stored + 1 if thread & 1 else words[0x20 + thread]
            expected = [0, stored + 1, in_dram, stored >> 8 & 0xFF]
            assert [words[16 * n + thread] for n in range(4)] == expected


#: Programs by name, with the check of their results.
PROGRAMS = {"ring": (RING, require_ring), "divergent": (DIVERGENT, require_divergent)}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("checks", [False, True])
def test_the_model_reaches_the_memory_of_all_clusters(checks, schedule, name):
    text, require = PROGRAMS[name]
    for clusters in (2, 3):
        config = window_config(clusters)
        iss = Iss(config, schedule=schedule, seed=5, checks_races=checks, checks_memory=checks)
        program = WindowProgram(text)
        program.load(iss)
        iss.add_flags(FLAGS, 64)
        for cluster in range(clusters):  # the flag that the cluster before it sets
            window = cluster_window(cluster) if cluster else SHARED_BASE
            iss.add_flags(window + 80, 4)
        outcome = iss.run()
        assert outcome.stop is StopReason.DONE, outcome.fault
        require(program.results(iss, clusters))
        if iss.memory_check is not None:
            assert not list(iss.memory_check.findings())


def test_programs_in_c_have_the_windows():
    _, iss = loaded(PROGRAM_FOLDER / "windows.c", window_config(3))
    outcome = iss.run()
    assert outcome.stop is StopReason.DONE, outcome.fault
    assert iss.exit_codes == [102, 100, 101]


#: Machines of the tests in lockstep: with a row port and several narrow ports of shared memory or
#: one, several cores and their barriers, and units.
MACHINES = {
    "two": window_config(2),
    "three": window_config(3, cores=2, shared_ports=2, accesses=2),
    "units": replace(
        PRESETS["tiny"], clusters=2, shared=replace(PRESETS["tiny"].shared, read_latency=4)
    ),
}


def results_in_lockstep(config, text, *, memory=DRAM, **options):
    """Run a program in lockstep to its end; return the words that each cluster has left."""
    program = WindowProgram(text)
    with ProgramMachine(config, memory=memory, lockstep=True, **options) as machine:
        program.load(machine)
        outcome = machine.run(LIMIT)
        assert outcome.stop is StopReason.DONE, outcome.mismatch
        return program.results(machine, config.clusters)


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("machine", MACHINES)
def test_programs_reach_the_memory_of_all_clusters_in_lockstep(machine, name):
    text, require = PROGRAMS[name]
    if machine == "units":  # 4 warps: only the threads of the first two have a place
        text = text.replace("csrr t0, num_warps", "li t0, 2")
    require(results_in_lockstep(MACHINES[machine], text))


@pytest.mark.full
def test_programs_reach_the_memory_of_all_clusters_on_the_simulator_of_amaranth():
    small = CacheConfig(size=256, ways=2, mshrs=2, prefetch=0)
    require_ring(results_in_lockstep(window_config(2, l1d=small), RING, engine="amaranth"))


@pytest.mark.full
def test_a_fence_orders_accesses_at_both_addresses_of_a_word():
    """Loads before it miss the store on the RTL, which lockstep accepts; those after it do not."""
    results = results_in_lockstep(MACHINES["two"], TWO_WAYS)
    assert [words[:2] for words in results] == [[16, 0]] * 2


@pytest.mark.full
def test_stores_of_a_core_through_windows_are_seen_in_order():
    rounds, wrong = results_in_lockstep(MACHINES["three"], IN_ORDER)[2][:2]
    assert rounds > 4
    assert wrong == 0


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_random_accesses_of_all_threads_in_lockstep(seed):
    memory = DramConfig(latency=20, stall=0.1 * seed)
    results_in_lockstep(MACHINES["three"], random_accesses(seed, 250), memory=memory)


@pytest.mark.full
def test_cycles_are_those_of_the_manual():
    config = MACHINES["two"]
    words = results_in_lockstep(config, TIMED)[0][:10]
    first, more = words[::2], words[1::2]
    cycles = [(end - start) / 16 for start, end in zip(first, more, strict=True)]
    turn = config.shared.read_latency + 4
    assert cycles[:2] == [10, 15]
    assert cycles[2] < 2
    assert cycles[3:] == [4, 4 * turn]


SIZE = MACHINES["two"].shared.size


@pytest.mark.full
@pytest.mark.parametrize(
    "wrong", [cluster_window(0) + SIZE, cluster_window(1) + SIZE, cluster_window(2)]
)
@pytest.mark.parametrize("access", ["lw a0, 0(t4)", "sb a0, 0(t4)"])
def test_an_access_beyond_a_window_is_a_fault(access, wrong):
    text = BEYOND.replace("{wrong}", hex(wrong)).replace("{access}", access)
    program = WindowProgram(text)
    iss = Iss(MACHINES["two"])
    program.load(iss)
    expected = iss.run().fault
    assert expected is not None
    assert (expected.cause, expected.core) == (Cause.OUTSIDE_MEMORY, 1)
    with ProgramMachine(MACHINES["two"], memory=DRAM, lockstep=True) as machine:
        program.load(machine)
        outcome = machine.run(LIMIT)
        assert outcome.stop is StopReason.FAULT, outcome.mismatch
        fault = outcome.fault
        assert fault is not None
        assert (fault.cause, fault.core, fault.warp) == (MemoryFault.REFUSED, 1, 0)
        for reported in (fault, expected):
            assert (reported.pc, reported.lanes) == (program.labels["bad"], 4)
            assert reported.address == wrong


@pytest.mark.full
def test_a_run_is_saved_among_accesses_through_windows_and_continues():
    config, program = MACHINES["two"], WindowProgram(DIVERGENT)

    def machine_of() -> ProgramMachine:
        return ProgramMachine(config, memory=DRAM, lockstep=True)

    with machine_of() as machine:
        program.load(machine)
        whole = machine.run(LIMIT)
        assert whole.stop is StopReason.DONE, whole.mismatch
    with machine_of() as first, machine_of() as second:
        program.load(first)
        first.run(whole.cycles // 2)
        for _ in range(9):
            assert first.run(whole.cycles // 20).stop is StopReason.LIMIT
            second.allow(ENTRY, 3 * ROOM)
            second.restore(first.save())
            rest = second.run(LIMIT)
            assert rest.stop is StopReason.DONE, rest.mismatch
            assert rest.cycles == whole.cycles
            require_divergent(program.results(second, 2))
