"""Tests of the instruction-set model: ends of runs, and state unchanged by faults."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS, CoreConfig
from spica.hw.isa.memory_map import CONSOLE_BASE, DMA_BASE, ENTRY, SHARED_BASE
from spica.hw.isa.program import assemble_program
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import END, START

SCHEDULES = ("round_robin", "random")


def machine_of(cores=1, warps=4, threads=4, **options):
    core_options = {
        key: options.pop(key) for key in ("divergent_branch", "tensor") if key in options
    }
    schedule = {key: options.pop(key) for key in ("schedule", "seed") if key in options}
    core = CoreConfig(warps=warps, threads=threads, **core_options)
    config = replace(PRESETS["core"], cores=cores, core=core, **options)
    return Iss(config, **schedule)


def loaded(text, **options):
    iss = machine_of(**options)
    iss.write(ENTRY, assemble_program(text).data)
    return iss


def ran(text, limit=100_000, **options):
    iss = loaded(text, **options)
    return iss, iss.run(limit)


def state_of(iss):
    """Return the complete state of a machine, for comparison."""
    warps = []
    for core in range(iss.config.cores):
        for number in range(iss.core.warps):
            warp = iss.warp(core, number)
            plain = replace(warp, integers=0, floats=0)
            warps.append((plain, warp.integers.tobytes(), warp.floats.tobytes()))
    return warps, iss.console, iss.statistics, iss.read(SHARED_BASE, 4096).tobytes()


def test_a_run_that_is_done():
    text = f"""
        li gp, 5
        li t0, {CONSOLE_BASE}
        li t1, 33
        sb t1, 0(t0)
    {END}"""
    iss, outcome = ran(text, cores=2)
    assert (outcome.stop, outcome.exit_code, outcome.fault) == (StopReason.DONE, 5, None)
    assert outcome.instructions == iss.statistics.instructions == 10
    assert iss.console == b"!!"
    assert iss.run().instructions == 0
    iss.reset()
    assert (iss.console, iss.statistics.instructions, iss.exit_code) == (b"", 0, 0)
    assert iss.run().stop is StopReason.DONE


def test_the_first_exit_code_that_is_not_zero():
    _, outcome = ran("csrr gp, core_id\nneg gp, gp\necall", cores=3)
    assert outcome.exit_code == -1


def test_only_warp_0_tells_the_exit_code():
    waits = "beqz gp, out\nnop\nnop\nnop\nout:"
    _, outcome = ran(f"{START}\ncsrr gp, warp_id\n{waits}{END}")
    assert (outcome.stop, outcome.exit_code) == (StopReason.DONE, 0)


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
    iss, outcome = ran(text)
    assert (outcome.stop, outcome.exit_code) == (StopReason.DONE, 3)
    assert [iss.warp(0, warp).waits for warp in range(4)] == [""] * 4
    assert not any(iss.warp(0, warp).active for warp in range(4))


def test_a_reset_forgets_products_that_nobody_waited_for():
    iss = loaded("hgmma a0, a0\nhgmma_wait", threads=8, tensor="hgmma")
    for resets in (False, True):
        iss.reset()
        iss.set_warp(0, 0, mask=0xFF, integers=np.full((32, 8), SHARED_BASE, np.uint32))
        iss.step(0, 0)
        if resets:
            iss.reset()
            iss.set_warp(0, 0, pc=ENTRY + 4, mask=0xFF)
        fault = iss.step(0, 0).fault
        assert (fault is not None and fault.cause is Cause.BAD_WAIT) == resets


def test_a_limit_stops_and_the_run_goes_on():
    iss = loaded("again: addi a0, a0, 1\nj again")
    outcome = iss.run(7)
    assert (outcome.stop, outcome.instructions) == (StopReason.LIMIT, 7)
    assert iss.warp(0, 0).integers[10, 0] == 4
    assert iss.run(0).instructions == 0
    assert iss.run(1).stop is StopReason.LIMIT
    assert iss.statistics.instructions == 8
    with pytest.raises(UserError, match="limit must not be negative, not -1"):
        iss.run(-1)


BARRIER = "li a0, 1\nli a1, {count}\nvx_bar a0, a1"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_deadlock_says_who_waits_for_whom(schedule):
    text = START + BARRIER.format(count=4) + END
    iss = loaded(text.replace("num_warps", "warp_mask"), schedule=schedule)
    outcome = iss.run()
    assert outcome.stop is StopReason.DEADLOCK
    assert iss.warp(0, 0).waits == "barrier 1: 1 of 4 warps of core 0 have arrived"
    assert iss.warp(0, 0).active and not iss.warp(0, 1).active
    assert iss.step(0, 0) is None and iss.step(0, 1) is None


def test_a_deadlock_of_cores():
    text = f"csrr t0, core_id\nbeqz t0, out\n{BARRIER.format(count=1)}\nout: {END}"
    iss, outcome = ran(text, cores=3)
    assert outcome.stop is StopReason.DEADLOCK
    assert iss.warp(2, 0).waits == "barrier 1: core 2 has arrived, core 0 not yet"


def test_a_deadlock_of_one_warp_of_each_core():
    text = "csrr t0, core_id\nbeqz t0, out\nli a0, 0x80000001\nli a1, 3\nvx_bar a0, a1\nout:" + END
    iss, outcome = ran(text, cores=3, barrier_scope="core")
    assert outcome.stop is StopReason.DEADLOCK
    assert iss.warp(1, 0).waits == "barrier 1: 2 of 3 cores have arrived"


#: Faults: cause, lanes, address, and words of the message.
FAULTS = {
    ".word 0xFFFFFFFF": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "0xffffffff is not an instruction"),
    ".word 0x1005202F": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "0x1005202f is not supported"),
    ".word 0x0000007B": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "not have this tensor instruction"),
    "fadd.s f1, f2, f3, 5": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "rounding mode 5 is reserved"),
    "csrr a0, 0x7C0": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "CSR 0x7c0 does not exist"),
    "csrw mhartid, a0": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "0xf14 is read-only"),
    "vx_join s1": (Cause.STACK_UNDERFLOW, 0xF, None, "join without an open"),
    "jalr zero, 2(zero)": (Cause.MISALIGNED_JUMP, 0xF, 2, "0x00000002, which is not a multiple"),
    "jal zero, 6": (Cause.MISALIGNED_JUMP, 0xF, ..., "not a multiple of 4"),
    "jalr zero, 0(s3)": (Cause.DIVERGENT_BRANCH, 0b0111, 0, "other targets than lane 3"),
    "bnez s0, 8": (Cause.DIVERGENT_BRANCH, 0b0001, None, "disagree with lane 3"),
    "lw a0, 0(zero)": (Cause.OUTSIDE_MEMORY, 0xF, 0, "load of 4 bytes at 0x00000000"),
    "lh a0, 1(s2)": (Cause.MISALIGNED_ACCESS, 0xF, SHARED_BASE + 1, "not a multiple of 2"),
    "lb a0, 0(s4)": (Cause.OUTSIDE_MEMORY, 0xF, CONSOLE_BASE, "which is write-only"),
    "sw a0, 0(s4)": (Cause.OUTSIDE_MEMORY, 0xF, CONSOLE_BASE, "requires 1 byte"),
    "sb a0, 0(s5)": (Cause.OUTSIDE_MEMORY, 0xF, SHARED_BASE + 0x5000, "requires 4 bytes"),
    "lw a0, 4(s5)": (Cause.DEVICE, 0b0010, SHARED_BASE + 0x5044, "no register at 0x1044"),
    "vx_bar s6, s1": (Cause.BAD_BARRIER, 0xF, None, "barrier 0x10 does not exist"),
    "vx_bar s1, zero": (Cause.BAD_BARRIER, 0xF, None, "must be 1 to 4, not 0"),
    "vx_wspawn s6, zero": (Cause.BAD_WSPAWN, 0xF, None, "must be at most 4, not 16"),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("wrong", FAULTS)
def test_a_fault_leaves_all_as_it_was(wrong, schedule):
    cause, lanes, address, words = FAULTS[wrong]
    text = f"""
        li t0, -1
        vx_tmc t0
        csrr s0, thread_id
        li s1, 1
        li s2, {SHARED_BASE}
        slli s3, s0, 4
        li s4, {CONSOLE_BASE}
        slli s5, s0, 6
        li t1, {SHARED_BASE + 0x4000 + DMA_BASE}
        add s5, s5, t1
        li s6, 16
wrong:  {wrong}
    """
    program = assemble_program(text)
    iss = machine_of(schedule=schedule)
    iss.write(ENTRY, program.data)
    before = len(program) - 1
    assert iss.run(before).stop is StopReason.LIMIT
    state = state_of(iss)
    outcome = iss.run()
    fault = outcome.fault
    assert (outcome.stop, outcome.instructions) == (StopReason.FAULT, 0)
    assert (fault.cause, fault.lanes) == (cause, lanes)
    assert (fault.core, fault.warp, fault.pc) == (0, 0, program.labels["wrong"])
    assert fault.word == program[-1]
    assert fault.address == (fault.pc + 6 if address is ... else address)
    assert words in fault.sentence and fault.sentence.startswith(cause.value)
    assert state_of(iss) == state
    assert iss.step(0, 0).fault == fault
    assert state_of(iss) == state
