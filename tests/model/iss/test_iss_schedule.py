"""Tests of the instruction-set model step by step: schedules, records, history, sizes."""

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.isa.encoding import RegisterClass
from spica.hw.isa.memory_map import CONSOLE_BASE, ENTRY, SHARED_BASE
from spica.hw.isa.operations import Unit
from spica.hw.isa.program import assemble_program
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import END, START, machine
from support.iss_state import state_of

SCHEDULES = ("round_robin", "random")
TIMES = 50
#: Every warp adds 1 to a word of shared memory many times, without order between its two accesses,
#: and prints its letter each time.
RACE = f"""{START}
        li t0, 1
        vx_tmc t0
        li s0, {SHARED_BASE}
        li s1, {CONSOLE_BASE}
        csrr s2, warp_id
        addi s2, s2, 65
        li s3, {TIMES}
again:  lw a0, 0(s0)
        addi a0, a0, 1
        sw a0, 0(s0)
        sb s2, 0(s1)
        addi s3, s3, -1
        bnez s3, again
{END}"""
#: Divergence, floats, memory and barriers: a word for each thread.
BUSY = f"""{START}
        csrr s0, mhartid
        slli s1, s0, 2
        li s2, {SHARED_BASE}
        add s1, s1, s2
        fcvt.s.w f0, s0
        andi s3, s0, 1
        vx_split s4, s3, zero
        beqz s3, even
        fmul.s f0, f0, f0
even:   vx_join s4
        li a0, 0
        csrr a1, num_warps
        vx_bar a0, a1
        fcvt.w.s a2, f0
        sw a2, 0(s1)
        lw a3, 0(s1)
{END}"""


def racing(**options):
    """Return the output and the counts of a race."""
    iss = machine(RACE, **options)
    assert iss.run().stop is StopReason.DONE
    return iss.console, int(iss.read(SHARED_BASE, 4).view(np.uint32)[0])


def test_in_turn_each_warp_executes_one_instruction():
    console, count = racing()
    # Warps started by warp 0 have their first turn before its next one.
    assert sorted(console) == sorted(b"ABCD" * TIMES) and console.startswith(b"BCDABCD")
    assert count < 2 * TIMES
    assert racing() == (console, count)


def test_random_schedules_are_their_seeds():
    runs = {seed: racing(schedule="random", seed=seed) for seed in range(4)}
    assert len(set(runs.values())) == 4
    assert all(runs[seed] == racing(schedule="random", seed=seed) for seed in runs)
    assert all(sorted(console) == sorted(b"ABCD" * TIMES) for console, _ in runs.values())
    assert all(count < 4 * TIMES for _, count in runs.values())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_where_a_run_is_cut_changes_nothing(schedule):
    whole = machine(RACE, schedule=schedule)
    whole.run()
    cut = machine(RACE, schedule=schedule)
    while (outcome := cut.run(7)).stop is StopReason.LIMIT:
        assert outcome.instructions == 7
    assert outcome.stop is StopReason.DONE
    assert state_of(cut) == state_of(whole)


def test_a_fault_that_is_mended_leaves_no_trace():
    """The order of warps continues as without the fault."""
    text = RACE.replace("lw a0, 0(s0)", "lw a0, 0(s0)\nlw a7, 0(s5)").replace(
        "csrr s2, warp_id", "csrr s2, warp_id\nslli s5, s2, 2\nli a0, 0x80100000\nadd s5, s5, a0"
    )
    whole, mended = machine(text), machine(text)
    whole.run()
    mended.allow(ENTRY, 0x1000)
    fault = mended.run().fault
    assert (fault.warp, fault.address) == (1, 0x8010_0004)
    mended.allow(0x8010_0000, 0x1000)
    assert mended.run().stop is StopReason.DONE
    assert state_of(mended) == state_of(whole)


def test_steps_do_what_a_run_does():
    run, stepped = (machine(BUSY, cores=2, warps=3, threads=5) for _ in range(2))
    run.run()
    while any([stepped.step(core, warp) for core in range(2) for warp in range(3)]):
        pass
    assert state_of(stepped) == state_of(run)
    words = stepped.read(SHARED_BASE, 4 * 64).view(np.uint32).tolist()
    harts = [core << 5 | warp << 3 | t for core in range(2) for warp in range(3) for t in range(5)]
    assert [words[hart] for hart in harts] == [h * h if h & 1 else h for h in harts]


