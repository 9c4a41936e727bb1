"""Tests of transaction barriers in the instruction-set model: order, sleep and wake-up, faults."""

import random
import re

import numpy as np
import pytest

from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import DRAM_BASE, ENTRY, SHARED_BASE
from spica.hw.isa.operations import Unit
from spica.hw.isa.program import assemble_program
from spica.hw.isa.transaction_barrier import BarrierFault, BarrierOperation
from spica.sim.golden.memory.barrier.transaction_barrier import (
    barrier_step,
    packed_barrier,
    unpacked_barrier,
)
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import END, OLD, START, give, lanes_of, machine, small_config

A0, A1, A2 = map(INTEGER_NAMES.index, ("a0", "a1", "a2"))
THREADS = 8
#: Operations by mnemonic.
NAMES = {
    name: BarrierOperation(one.match >> 25)
    for name, one in INSTRUCTIONS.items()
    if one.unit is Unit.BARRIER
}
#: Operands of the instructions: address in a0, rs2 in a1, rd in a2.
REGISTERS = {"rd": "a2", "rs2": "a1", "rs1": "a0"}
MOST = 2**20 - 1
WAIT = "mbarrier.wait.parity a0, a1"


def line_of(name):
    """Return the assembly of an operation."""
    syntax = INSTRUCTIONS[name].syntax
    return f"{name} {re.sub(r'[a-z]+[0-9]?', lambda one: REGISTERS[one[0]], syntax)}"


def model(text, **config):
    config = {"threads": THREADS, "warps": 4} | config
    return machine(text, transaction_barriers=True, **config)


def barrier_at(iss, address):
    return unpacked_barrier(int(iss.read(address, 8).view(np.uint64)[0]))


def set_barrier(iss, address, state):
    iss.write(address, np.array([packed_barrier(state)], "<u8").view(np.uint8))


def new_barrier(iss, address, arrivals):
    set_barrier(iss, address, barrier_step(None, BarrierOperation.INIT, arrivals).state)


def test_every_operation_has_an_instruction():
    assert sorted(NAMES.values()) == sorted(BarrierOperation)


def expected_lanes(states, name, mask, places, operands):
    """Return states and results after the lanes of a warp, or the lane and kind of their fault."""
    after, results = dict(states), {}
    for lane in range(THREADS):
        if not mask >> lane & 1:
            continue
        outcome = barrier_step(after[places[lane]], NAMES[name], operands[lane])
        if outcome.fault is not BarrierFault.NONE:
            return states, {}, (lane, outcome.fault)
        after[places[lane]], results[lane] = outcome.state, outcome.result
    return after, results, None


