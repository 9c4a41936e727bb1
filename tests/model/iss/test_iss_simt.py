"""Tests of lanes in the instruction-set model: masks, divergence, predicates, branches."""

import pytest

from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.program import assemble_program
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import give, lanes_of, machine, merged, run_warp
from support.programs.warp_control import nest

A0, A1, A2, S0 = map(INTEGER_NAMES.index, ("a0", "a1", "a2", "s0"))


def path(iss):
    """Execute a warp to its end; return index and mask of each of its instructions."""
    return [((retired.pc - ENTRY) // 4, retired.mask) for retired in run_warp(iss)]


# Masks


@pytest.mark.parametrize("mask", range(1, 16))
def test_tmc_lets_lanes_of_the_mask_continue(mask):
    iss = machine("vx_tmc a0\ncsrr a1, thread_mask\nvx_tmc x0")
    # The mask is taken from the last lane; values of other lanes do not matter.
    give(iss, {A0: [5, 0, 0, mask]})
    assert iss.run().stop is StopReason.DONE
    assert lanes_of(iss, A1) == merged(mask, mask, A1)


@pytest.mark.parametrize(("mask", "left"), [(0, 0), (0x10, 0), (0xF0, 0), (0xFFFF_FFF5, 5)])
def test_tmc_ignores_lanes_that_do_not_exist_and_ends_without_any(mask, left):
    iss = machine("vx_tmc a0\nvx_tmc x0")
    give(iss, {A0: mask})
    iss.step(0, 0)
    state = iss.warp(0, 0)
    assert (state.mask, state.active) == (left, left != 0)
    assert iss.run().instructions == (left != 0)


def test_lanes_are_lit_again_by_a_mask():
    iss = machine("li t0, 2\nvx_tmc t0\nli t0, -1\nvx_tmc t0\ncsrr a1, thread_mask\nvx_tmc x0")
    give(iss, {})
    assert path(iss) == [(0, 15), (1, 15), (2, 2), (3, 2), (4, 15), (5, 15)]
    assert lanes_of(iss, A1) == [15] * 4


# Divergence


@pytest.mark.parametrize("inverted", ["x0", "x1"])
@pytest.mark.parametrize("mask", [0b1111, 0b0110, 0b1000])
@pytest.mark.parametrize("true_lanes", range(16))
def test_split_keeps_lanes_whose_bit_0_is_set(true_lanes, mask, inverted):
    iss = machine(f"vx_split a1, a0, {inverted}")
    # All bits but the lowest have the opposite value.
    give(iss, {A0: [1 if true_lanes >> lane & 1 else 0xFFFF_FFFE for lane in range(4)]}, mask=mask)
    assert iss.step(0, 0).fault is None
    state = iss.warp(0, 0)
    then, rest = true_lanes & mask, mask & ~true_lanes
    diverged = then != 0 and rest != 0
    assert lanes_of(iss, A1) == merged(mask, int(diverged), A1)
    assert state.mask == (then if diverged else mask)
    stack = [(entry.both, entry.rest, entry.pc, entry.is_second) for entry in state.stack]
    assert stack == ([(mask, rest, ENTRY + 4, False)] if diverged else [])
    assert state.pc == ENTRY + 4


BOTH_SIDES = """
    vx_split a1, a0, x0     # 0
    beqz a0, other
    addi a2, zero, 1        # 2
    j end
other: addi a2, zero, 2     # 4
end: vx_join a1             # 5
    csrr s0, thread_mask    # 6
    vx_tmc x0
"""


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # Lanes with the condition run first, then the others from after the split, then both.
        (
            [1, 0, 0, 1],
            [(0, 15), (1, 9), (2, 9), (3, 9), (5, 9), (1, 6), (4, 6), (5, 6), (6, 15), (7, 15)],
        ),
        ([1, 1, 1, 1], [(0, 15), (1, 15), (2, 15), (3, 15), (5, 15), (6, 15), (7, 15)]),
        ([0, 0, 0, 0], [(0, 15), (1, 15), (4, 15), (5, 15), (6, 15), (7, 15)]),
    ],
)
def test_both_sides_are_executed_one_after_the_other(condition, expected):
    iss = machine(BOTH_SIDES)
    give(iss, {A0: condition})
    assert path(iss) == expected
    assert lanes_of(iss, A2) == [1 if lane else 2 for lane in condition]
    assert lanes_of(iss, S0) == [15] * 4
    assert iss.warp(0, 0).stack == ()
    assert iss.statistics.divergent_splits == (len(set(condition)) == 2)


