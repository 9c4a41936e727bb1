"""The instruction-set model from Python: memory, runs and how they end, steps, what can be seen."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.address_map import (
    CONSOLE_BASE,
    COUNTER_DUMP,
    DMA_BASE,
    DRAM_BASE,
    DRAM_END,
    ENTRY,
    SHARED_BASE,
)
from spica.hw.config import PRESETS, CoreConfig
from spica.hw.errors import UserError
from spica.hw.isa.program import assemble_program
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause, Stop

SCHEDULES = ("in_turn", "random")
#: Every thread of every warp goes on at `body`.
START = """
        csrr t0, num_warps
        la t1, body
        vx_wspawn t0, t1
body:   li t0, -1
        vx_tmc t0
"""
END = "\n        vx_tmc zero\n"


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


def words_at(iss, address, count):
    return iss.read(address, 4 * count).view(np.uint32).tolist()


def state_of(iss):
    """Return all that a machine holds, to be compared."""
    warps = []
    for core in range(iss.config.cores):
        for number in range(iss.core.warps):
            warp = iss.warp(core, number)
            plain = replace(warp, integers=0, floats=0)
            warps.append((plain, warp.integers.tobytes(), warp.floats.tobytes()))
    return warps, iss.console, iss.statistics, iss.read(SHARED_BASE, 4096).tobytes()


@pytest.mark.parametrize("address", [DRAM_BASE, DRAM_BASE + 0xFFFD, DRAM_END - 9, SHARED_BASE + 3])
def test_the_host_reads_what_it_wrote(address):
    iss = machine_of()
    iss.write(address, b"spica iss")
    assert iss.read(address, 9).tobytes() == b"spica iss"
    iss.write(address, np.array([7, 1 << 30], np.uint32)[:1])
    assert iss.read(address, 9).tobytes() == b"\7\0\0\0a iss"


def test_memory_nobody_wrote_is_zero():
    assert not machine_of().read(0x9000_0000, 100_000).any()


@pytest.mark.parametrize(
    "address", [0, DRAM_BASE - 1, DRAM_END - 1, SHARED_BASE + 0x5000, 0xFFFF_FFFE, -4, 1 << 32]
)
def test_the_host_reaches_memory_only(address):
    iss = machine_of()
    with pytest.raises(UserError, match="address must be one of DRAM or shared memory"):
        iss.write(address, b"four")
    with pytest.raises(UserError, match="address must be"):
        iss.read(address, 4)


def test_what_is_left_beside_shared_memory():
    """Print buffers and counter dumps take what programs leave there."""
    size = PRESETS["core"].shared.size
    text = f"""
        li a0, {SHARED_BASE + size + 0x200}
        li a1, {COUNTER_DUMP + 0xFC}
        li a2, 77
        sw a2, 0(a0)
        sw a2, 0(a1)
        lw a3, 0(a1)
    """
    iss, outcome = ran(text + END)
    assert outcome.stop is Stop.DONE
    assert words_at(iss, SHARED_BASE + size + 0x200, 1) == [77]
    assert words_at(iss, COUNTER_DUMP + 0xFC, 1) == [77]
    assert iss.warp(0, 0).integers[13, 0] == 77


def test_regions_bound_what_programs_touch_in_dram():
    """Lanes side by side: those beyond the end are named, and none has written."""
    text = f"""{START}
        li a0, 0x80100000
        csrr a1, thread_id
        slli a1, a1, 2
        add a0, a0, a1
        sw a0, 0(a0)
        sw a0, 8(a0)
    {END}"""
    iss = loaded(text, warps=1)
    iss.allow(ENTRY, 0x1000)
    iss.allow(0x8010_0000, 16)
    outcome = iss.run()
    assert outcome.stop is Stop.FAULT
    fault = outcome.fault
    assert (fault.cause, fault.lanes, fault.address) == (Cause.OUTSIDE_MEMORY, 0b1100, 0x8010_0010)
    assert fault.sentence == (
        "access outside memory: store of 4 bytes at 0x80100010, outside everything that was placed "
        f"(core 0, warp 0, lanes 2-3, pc 0x{fault.pc:08x}: sw a0, 8(a0))"
    )
    assert words_at(iss, 0x8010_0000, 5) == [0x8010_0000 + 4 * k for k in range(4)] + [0]
    iss.allow(0x8010_0010, 8)
    assert iss.run().stop is Stop.DONE
    assert words_at(iss, 0x8010_0010, 2) == [0x8010_0008, 0x8010_000C]


def test_the_host_writes_outside_regions():
    iss = machine_of()
    iss.allow(ENTRY, 4)
    iss.write(0x9000_0000, b"1234")
    assert iss.read(0x9000_0000, 4).tobytes() == b"1234"
    with pytest.raises(UserError, match="a region must be 1 byte or more"):
        iss.allow(ENTRY, 0)


def test_instructions_come_from_what_was_placed():
    iss = machine_of()
    fault = iss.run().fault
    assert (fault.cause, fault.pc, fault.address) == (Cause.OUTSIDE_MEMORY, ENTRY, ENTRY)
    assert "instruction fetch where no program was placed" in fault.sentence
    iss.write(ENTRY, assemble_program("addi a0, a0, 1\naddi a0, a0, 1").data)
    iss.allow(ENTRY, 4)
    outcome = iss.run()
    assert (outcome.instructions, outcome.fault.pc) == (1, ENTRY + 4)
    assert outcome.fault.cause is Cause.OUTSIDE_MEMORY


def test_a_run_that_is_done():
    text = f"""
        li gp, 5
        li t0, {CONSOLE_BASE}
        li t1, 33
        sb t1, 0(t0)
    {END}"""
    iss, outcome = ran(text, cores=2)
    assert (outcome.stop, outcome.exit_code, outcome.fault) == (Stop.DONE, 5, None)
    assert outcome.instructions == iss.statistics.instructions == 10
    assert iss.console == b"!!"
    assert iss.run().instructions == 0
    iss.reset()
    assert (iss.console, iss.statistics.instructions, iss.exit_code) == (b"", 0, 0)
    assert iss.run().stop is Stop.DONE


def test_the_first_exit_code_that_is_not_zero():
    _, outcome = ran("csrr gp, core_id\nneg gp, gp\necall", cores=3)
    assert outcome.exit_code == -1


def test_a_limit_stops_and_the_run_goes_on():
    iss = loaded("again: addi a0, a0, 1\nj again")
    outcome = iss.run(7)
    assert (outcome.stop, outcome.instructions) == (Stop.LIMIT, 7)
    assert iss.warp(0, 0).integers[10, 0] == 4
    assert iss.run(0).instructions == 0
    assert iss.run(1).stop is Stop.LIMIT
    assert iss.statistics.instructions == 8
    with pytest.raises(UserError, match="limit must not be negative, not -1"):
        iss.run(-1)


BARRIER = "li a0, 1\nli a1, {count}\nvx_bar a0, a1"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_deadlock_says_who_waits_for_whom(schedule):
    text = START + BARRIER.format(count=4) + END
    iss = loaded(text.replace("num_warps", "warp_mask"), schedule=schedule)
    outcome = iss.run()
    assert outcome.stop is Stop.DEADLOCK
    assert iss.warp(0, 0).waits == "barrier 1: 1 of 4 warps of core 0 have arrived"
    assert iss.warp(0, 0).active and not iss.warp(0, 1).active
    assert iss.step(0, 0) is None and iss.step(0, 1) is None


def test_a_deadlock_of_cores():
    text = f"csrr t0, core_id\nbeqz t0, out\n{BARRIER.format(count=1)}\nout: {END}"
    iss, outcome = ran(text, cores=3)
    assert outcome.stop is Stop.DEADLOCK
    assert iss.warp(2, 0).waits == "barrier 1: core 2 has arrived, core 0 not yet"


def test_a_deadlock_of_one_warp_of_each_core():
    text = "csrr t0, core_id\nbeqz t0, out\nli a0, 0x80000001\nli a1, 3\nvx_bar a0, a1\nout:" + END
    iss, outcome = ran(text, cores=3, barrier_scope="core")
    assert outcome.stop is Stop.DEADLOCK
    assert iss.warp(1, 0).waits == "barrier 1: 2 of 3 cores have arrived"


#: What goes wrong: cause, lanes, address, and words of the sentence.
FAULTS = {
    ".word 0xFFFFFFFF": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "no instruction is 0xffffffff"),
    ".word 0x1005202F": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "no atomic instructions"),
    ".word 0x0000007B": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "no such tensor instruction"),
    "fadd.s f1, f2, f3, 5": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "rounding mode 5 is reserved"),
    "csrr a0, 0x7C0": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "no control register 0x7c0"),
    "csrw mhartid, a0": (Cause.ILLEGAL_INSTRUCTION, 0xF, None, "0xf14 is read-only"),
    "vx_join s1": (Cause.STACK_UNDERFLOW, 0xF, None, "join without an open"),
    "jalr zero, 2(zero)": (Cause.MISALIGNED_JUMP, 0xF, 2, "0x00000002, which is no multiple of 4"),
    "jal zero, 6": (Cause.MISALIGNED_JUMP, 0xF, None, "no multiple of 4"),
    "jalr zero, 0(s3)": (Cause.DIVERGENT_BRANCH, 0b0111, 0, "jump elsewhere than lane 3"),
    "bnez s0, 8": (Cause.DIVERGENT_BRANCH, 0b0001, None, "branch otherwise than lane 3"),
    "lw a0, 0(zero)": (Cause.OUTSIDE_MEMORY, 0xF, 0, "load of 4 bytes at 0x00000000"),
    "lh a0, 1(s2)": (Cause.MISALIGNED_ACCESS, 0xF, SHARED_BASE + 1, "no multiple of 2"),
    "lb a0, 0(s4)": (Cause.OUTSIDE_MEMORY, 0xF, CONSOLE_BASE, "which only prints"),
    "sw a0, 0(s4)": (Cause.OUTSIDE_MEMORY, 0xF, CONSOLE_BASE, "takes single bytes"),
    "sb a0, 0(s5)": (Cause.OUTSIDE_MEMORY, 0xF, SHARED_BASE + 0x5000, "takes words"),
    "lw a0, 4(s5)": (Cause.DEVICE, 0b0010, SHARED_BASE + 0x5044, "no register at 0x1044"),
    "vx_bar s6, s1": (Cause.BAD_BARRIER, 0xF, None, "barrier 0x10 is not one of the 16"),
    "vx_bar s1, zero": (Cause.BAD_BARRIER, 0xF, None, "takes 1 to 4 of them, not 0"),
    "vx_wspawn s6, zero": (Cause.BAD_WSPAWN, 0xF, None, "a core has 4 warps, not 16"),
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
    assert iss.run(before).stop is Stop.LIMIT
    state = state_of(iss)
    outcome = iss.run()
    fault = outcome.fault
    assert (outcome.stop, outcome.instructions) == (Stop.FAULT, 0)
    assert (fault.cause, fault.lanes) == (cause, lanes)
    assert (fault.core, fault.warp, fault.pc) == (0, 0, program.labels["wrong"])
    assert fault.word == program[-1]
    assert address is None or fault.address == address
    assert words in fault.sentence and fault.sentence.startswith(cause.value)
    assert state_of(iss) == state
    assert iss.step(0, 0).fault == fault
    assert state_of(iss) == state
