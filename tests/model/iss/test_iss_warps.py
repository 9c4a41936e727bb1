"""Tests of warps and cores in the instruction-set model: start, spawn, end."""

import numpy as np
import pytest

from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.memory_map import CONSOLE_BASE, ENTRY, SHARED_BASE
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import END, START, give, lanes_of, machine

A0, A1, GP = map(INTEGER_NAMES.index, ("a0", "a1", "gp"))


def test_first_state_is_lane_0_of_warp_0_of_each_core():
    iss = machine("vx_tmc x0", cores=2)
    for core in range(2):
        for warp in range(4):
            state = iss.warp(core, warp)
            is_first = warp == 0
            assert (state.active, state.mask) == (is_first, int(is_first))
            assert not state.integers.any() and not state.floats.any()
            assert (state.fflags, state.frm, state.mscratch, state.mepc) == (0, 0, 0, 0)
            assert state.stack == ()
        assert iss.warp(core, 0).pc == ENTRY


@pytest.mark.parametrize("count", range(5))
@pytest.mark.parametrize("caller", [0, 2])
def test_wspawn_starts_all_other_warps_below_a_number(count, caller):
    iss = machine("vx_wspawn a0, a1")
    iss.set_warp(0, 0, mask=0)
    give(iss, {A0: [1, 1, count, 4], A1: [0, 0, 0x8000_1000, 0]}, warp=caller, mask=6)
    before = [iss.warp(0, warp) for warp in range(4)]
    assert iss.step(0, caller).fault is None
    for warp in range(4):
        state = iss.warp(0, warp)
        if warp == caller:
            assert (state.active, state.mask, state.pc) == (True, 6, ENTRY + 4)
        elif warp < count:
            assert (state.active, state.mask, state.pc) == (True, 1, 0x8000_1000)
        else:
            assert not state.active
        assert np.array_equal(state.integers, before[warp].integers)


def test_wspawn_of_an_active_warp_keeps_its_lanes():
    iss = machine("vx_wspawn a0, a1")
    give(iss, {A0: 2, A1: 0x8000_1000}, mask=1)
    give(iss, {}, warp=1, mask=0b1010, pc=0x8000_2000)
    iss.step(0, 0)
    assert (iss.warp(0, 1).mask, iss.warp(0, 1).pc) == (0b1011, 0x8000_1000)


def test_warp_0_ends_and_others_continue():
    iss = machine(
        "csrr t0, num_warps\nla t1, go\nvx_wspawn t0, t1\nvx_tmc x0\n"
        "go: li t0, 6\nspin: addi t0, t0, -1\nbnez t0, spin\ncsrr a0, warp_mask\nvx_tmc x0"
    )
    assert iss.run().stop is StopReason.DONE
    assert [lanes_of(iss, A0, warp=warp)[0] for warp in range(1, 4)] == [0b1110] * 3


@pytest.mark.parametrize("line", ["ecall", "ebreak"])
def test_environment_calls_end_their_core_with_all_warps(line):
    iss = machine(
        f"csrr t0, core_id\nbnez t0, other\nli t0, 4\nla t1, spin\nvx_wspawn t0, t1\n"
        f"nop\nli gp, 7\n{line}\nspin: j spin\nother: li t0, 50\nagain: addi t0, t0, -1\n"
        f"bnez t0, again\nli gp, 9\nvx_tmc x0",
        cores=2,
    )
    outcome = iss.run(10_000)
    assert (outcome.stop, outcome.exit_code) == (StopReason.DONE, 7)
    assert not any(iss.warp(core, warp).active for core in range(2) for warp in range(4))
    # The other core ended later, with its own value.
    assert lanes_of(iss, GP, core=1)[0] == 9


@pytest.mark.parametrize(
    ("codes", "expected"), [((0, 5, 3), 5), ((0, 0, 0), 0), ((2, 0, 1), 2), ((0, -1, 9), -1)]
)
def test_exit_code_is_the_first_that_is_not_zero(codes, expected):
    iss = machine("vx_tmc x0", cores=3)
    for core, code in enumerate(codes):
        # The value of the last active lane.
        give(iss, {GP: [8, code, 8, 8]}, core=core, mask=0b0011)
    assert iss.run().exit_code == expected


@pytest.mark.parametrize("delays", [(1, 9), (9, 1)])
def test_exit_code_is_that_of_warp_0(delays):
    """For either order of the two ends."""
    iss = machine(
        f"li t0, 2\nla t1, other\nli a0, {delays[0]}\nvx_wspawn t0, t1\nj spin\n"
        f"other: li a0, {delays[1]}\nli gp, 7\nspin: addi a0, a0, -1\nbnez a0, spin\nvx_tmc x0"
    )
    outcome = iss.run()
    assert (outcome.stop, outcome.exit_code) == (StopReason.DONE, 0)
    assert lanes_of(iss, GP, warp=1)[0] == 7


def test_a_run_that_is_done():
    text = f"""
        li gp, 5
        li t0, {CONSOLE_BASE}
        li t1, 33
        sb t1, 0(t0)
    {END}"""
    iss = machine(text, cores=2)
    outcome = iss.run()
    assert (outcome.stop, outcome.exit_code, outcome.fault) == (StopReason.DONE, 5, None)
    assert outcome.instructions == iss.statistics.instructions == 10
    assert iss.console == b"!!"
    assert iss.run().instructions == 0
    iss.reset()
    assert (iss.console, iss.statistics.instructions, iss.exit_code) == (b"", 0, 0)
    assert iss.run().stop is StopReason.DONE


def test_ecall_ends_warps_that_wait():
    text = f"""{START}
        li a0, 1
        li a1, 4
        csrr a2, warp_id
        li gp, 3
        beqz a2, out
        vx_bar a0, a1
    out:
        nop
        nop
        ecall
    """
    iss = machine(text)
    outcome = iss.run()
    assert (outcome.stop, outcome.exit_code) == (StopReason.DONE, 3)
    assert [iss.warp(0, warp).waits for warp in range(4)] == [""] * 4
    assert not any(iss.warp(0, warp).active for warp in range(4))


def test_a_reset_drops_products_that_nobody_waited_for():
    iss = machine("hgmma a0, a0\nhgmma_wait", threads=8, tensor=SharedFedConfig())
    for resets in (False, True):
        iss.reset()
        iss.set_warp(0, 0, mask=0xFF, integers=np.full((32, 8), SHARED_BASE, np.uint32))
        iss.step(0, 0)
        if resets:
            iss.reset()
            iss.set_warp(0, 0, pc=ENTRY + 4, mask=0xFF)
        fault = iss.step(0, 0).fault
        assert (fault is not None and fault.cause is Cause.BAD_WAIT) == resets