SAYS = {
    BarrierFault.NO_BARRIER: "are no transaction barrier",
    BarrierFault.COUNT: "can have 1 to 1048575 arrivals",
    BarrierFault.ARRIVALS: "are pending",
    BarrierFault.DROPS: "would expect no arrival",
    BarrierFault.BYTES: "would differ by more than 1048575",
    BarrierFault.PARITY: "parity of a phase must be 0 or 1",
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.quick(2)
def test_lanes_execute_in_their_order_and_all_or_none(seed):
    """Random operations of random lanes on three barriers in one line, against the golden model."""
    rng = random.Random(seed)
    others = [name for name in NAMES if name != "mbarrier.wait.parity"]
    names = [rng.choice([*others, *["mbarrier.arrive"] * 6]) for _ in range(600)]
    iss = model("\n".join(map(line_of, names)))
    states = dict.fromkeys(range(SHARED_BASE + 32, SHARED_BASE + 56, 8))
    faults, legal = dict.fromkeys(BarrierFault, 0), 0
    for number, name in enumerate(names):
        if rng.random() < 0.3:
            address = rng.choice(list(states))
            states[address] = barrier_step(None, BarrierOperation.INIT, rng.randrange(2, 40)).state
            set_barrier(iss, address, states[address])
        mask = rng.choice([0xFF, rng.randrange(1, 256), 1 << rng.randrange(8)])
        places = [rng.choice(list(states)) for _ in range(THREADS)]
        few = [rng.choice([0, 1, 1, 1, 1, 2, 3, MOST, MOST + 1]) for _ in range(THREADS)]
        operands = rng.choice([few, [1] * THREADS, [rng.randrange(2)] * THREADS, [4] * THREADS])
        give(iss, {A0: places, A1: operands}, mask=mask, pc=ENTRY + 4 * number)
        states, results, fault = expected_lanes(states, name, mask, places, operands)
        retired = iss.step(0, 0)
        if fault is None:
            assert retired.fault is None, retired.fault.sentence
            legal += 1
        else:
            lane, why = fault
            faults[why] += 1
            assert (retired.fault.cause, retired.fault.lanes) == (Cause.BAD_BARRIER, 1 << lane)
            assert SAYS[why] in retired.fault.sentence
            assert retired.fault.address == places[lane]
        for address, state in states.items():
            assert barrier_at(iss, address) == state, (name, operands)
        if fault is None and "rd" in INSTRUCTIONS[name].operands:
            rds = [results.get(lane, OLD + A2) for lane in range(THREADS)]
            assert lanes_of(iss, A2) == rds
        else:
            assert lanes_of(iss, A2) == [OLD + A2] * THREADS
    assert legal > 100
    assert all(faults[fault] > 0 for fault in SAYS)


# Sleep and wake-up

FIRST, SECOND = SHARED_BASE + 64, SHARED_BASE + 72
PROGRAM = f"{WAIT}\nvx_tmc x0\nmbarrier.arrive a2, a0, a1\nvx_tmc x0"
ARRIVAL = ENTRY + 8


def sleeping(awaited, arrivals, *, mask=0xFF, cores=1):
    """Return a model whose warp 1 has begun to wait for `awaited` phases, by lane."""
    iss = model(PROGRAM, cores=cores)
    for core in range(cores):
        iss.set_warp(core, 0, mask=0)
    for address, count in arrivals.items():
        new_barrier(iss, address, count)
    addresses, parities = zip(*awaited, strict=True)
    give(iss, {A0: addresses, A1: parities}, warp=1, mask=mask)
    retired = iss.step(0, 1)
    assert retired.fault is None, retired.fault.sentence
    return iss


def arrive(iss, addresses, counts, *, mask=0xFF, core=0, warp=2):
    give(iss, {A0: addresses, A1: counts}, core=core, warp=warp, mask=mask, pc=ARRIVAL)
    retired = iss.step(core, warp)
    assert retired.fault is None, retired.fault.sentence
    iss.set_warp(core, warp, mask=0)


def sleeps(iss):
    return iss.warp(0, 1).awaits_phase


def test_a_wait_for_a_completed_phase_does_not_sleep():
    iss = sleeping([(FIRST, 1)] * THREADS, {FIRST: 3})
    assert not sleeps(iss)
    assert iss.run().stop is StopReason.DONE


@pytest.mark.parametrize("core", [0, 1])
def test_a_warp_sleeps_until_the_phase_completes(core):
    iss = sleeping([(FIRST, 0)] * THREADS, {FIRST: 3, SECOND: 1}, cores=2)
    assert sleeps(iss) and iss.run().stop is StopReason.DEADLOCK
    assert "3 of 3 arrivals missing" in iss.warp(0, 1).waits
    arrive(iss, SECOND, 1, mask=1, core=core)  # another barrier
    assert sleeps(iss)
    arrive(iss, FIRST, 1, mask=1, core=core)
    assert sleeps(iss)
    assert "2 of 3 arrivals missing" in iss.warp(0, 1).waits
    arrive(iss, FIRST, 2, mask=1, core=core)
    assert not sleeps(iss)
    assert iss.run().stop is StopReason.DONE


@pytest.mark.parametrize("phases", [1, 2, 3, 4])
def test_phases_that_complete_in_one_instruction_wake_the_warp(phases):
    """The parity is the old one again after two phases, before the warp can look."""
    iss = sleeping([(FIRST, 0)] * THREADS, {FIRST: 1})
    arrive(iss, FIRST, 1, mask=(1 << phases) - 1)
    assert not sleeps(iss)


def test_a_warp_sleeps_for_the_phase_of_its_parity():
    iss = sleeping([(FIRST, 0)] * THREADS, {FIRST: 1})
    arrive(iss, FIRST, 1, mask=1)
    for parity, warp in ((0, 3), (1, 1)):
        give(iss, {A0: FIRST, A1: parity}, warp=warp)
        assert iss.step(0, warp).fault is None
        assert iss.warp(0, warp).awaits_phase == parity
    arrive(iss, FIRST, 1, mask=1)
    assert not sleeps(iss)


def test_lanes_wait_for_different_phases_lower_ones_first():
    lanes = [(FIRST, 0), (SECOND, 0), (FIRST, 0), (SECOND, 0)] * 2
    iss = sleeping(lanes, {FIRST: 1, SECOND: 1})
    arrive(iss, SECOND, 1, mask=1)
    assert "0xff000040" in iss.warp(0, 1).waits
    arrive(iss, FIRST, 1, mask=1)
    assert not sleeps(iss)  # the phase of `SECOND` is still the last completed one
    iss = sleeping(lanes, {FIRST: 1, SECOND: 1})
    arrive(iss, FIRST, 1, mask=1)
    assert "0xff000048" in iss.warp(0, 1).waits
    arrive(iss, SECOND, 1, mask=1)
    assert not sleeps(iss)


def test_inactive_lanes_wait_for_nothing():
    iss = sleeping([(3, 7)] * 4 + [(FIRST, 0)] * 4, {FIRST: 2}, mask=0xF0)
    assert sleeps(iss)
    arrive(iss, FIRST, 2, mask=1)
    assert not sleeps(iss)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (None, "no barrier any more"),
        (dict(pending=1, expected=2, bytes=5, parity=0), "1 of 2 arrivals and 5 bytes missing"),
        (dict(pending=0, expected=2, bytes=-5, parity=0), "expectation of 5 bytes that have come"),
        (dict(pending=2, expected=2, parity=1), "initialised again"),
    ],
)
def test_a_sleeping_warp_says_what_the_barrier_lacks(state, says):
    iss = sleeping([(FIRST, 0)] * THREADS, {FIRST: 1})
    model_state = barrier_at(iss, FIRST)
    set_barrier(iss, FIRST, None if state is None else type(model_state)(**state))
    waits = iss.warp(0, 1).waits
    assert waits.startswith("mbarrier 0xff000040, phase 0: ")
    assert says in waits


