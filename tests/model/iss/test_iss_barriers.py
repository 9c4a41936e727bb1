"""Tests of barriers in the instruction-set model: in a core, in the cluster, between cores."""

import random
from itertools import product

import pytest

from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import give, lanes_of, machine

A0, A1, S0, S1 = map(INTEGER_NAMES.index, ("a0", "a1", "s0", "s1"))
OF_CORES = 1 << 31


def ready(arrivals, **config):
    """Return a model with warps before ``vx_bar``, given as ``{(core, warp): (id, n)}``."""
    iss = machine("vx_bar a0, a1\naddi s0, s0, 1\nvx_tmc x0", **config)
    for core in range(iss.config.cores):
        iss.set_warp(core, 0, mask=0)
    for (core, warp), (number, count) in arrivals.items():
        give(iss, {A0: number, A1: count, S0: 0}, core=core, warp=warp)
    return iss


def waiting(iss):
    """Return the waiting warps by core and warp."""
    places = product(range(iss.config.cores), range(iss.core.warps))
    return {place for place in places if iss.warp(*place).waits}


def arrive(iss, *places):
    for place in places:
        retired = iss.step(*place)
        assert retired is not None and retired.fault is None


@pytest.mark.parametrize("scope", ["cluster", "core"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_warps_wait_until_as_many_have_arrived(count, scope):
    order = random.Random(count).sample(range(4), count)
    iss = ready({(0, warp): (3, count) for warp in order}, barrier_scope=scope)
    for place, warp in enumerate(order):
        assert waiting(iss) == {(0, number) for number in order[:place]}
        arrive(iss, (0, warp))
        # A waiting warp cannot step.
        if place < count - 1:
            assert iss.step(0, warp) is None
    assert waiting(iss) == set()
    assert all(iss.warp(0, warp).pc == ENTRY + 4 for warp in order)
    assert iss.statistics.barriers == count
    assert iss.run().stop is StopReason.DONE


@pytest.mark.parametrize("scope", ["cluster", "core"])
def test_different_barriers_do_not_know_of_each_other(scope):
    iss = ready(
        {(0, 0): (0, 2), (0, 1): (15, 2), (0, 2): (0, 2), (0, 3): (15, 2)}, barrier_scope=scope
    )
    arrive(iss, (0, 0), (0, 1))
    assert waiting(iss) == {(0, 0), (0, 1)}
    arrive(iss, (0, 3))
    assert waiting(iss) == {(0, 0)}
    arrive(iss, (0, 2))
    assert waiting(iss) == set()


def test_what_a_warp_waits_for_is_reported():
    iss = ready({(0, 0): (5, 3), (1, 0): (5, 1)}, cores=2)
    arrive(iss, (0, 0))
    assert iss.warp(0, 0).waits == "barrier 5: 1 of 3 warps of core 0 have arrived"
    arrive(iss, (1, 0))
    assert iss.warp(1, 0).waits == "barrier 5: core 1 has arrived, core 0 not yet"
    assert iss.run().stop is StopReason.DEADLOCK
    iss = ready({(1, 0): (OF_CORES, 3), (2, 0): (OF_CORES, 3)}, cores=3, barrier_scope="core")
    arrive(iss, (1, 0), (2, 0))
    assert iss.warp(1, 0).waits == "barrier 0: 2 of 3 cores have arrived"
    assert iss.run().stop is StopReason.DEADLOCK


def test_cluster_opens_when_every_core_has_arrived_with_its_own_count():
    iss = ready(
        {(0, 0): (1, 2), (0, 3): (1, 2), (1, 2): (1, 1), **{(2, w): (1, 4) for w in range(4)}},
        cores=3,
    )
    arrive(iss, (0, 0), (0, 3))
    assert waiting(iss) == {(0, 0), (0, 3)}
    arrive(iss, (2, 0), (2, 1), (2, 2), (2, 3))
    assert len(waiting(iss)) == 6
    arrive(iss, (1, 2))
    assert waiting(iss) == set()
    assert iss.run().stop is StopReason.DONE


def test_core_opens_for_itself():
    iss = ready({(c, w): (1, 2) for c in range(2) for w in range(2)}, cores=2, barrier_scope="core")
    arrive(iss, (0, 0), (1, 1))
    assert waiting(iss) == {(0, 0), (1, 1)}
    arrive(iss, (0, 1))
    assert waiting(iss) == {(1, 1)}
    arrive(iss, (1, 0))
    assert waiting(iss) == set()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_bit_31_makes_it_a_barrier_of_cores(count):
    """One warp of each of `count` cores; a warp barrier with the same number is independent."""
    arrivals = {(core, core): (OF_CORES | 2, count) for core in range(count)}
    iss = ready({**arrivals, (0, 3): (2, 2)}, cores=3, barrier_scope="core")
    arrive(iss, (0, 3))
    for core in range(count):
        assert waiting(iss) == {(0, 3), *((number, number) for number in range(core))}
        arrive(iss, (core, core))
    assert waiting(iss) == {(0, 3)}


def test_operands_are_those_of_the_last_active_lane():
    iss = ready({(0, 0): (3, 2)})
    give(iss, {A0: [7, 7, 3, 7], A1: [9, 9, 2, 9]}, warp=1, mask=0b0110)
    arrive(iss, (0, 0), (0, 1))
    assert waiting(iss) == set()
    assert iss.warp(0, 1).mask == 0b0110


@pytest.mark.parametrize(("scope", "cores"), [("cluster", 1), ("cluster", 3), ("core", 3)])
@pytest.mark.parametrize("schedule", ["round_robin", "random"])
def test_a_barrier_is_used_again_and_again(scope, cores, schedule):
    """Each warp counts its rounds, and checks after each barrier that all others are equal."""
    program = f"""
        csrr t0, num_warps
        la t1, start
        vx_wspawn t0, t1
    start:
        li a5, {SHARED_BASE}
        li s2, 0
        csrr t2, {"mhartid" if scope == "cluster" else "warp_id"}
        {"srli t2, t2, 2" if scope == "cluster" else "nop"}
        slli t2, t2, 2
        {"csrr t3, core_id" if scope == "core" else "li t3, 0"}
        slli t3, t3, 8
        add a5, a5, t3
        add a6, a5, t2
        csrr a1, num_warps
        {"csrr t5, num_cores" if scope == "cluster" else "li t5, 1"}
        mul a7, a1, t5
    round:
        addi s2, s2, 1
        sw s2, 0(a6)
        li a0, 9
        vx_bar a0, a1
        mv t4, a7
        mv t6, a5
    look:
        lw t2, 0(t6)
        bge t2, s2, fine
        addi s1, s1, 1          # somebody is behind
    fine:
        addi t6, t6, 4
        addi t4, t4, -1
        bnez t4, look
        li a0, 10               # nobody begins the next round before all have looked
        vx_bar a0, a1
        li t2, 20
        bne s2, t2, round
        vx_tmc x0
    """
    for seed in range(1, 4):
        iss = machine(program, cores=cores, barrier_scope=scope, schedule=schedule, seed=seed)
        assert iss.run(1_000_000).stop is StopReason.DONE
        places = list(product(range(cores), range(4)))
        assert [lanes_of(iss, S1, core=c, warp=w)[0] for c, w in places] == [0] * len(places)
        assert iss.statistics.barriers == 40 * len(places)