def test_what_a_step_returns():
    text = f"""
        li t0, 5
        vx_tmc t0
        csrr a0, thread_id
        slli a1, a0, 3
        li a2, {SHARED_BASE}
        add a1, a1, a2
        addi a3, a0, -2
        sh a3, 4(a1)
        lh a4, 4(a1)
        fcvt.s.w f3, a4
        add zero, a4, a4
        lw a0, 0(zero)
    """
    iss = machine(text)
    records = {}
    while (record := iss.step(0, 0)).fault is None:
        records[record.pc] = record
    retired = list(records.values())
    assert [step.mask for step in retired] == [1, 1, *[5] * (len(retired) - 2)]
    assert iss.history(0, 0) == [(step.pc, step.word, step.mask) for step in retired]
    assert retired[0].rd == (RegisterClass.INTEGER, 5) and retired[0].values.tolist() == [
        5,
        0,
        0,
        0,
    ]
    assert retired[1].rd is None and retired[1].access is None
    assert retired[2].values.tolist() == [0, 0, 2, 0]
    store, load, convert, dropped = retired[-4:]
    addresses = [SHARED_BASE + 4, 0, SHARED_BASE + 20, 0]
    for step, is_store in ((store, True), (load, False)):
        assert (step.access.is_store, step.access.size) == (is_store, 2)
        assert step.access.addresses.tolist() == addresses
        assert step.access.data.tolist() == [0xFFFE, 0, 0, 0]
    assert store.rd is None
    assert load.rd == (RegisterClass.INTEGER, 14)
    assert load.values.tolist() == [0xFFFF_FFFE, 0, 0, 0]
    assert convert.rd == (RegisterClass.FLOAT, 3)
    assert convert.values.tolist() == [0xC000_0000, 0, 0, 0]
    assert dropped.rd is None
    assert record.fault.cause is Cause.OUTSIDE_MEMORY and record.rd is record.access is None
    assert record.word == assemble_program("lw a0, 0(zero)")[0]


def test_history_is_the_last_64():
    iss = machine("again: addi a0, a0, 1\nj again")
    assert iss.history(0, 0) == []
    iss.run(3)
    words = assemble_program("again: addi a0, a0, 1\nj again")
    first, second = (ENTRY, words[0], 1), (ENTRY + 4, words[1], 1)
    assert iss.history(0, 0) == [first, second, first]
    iss.run(198)
    assert iss.history(0, 0) == [second, first] * 32
    assert iss.history(0, 1) == []


@pytest.mark.parametrize(
    ("cores", "warps", "threads"), [(1, 1, 1), (1, 3, 5), (2, 32, 32), (32, 1, 32), (32, 32, 1)]
)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_size_of_machine(cores, warps, threads, schedule):
    iss = machine(BUSY, cores=cores, warps=warps, threads=threads, schedule=schedule)
    assert iss.run().stop is StopReason.DONE
    warp_width, thread_width = iss.core.warp_width, iss.core.thread_width
    words = iss.read(SHARED_BASE, 4 << 11).view(np.uint32)
    for core in range(cores):
        for warp in range(warps):
            state = iss.warp(core, warp)
            harts = (core << warp_width | warp) << thread_width | np.arange(threads)
            assert np.array_equal(state.integers[8], harts)
            assert np.array_equal(words[harts], np.where(harts & 1, harts * harts, harts))
            assert state.stack == () and not state.active
    statistics = iss.statistics
    assert statistics.barriers == cores * warps
    assert statistics.divergent_splits == (cores * warps if threads > 1 else 0)
    assert sum(statistics.core_instructions) == statistics.instructions
    assert sum(statistics.units.values()) == statistics.instructions
    assert (statistics.loads, statistics.stores) == (cores * warps, cores * warps)


def test_statistics_of_lanes():
    iss = machine("li t0, 6\nvx_tmc t0\naddi a0, a0, 1\nflw f0, 0(sp)" + END)
    iss.write(SHARED_BASE, bytes(4))
    iss.set_warp(0, 0, integers=np.full((32, 4), SHARED_BASE, np.uint32))
    iss.run()
    statistics = iss.statistics
    assert statistics.thread_instructions == 1 + 1 + 2 + 2 + 2
    assert statistics.mnemonics == {"addi": 2, "vx_tmc": 2, "flw": 1}
    assert statistics.units[Unit.WARP] == 2 and statistics.loads == 1


def test_a_warp_is_set_for_tests():
    iss = machine("add a0, a1, a2" + END)
    integers = np.arange(128, dtype=np.uint32).reshape(32, 4)
    iss.set_warp(0, 2, pc=ENTRY, mask=0b1010, integers=integers, frm=2, fflags=4, mscratch=9)
    warp = iss.warp(0, 2)
    assert (warp.pc, warp.mask, warp.active) == (ENTRY, 0b1010, True)
    assert (warp.frm, warp.fflags, warp.mscratch) == (2, 4, 9)
    assert not warp.integers[0].any() and np.array_equal(warp.integers[1:], integers[1:])
    assert iss.step(0, 2).values.tolist() == [40, 45 + 49, 42, 47 + 51]
    iss.set_warp(0, 2, mask=0)
    assert iss.step(0, 2) is None
    with pytest.raises(TypeError, match="no field colour that can be set"):
        iss.set_warp(0, 2, colour=1)
    with pytest.raises(UserError, match="warp must be from 0 to 3, not 4"):
        iss.warp(0, 4)
