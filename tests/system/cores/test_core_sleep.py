"""Tests of cores whose warps all wait at cluster barriers: the clock stops, and nothing else."""

import numpy as np
import pytest

from spica.hw.core.clock_control import SLEEP_WIDTH
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.program import assemble_program
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import END, START, small_config
from spica.sim.machine.program_machine import ProgramMachine
from support.core.core_bench import image

ROOM = 4096
#: Warps of a core, and the places in its number of a hart.
WARPS, WARPS_PLACES = 3, 4
MEMORY = CoreMemoryConfig(latency=9, jitter=4, stall=0.2, seed=2)
GATINGS = ("ungated", "gated", "random")
#: The cores meet four times; the first comes late every second time, otherwise the second one.
MEETINGS = 4
ONE_MEETING = """
        xori s3, s3, 1
        mv a0, s2
        beqz s3, meet{number}
late{number}: addi a0, a0, -1
        bnez a0, late{number}
meet{number}: vx_bar zero, s4
        csrr a1, mcycle
        csrr a2, minstret
        csrr a3, slots_barrier
        csrr a4, slots_blocked
        sw a1, 0(s1)
        sw a2, 4(s1)
        sw a3, 8(s1)
        sw a4, 12(s1)
        addi s1, s1, 16
"""


def meetings(rounds):
    """Return a program in which one core waits for the other during `rounds` loops."""
    text = "".join(ONE_MEETING.format(number=number) for number in range(MEETINGS))
    return f"""{START}
        csrr s0, mhartid
        csrr s3, core_id
        csrr s4, num_warps
        li s2, {rounds}
        la s1, results
        slli s0, s0, 6
        add s1, s1, s0
        {text}{END}
results: .word 0
"""


def config_of(scheduler, issue_width):
    return small_config(
        cores=2, warps=WARPS, threads=1, scheduler=scheduler, issue_width=issue_width
    )


def counted(machine):
    """Return the counters, whose slots must add up to the cycles."""
    width = machine.core.issue_width
    for held in machine.counters():
        slots = sum(held[f"slots_{reason.name.lower()}"] for reason in StallReason)
        assert slots == held["cycles"] * width
    return machine.counters()


def run(config, text, limits=(), gating="gated"):
    """Return memory, the counters at each limit and at the end, and the outcome."""
    counters, before = [], 0
    with ProgramMachine(config, memory=MEMORY, gating=gating, seed=3, optimize=0) as machine:
        machine.write(ENTRY, image(text, ROOM))
        for limit in limits:
            outcome = machine.run(limit - before)
            assert (outcome.stop, outcome.cycles) == (StopReason.LIMIT, limit)
            counters.append(counted(machine))
            before = limit
        outcome = machine.run(100_000)
        assert outcome.stop is StopReason.DONE
        return machine.read(ENTRY, ROOM), [*counters, counted(machine)], outcome


@pytest.mark.parametrize(
    ("scheduler", "issue_width"), [("two_level", 1), ("greedy_then_oldest", 2)], ids=str
)
@pytest.mark.full
def test_gating_changes_nothing_but_clocks(scheduler, issue_width):
    """Sleeps longer than the outside count; stops at limits, most of them while a core sleeps."""
    config, rounds = config_of(scheduler, issue_width), 100
    limits = (901, 1000, 1002, 1003, 3300, 7000)
    runs = {gating: run(config, meetings(rounds), limits, gating) for gating in GATINGS}
    memory, counters, ungated = runs["ungated"]
    for gating in ("gated", "random"):
        assert (runs[gating][0] == memory).all()
        assert runs[gating][1] == counters
        outcome = runs[gating][2]
        for figure in ("cycles", "core_cycles", "slots", "core_instructions"):
            assert getattr(outcome, figure) == getattr(ungated, figure)
    for core, held in enumerate(counters[-1]):
        assert held["cycles"] + 2 == ungated.core_cycles[core]  # two cycles to settle
        assert held["slots_barrier"] == ungated.slots[core]["BARRIER"]
        gated, random = (runs[gating][2].clocked[f"core{core}"] for gating in ("gated", "random"))
        assert gated < 0.7 * held["cycles"], "a core must sleep while it waits for the other"
        assert gated < random < ungated.clocked[f"core{core}"]


@pytest.mark.full
def test_a_cycle_counter_does_not_stop():
    """Cores that start together read the same cycles after each meeting, whichever slept."""
    config, text = config_of("round_robin", 1), meetings(150)
    memory, *_ = run(config, text)
    results = len(assemble_program(text).data) - 4
    words = memory[results:].view(np.uint32)[: 2 * WARPS_PLACES * 16].reshape(2, -1, 4, 4)
    cycles, instructions, asleep, _ = words[:, :WARPS].transpose(3, 0, 1, 2).astype(int)
    # A core that was late has executed its loop meanwhile, the other one has slept.
    assert (abs(cycles[0] - cycles[1]) < 200).all()
    steps = np.diff(asleep[:, 0])
    assert (steps[0, ::2] > 2 << SLEEP_WIDTH).all() or (steps[1, ::2] > 2 << SLEEP_WIDTH).all()
    assert (np.diff(cycles) > 2 << SLEEP_WIDTH).all()
    assert (np.diff(instructions) > 0).all()