@pytest.mark.parametrize("branch", ["beqz", "bnez"])
def test_a_side_may_be_empty(branch):
    iss = machine(
        f"vx_split a1, a0, x0\n{branch} a0, end\naddi a2, zero, 1\nend: vx_join a1\nvx_tmc x0"
    )
    give(iss, {A0: [1, 0, 0, 1], A2: 0})
    masks = [mask for _, mask in path(iss)]
    runs = 9 if branch == "beqz" else 6
    assert lanes_of(iss, A2) == [runs >> lane & 1 for lane in range(4)]
    assert sorted(masks) == sorted([15, 9, 9, 6, 6, runs, 15])


@pytest.mark.parametrize("flag", [2, 0xFFFF_FFFE, 0])
def test_join_reads_bit_0_of_the_last_active_lane(flag):
    iss = machine("vx_split a1, a0, x0\nvx_join a2\nvx_join a2\nvx_tmc x0")
    give(iss, {A0: [1, 1, 0, 0], A2: [1, flag, flag ^ 1, 1]})
    # Lanes 0 and 1 are active, and lane 1 has bit 0 clear: nothing is joined.
    iss.step(0, 0)
    iss.step(0, 0)
    assert (iss.warp(0, 0).mask, iss.warp(0, 0).pc) == (3, ENTRY + 8)
    iss.set_warp(0, 0, pc=ENTRY + 4, mask=1)
    iss.step(0, 0)
    assert (iss.warp(0, 0).mask, iss.warp(0, 0).pc) == (0b1100, ENTRY + 4)


@pytest.mark.parametrize("is_in_then", [True, False])
@pytest.mark.parametrize("threads", [2, 4, 8, 32])
def test_splits_nest_as_deep_as_there_are_lanes(threads, is_in_then):
    """Deepest nesting of splits; a lane leaves at each."""
    lines = [*nest(threads, is_in_then), "csrr a2, thread_mask", "vx_tmc x0"]
    iss = machine("\n".join(lines), threads=threads)
    give(iss, {A0: range(threads), A1: 0})
    marks, depth, word = [], 0, assemble_program("addi a1, a1, 1")[0]
    while retired := iss.step(0, 0):
        assert retired.fault is None, retired.fault.sentence
        depth = max(depth, len(iss.warp(0, 0).stack))
        marks += [retired.mask] if retired.word == word else []
    order = [1 << lane for lane in range(threads)]
    assert marks == (order[::-1] if is_in_then else order)
    assert depth == threads - 1
    assert lanes_of(iss, A1) == [1] * threads
    assert lanes_of(iss, A2) == [(1 << threads) - 1] * threads
    assert iss.statistics.divergent_splits == threads - 1


# Predicates


@pytest.mark.parametrize("mask", [0b1111, 0b0110])
@pytest.mark.parametrize("true_lanes", range(16))
def test_pred_keeps_lanes_or_takes_the_last_lane_s_mask(true_lanes, mask):
    iss = machine("vx_pred a0, a1")
    last = mask.bit_length() - 1
    fallback = [0b1001 if lane == last else 0b0100 for lane in range(4)]
    conditions = [3 if true_lanes >> lane & 1 else 2 for lane in range(4)]
    give(iss, {A0: conditions, A1: fallback}, mask=mask)
    iss.step(0, 0)
    assert iss.warp(0, 0).mask == (true_lanes & mask or 0b1001)
    assert iss.warp(0, 0).stack == ()


def test_pred_without_lanes_and_with_an_empty_mask_ends_the_warp():
    iss = machine("vx_pred a0, a1\nvx_tmc x0")
    give(iss, {A0: 0, A1: 0x10})
    assert iss.run().instructions == 1
    assert not iss.warp(0, 0).active


def test_lanes_loop_as_often_as_each_needs():
    iss = machine(
        "csrr s0, thread_mask\nloop: snez t0, a0\nvx_pred t0, s0\nbeqz t0, end\n"
        "addi a0, a0, -1\naddi a1, a1, 1\nj loop\nend: csrr a2, thread_mask\nvx_tmc x0"
    )
    give(iss, {A0: [3, 0, 5, 1], A1: 0})
    assert iss.run().stop is StopReason.DONE
    assert lanes_of(iss, A1) == [3, 0, 5, 1]
    assert lanes_of(iss, A2) == [15] * 4


# One program counter for all lanes


@pytest.mark.parametrize("line", ["beq a0, a1, 8", "jalr ra, 0(a0)"])
def test_lanes_that_are_not_active_have_no_say_in_a_branch(line):
    iss = machine(line)
    give(iss, {A0: [1, ENTRY + 8, ENTRY + 8, 2], A1: [3, ENTRY + 8, ENTRY + 8, 2]}, mask=0b0110)
    assert iss.step(0, 0).fault is None
    assert iss.warp(0, 0).pc == ENTRY + 8