def test_a_sleeping_warp_is_part_of_a_saved_state():
    iss = sleeping([(FIRST, 0)] * THREADS, {FIRST: 1})
    other = model(PROGRAM)
    assert other.native.restore(iss.native.save())
    assert sleeps(other)
    arrive(other, FIRST, 1, mask=1)
    assert not sleeps(other)


def test_the_end_of_a_core_ends_its_waits():
    iss = model(f"{WAIT}\necall")
    new_barrier(iss, FIRST, 1)
    give(iss, {A0: FIRST, A1: 0}, warp=1)
    give(iss, {}, warp=0, pc=ENTRY + 4)
    assert iss.step(0, 1).fault is None and sleeps(iss)
    assert iss.run().stop is StopReason.DONE
    assert not sleeps(iss)


# Faults

WINDOW = SHARED_BASE + small_config().shared.size
REFUSED = {
    "DRAM": (DRAM_BASE + 64, Cause.OUTSIDE_MEMORY, "not in the shared memory of the cluster"),
    "behind": (WINDOW, Cause.OUTSIDE_MEMORY, "not in the shared memory of the cluster"),
    "below": (SHARED_BASE - 8, Cause.OUTSIDE_MEMORY, "not in the shared memory of the cluster"),
    "misaligned": (FIRST + 4, Cause.MISALIGNED_ACCESS, "not a multiple of 8"),
}


@pytest.mark.parametrize("place", REFUSED)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.quick(8)
def test_addresses_without_barriers_are_faults(name, place):
    address, cause, says = REFUSED[place]
    iss = model(line_of(name))
    new_barrier(iss, FIRST, 100)
    before = barrier_at(iss, FIRST)
    give(iss, {A0: [FIRST, address, FIRST, address, *[FIRST] * 4], A1: 1})
    fault = iss.step(0, 0).fault
    assert (fault.cause, fault.address, fault.lanes) == (cause, address, 0b1010)
    assert says in fault.sentence and name in fault.sentence
    assert barrier_at(iss, FIRST) == before
    assert lanes_of(iss, A2) == [OLD + A2] * THREADS


@pytest.mark.parametrize(("state", "operand", "fault"), [
    (None, 0, BarrierFault.NO_BARRIER), (1, 2, BarrierFault.PARITY),
])  # fmt: skip
def test_a_wait_refuses_what_a_test_refuses(state, operand, fault):
    iss = model(WAIT)
    if state:
        new_barrier(iss, FIRST, state)
    give(iss, {A0: FIRST, A1: operand}, mask=0b100)
    refused = iss.step(0, 0).fault
    assert (refused.cause, refused.lanes) == (Cause.BAD_BARRIER, 0b100)
    assert SAYS[fault] in refused.sentence
    assert not iss.warp(0, 0).awaits_phase


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.quick(3)
def test_a_core_without_them_refuses_them(name):
    iss = machine(line_of(name))
    give(iss, {A0: FIRST, A1: 1})
    fault = iss.step(0, 0).fault
    assert fault.cause is Cause.ILLEGAL_INSTRUCTION
    assert "no transaction barriers: set core.transaction_barriers" in fault.sentence


# Programs

#: Warp w of each core arrives a times in each of 20 phases at barrier w % 2, with a drawn from its
#: number, waits for the phase, and adds 1 to a word that only its own thread 0 has.
STORM = """
        csrr s0, warp_id
        csrr s1, core_id
        li a0, {base}
        andi t0, s0, 1
        slli t0, t0, 3
        add a0, a0, t0
        li s2, 0
phases: mbarrier.test_wait.parity t1, a0, s3
        addi a1, s0, 1
        add a1, a1, s1
{arrivals}
        andi a3, s2, 1
        mbarrier.wait.parity a0, a3
        mbarrier.test_wait.parity t2, a0, a3
        beq t2, zero, wrong
        addi s2, s2, 1
        li t0, 20
        bne s2, t0, phases
        vx_tmc zero
wrong:  li gp, 1
        ecall"""
ARRIVALS = {
    "at once": "        mbarrier.arrive a2, a0, a1",
    "one by one": "        mv t0, a1\nagain:  mbarrier.arrive a2, a0, a4\n"
    "        addi t0, t0, -1\n        bne t0, zero, again",
    "with bytes": "        slli t0, a1, 4\n        mbarrier.complete_tx a0, t0\n"
    "        mbarrier.expect_tx a0, t0\n        mbarrier.arrive a2, a0, a1",
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.quick(3)
def test_warps_of_all_cores_pass_phases_together(arrivals, seed):
    """No warp may see the next phase complete before it has arrived: the parity would be wrong."""
    cores, warps, threads = 2, 4, 4
    text = STORM.format(base=SHARED_BASE + 32, arrivals=ARRIVALS[arrivals])
    start = START.replace("li t0, -1", "li t0, 1")  # one thread of each warp
    program = assemble_program(start + "        li a4, 1\n        li s3, 0\n" + text + END)
    config = small_config(cores=cores, warps=warps, threads=threads, transaction_barriers=True)
    iss = Iss(config, schedule="random", seed=seed, checks_races=True, checks_memory=True)
    iss.write(ENTRY, program.data)
    for parity in range(2):
        count = sum(w + 1 + c for w in range(parity, warps, 2) for c in range(cores))
        new_barrier(iss, SHARED_BASE + 32 + 8 * parity, count)
    outcome = iss.run(200_000)
    assert outcome.stop is StopReason.DONE, outcome
    assert outcome.exit_code == 0
    for parity in range(2):
        state = barrier_at(iss, SHARED_BASE + 32 + 8 * parity)
        assert (state.pending, state.parity) == (state.expected, 0)  # after 20 phases
