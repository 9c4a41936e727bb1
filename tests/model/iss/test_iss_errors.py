"""Tests of program errors: each is reported with its location and changes no state."""

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.isa.assembly import INTEGER_NAMES, disassemble
from spica.hw.isa.csr import CSRS
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import CONSOLE_BASE, DMA_BASE, ENTRY, SHARED_BASE, STACK_TOP
from spica.hw.isa.program import assemble_program
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import give, machine
from support.iss_state import DATA, state_of

A0, A1, A2 = map(INTEGER_NAMES.index, ("a0", "a1", "a2"))
CORE, WARP = 1, 2
ILLEGAL = Cause.ILLEGAL_INSTRUCTION


def placed(text, values=None, *, mask=0b0110, steps=0, **config):
    """Return a model with one warp before the last instruction of `text`."""
    iss = machine(text, cores=2, **config)
    for core in range(2):
        iss.set_warp(core, 0, mask=0)
    iss.write(DATA, np.arange(4096, dtype=np.uint32).astype(np.uint8))
    # Registers of the text without a given value are 0, so addresses must be given.
    give(iss, {A0: 0, A1: 0, A2: 0, **(values or {})}, core=CORE, warp=WARP, mask=mask)
    for _ in range(steps):
        assert iss.step(CORE, WARP).fault is None
    return iss


def fault_of(iss, cause, *, lanes=0b0110, address=None, says=""):
    """Return the fault of the next instruction, after checks that `step` and `run` agree."""
    before = state_of(iss)
    pc = iss.warp(CORE, WARP).pc
    retired = iss.step(CORE, WARP)
    fault = retired.fault
    assert state_of(iss) == before
    assert fault is not None
    assert (fault.cause, fault.core, fault.warp, fault.pc) == (cause, CORE, WARP, pc)
    assert (fault.lanes, fault.address) == (lanes, address)
    assert (retired.pc, retired.word, retired.rd) == (pc, fault.word, None)
    names = [str(lane) for lane in range(32) if lanes >> lane & 1]
    parts = [cause.value, f"core {CORE}", f"warp {WARP}", f"0x{pc:08x}", says]
    parts += [disassemble(fault.word)] if fault.word else []
    # Messages of registers have their offset.
    has_address = address is not None and cause is not Cause.DEVICE
    parts += [f"0x{address:08x}"] if has_address else []
    parts += [f"lane {names[0]}" if len(names) == 1 else f"lanes {names[0]}"]
    assert fault.sentence.startswith(cause.value)
    for part in parts:
        assert part in fault.sentence, fault.sentence
    outcome = iss.run(10)
    assert (outcome.stop, outcome.instructions, outcome.fault) == (StopReason.FAULT, 0, fault)
    assert state_of(iss) == before
    return fault


# Illegal instructions


@pytest.mark.parametrize(
    ("word", "says"),
    [
        (0x0000_0000, "0x00000000"),
        (0xFFFF_FFFF, "0xffffffff is not an instruction"),
        (0x0000_0001, "0x00000001"),  # compressed
        (0x4000_1033, "0x40001033"),  # sll with the bit of sub
        (0x0000_3003, "0x00003003"),  # a load of 64 bits
        (0x0200_0053, "0x02000053"),  # fadd.d
        (0x1020_0073, "0x10200073"),  # sret
        (0x0000_600B, "0x0000600b"),  # warp instruction 6
        (0x8000_600B, "0x8000600b"),  # special function 6
        (0x1005_22AF, "0x100522af is not supported"),  # lr.w
        (0x18B5_22AF, "atomic"),  # sc.w
        (0x00B5_22AF, "atomic"),  # amoadd.w
    ],
)
def test_words_that_are_no_instruction(word, says):
    fault = fault_of(placed(f".word {word}"), ILLEGAL, says=says)
    assert fault.word == word


ROUNDING = [name for name, instruction in INSTRUCTIONS.items() if "rm" in instruction.operands]


def operands_of(name, mode):
    kinds = {"rd": "a2", "fd": "f1", "rs1": "a0", "fs1": "f2", "fs2": "f3", "fs3": "f4", "rm": mode}
    return ", ".join(kinds[operand] for operand in INSTRUCTIONS[name].operands)


@pytest.mark.parametrize("name", ROUNDING)
@pytest.mark.parametrize("mode", ["5", "6"])
def test_reserved_rounding_modes(name, mode):
    says = f"rounding mode {mode} is reserved"
    fault_of(placed(f"{name} {operands_of(name, mode)}"), ILLEGAL, says=says)


@pytest.mark.parametrize("name", ROUNDING)
@pytest.mark.parametrize("mode", [5, 6, 7])
def test_reserved_dynamic_rounding_modes(name, mode):
    iss = placed(f"{name} {operands_of(name, 'dyn')}")
    iss.set_warp(CORE, WARP, frm=mode)
    fault_of(iss, ILLEGAL, says=f"rounding mode {mode}")


@pytest.mark.parametrize("line", ["fmin.s f1, f2, f3", "fadd.s f1, f2, f3, rtz", "fmv.x.w a0, f1"])
def test_a_reserved_dynamic_mode_that_is_not_used_is_none(line):
    iss = placed(line)
    iss.set_warp(CORE, WARP, frm=5)
    assert iss.step(CORE, WARP).fault is None


@pytest.mark.parametrize("name", ["csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"])
def test_control_registers_that_do_not_exist(name):
    operand = "0" if name.endswith("i") else "zero"
    fault_of(placed(f"{name} a2, 0x7ff, {operand}"), ILLEGAL, says="CSR 0x7ff does not exist")


@pytest.mark.parametrize("register", ["mhartid", "num_warps", "thread_mask", "minstret", "misa"])
@pytest.mark.parametrize("access", ["csrrw {}, a0", "csrrs {}, a0", "csrrc {}, a0", "csrrwi {}, 0"])
def test_control_registers_that_are_read_only(register, access):
    """Setting no bits is also a write if the operand is a register other than x0."""
    line = access.format(f"a2, {register}")
    fault_of(placed(line), ILLEGAL, says=f"{CSRS[register].number:#x} is read-only")
    assert placed(f"csrrs a2, {register}, zero").step(CORE, WARP).fault is None
    assert placed(f"csrrci a2, {register}, 0").step(CORE, WARP).fault is None


LACKS = "this core does not have this tensor instruction"


@pytest.mark.parametrize(
    ("line", "tensor", "says"),
    [
        ("hmma x0", None, LACKS),
        ("hgmma a0, a1", None, LACKS),
        ("hgmma_wait", None, LACKS),
        # A core with `hmma` reads the fields of `hgmma` as an accumulator.
        ("hgmma a0, a1", RegisterFedConfig(), ""),
        ("hgmma_wait", RegisterFedConfig(), LACKS),
        ("hmma x2", RegisterFedConfig(), "the accumulator must be x0 to x1, not x2"),
        ("hmma x31", RegisterFedConfig(), "the accumulator must be x0 to x1, not x31"),
        ("hmma x1", SharedFedConfig(), LACKS),
    ],
)
def test_tensor_instructions_the_core_has_not(line, tensor, says):
    fault_of(placed(line, threads=8, tensor=tensor), ILLEGAL, says=says)


def test_wrong_accumulator_of_warps_of_32_threads():
    says = "the accumulator must be x0 to x3, not x4"
    fault_of(placed("hmma x4", threads=32, tensor=RegisterFedConfig()), ILLEGAL, says=says)


@pytest.mark.parametrize(
    ("place", "cause"),
    [
        (SHARED_BASE + 2, Cause.MISALIGNED_ACCESS),
        (SHARED_BASE + 16, Cause.MISALIGNED_ACCESS),
        (DATA, Cause.OUTSIDE_MEMORY),
        (SHARED_BASE + 16 * 1024 - 1020, Cause.OUTSIDE_MEMORY),
    ],
)
@pytest.mark.parametrize("wrong", [A0, A1])
def test_operands_of_hgmma_lie_in_shared_memory(place, cause, wrong):
    values = {A0: SHARED_BASE, A1: SHARED_BASE, wrong: place}
    iss = placed("hgmma a0, a1", values, mask=0xFF, threads=8, tensor=SharedFedConfig())
    # The values are those of the last lane.
    fault_of(iss, cause, address=place, lanes=0x80)


def test_wait_without_a_product():
    iss = placed("hgmma_wait", mask=0xFF, threads=8, tensor=SharedFedConfig())
    says = "no hgmma of this warp since its last hgmma_wait"
    fault_of(iss, Cause.BAD_WAIT, lanes=0xFF, says=says)


# Stacks of threads

SP = INTEGER_NAMES.index("sp")


def stack_end(lane: int) -> int:
    """Return the lower end of the stack of a lane of warp `WARP` of core `CORE`."""
    hart = ((CORE << 2 | WARP) << 2) + lane
    return STACK_TOP - (hart + 1) * 256


@pytest.mark.parametrize("text", ["sw a0, 4(sp)", "lbu a0, 4(sp)", "fsw f1, 8(sp)"])
def test_a_stack_that_grows_into_the_next_one(text):
    places = [stack_end(lane) + 16 for lane in range(4)]
    places[2] -= 48
    iss = placed(text, {SP: places}, warps=4, threads=4)
    iss.limit_stacks(STACK_TOP, 256)
    says = "32 bytes below the thread's stack of 256 bytes"
    fault_of(iss, Cause.STACK_EXCEEDED, lanes=0b0100, address=places[2], says=says)


@pytest.mark.parametrize(
    "places",
    [
        [stack_end(lane) for lane in range(4)],
        [STACK_TOP - 8192 - 64] * 4,  # a stack of the program's own
    ],
)
def test_stack_pointers_within_their_stacks_or_elsewhere(places):
    iss = placed("sw a0, 4(sp)", {SP: places}, warps=4, threads=4)
    iss.limit_stacks(STACK_TOP, 256)
    assert iss.step(CORE, WARP).fault is None


def test_stacks_without_a_limit():
    iss = placed("sw a0, 4(sp)", {SP: stack_end(1) - 64}, warps=4, threads=4)
    assert iss.step(CORE, WARP).fault is None


# Divergence stack


@pytest.mark.parametrize("threads", [2, 4, 32])
def test_stack_overflow(threads):
    # After each split all lanes are activated again, which no program should do.
    text = "vx_split a2, a0, x0\nvx_tmc a1\n" * (threads - 1) + "vx_split a2, a0, x0"
    full = (1 << threads) - 1
    values = {A0: [lane & 1 for lane in range(threads)], A1: -1}
    iss = placed(text, values, mask=full, threads=threads, steps=2 * (threads - 1))
    assert len(iss.warp(CORE, WARP).stack) == threads - 1
    fault_of(iss, Cause.STACK_OVERFLOW, lanes=full, says=f"{threads - 1}")


def test_one_lane_never_diverges():
    iss = placed("vx_split a2, a0, x0", {A0: 1}, threads=1, mask=1)
    assert iss.step(CORE, WARP).fault is None


def test_stack_underflow():
    fault_of(
        placed("vx_join a0", {A0: [0, 0, 1, 0]}), Cause.STACK_UNDERFLOW, says="join without an open"
    )
    assert placed("vx_join a0", {A0: [1, 1, 0, 1]}).step(CORE, WARP).fault is None


# Branches


@pytest.mark.parametrize(
    ("line", "values", "target"),
    [
        ("jal ra, 6", {}, ENTRY + 6),
        ("beq a0, a1, -2", {}, ENTRY - 2),
        ("bge a0, a1, 10", {}, ENTRY + 10),
        ("jalr ra, 2(a0)", {A0: ENTRY + 8}, ENTRY + 10),
        ("jalr ra, 0(a0)", {A0: ENTRY + 7}, ENTRY + 6),
    ],
)
@pytest.mark.parametrize("rule", ["error", "vortex"])
def test_misaligned_jump(line, values, target, rule):
    iss = placed(line, values, divergent_branch=rule)
    fault_of(iss, Cause.MISALIGNED_JUMP, address=target, says="which is not a multiple of 4")


def test_a_misaligned_branch_that_is_not_taken_is_none():
    assert placed("bne a0, a1, 6").step(CORE, WARP).fault is None


@pytest.mark.parametrize(
    ("line", "a0", "mask", "others"),
    [
        # The last active lane branches, and these do not; or the other way round.
        ("beq a0, a1, 8", [0, 1, 0, 1], 0b0111, 0b0010),
        ("beq a0, a1, 8", [1, 1, 0, 0], 0b1111, 0b0011),
        ("bne a0, a1, 8", [1, 1, 1, 0], 0b1111, 0b0111),
        ("bltu a1, a0, 8", [0, 1, 0, 0], 0b0110, 0b0010),
    ],
)
def test_divergent_branch(line, a0, mask, others):
    iss = placed(line, {A0: a0}, mask=mask)
    last = mask.bit_length() - 1
    fault_of(iss, Cause.DIVERGENT_BRANCH, lanes=others, says=f"disagree with lane {last}")
    # Vortex follows the last active lane.
    iss = placed(line, {A0: a0}, mask=mask, divergent_branch="vortex")
    assert iss.step(CORE, WARP).fault is None
    is_taken = {"beq": a0[last] == 0, "bne": a0[last] != 0, "bltu": a0[last] > 0}
    next_pc = ENTRY + (8 if is_taken[line.split()[0]] else 4)
    assert (iss.warp(CORE, WARP).pc, iss.warp(CORE, WARP).mask) == (next_pc, mask)


def test_divergent_jump():
    targets = [ENTRY, ENTRY + 32, ENTRY + 16, ENTRY + 8]
    iss = placed("jalr ra, 4(a0)", {A0: targets}, mask=0b1110)
    fault_of(
        iss,
        Cause.DIVERGENT_BRANCH,
        lanes=0b0110,
        address=ENTRY + 36,
        says="other targets than lane 3",
    )
    iss = placed("jalr ra, 4(a0)", {A0: targets}, mask=0b1110, divergent_branch="vortex")
    assert iss.step(CORE, WARP).fault is None
    assert iss.warp(CORE, WARP).pc == ENTRY + 12


# Memory

ACCESSES = ("lb", "lh", "lw", "lbu", "lhu", "flw", "sb", "sh", "sw", "fsw")


def matrix_style_of(name):
    """Return the name of an access, and its size in bytes."""
    size = {"b": 1, "h": 2, "w": 4}[name.removesuffix("u")[-1]]
    return f"{'store' if 's' in name[:2] else 'load'} of {size} bytes"


def access_line(name):
    return f"{name} {'f' if name[0] == 'f' else 'x'}12, 0(a0)"


@pytest.mark.parametrize("name", ACCESSES)
@pytest.mark.parametrize(
    "place",
    [0, 0x7FFF_FFFC, SHARED_BASE + 0x7FFFC, CONSOLE_BASE + 0x4_0000, 0xFFFF_FFFC],
)
def test_access_outside_memory(name, place):
    iss = placed(access_line(name), {A0: [DATA, place, DATA + 4, place]}, mask=0b1111)
    fault_of(
        iss,
        Cause.OUTSIDE_MEMORY,
        lanes=0b1010,
        address=place,
        says=f"{matrix_style_of(name)} at 0x{place:08x}",
    )


HALVES = [(name, 1) for name in ACCESSES if "h" in name]
WORDS = [(name, off) for name in ACCESSES if "w" in name for off in (1, 2, 3)]


@pytest.mark.parametrize(("name", "off"), [*HALVES, *WORDS])
def test_misaligned_access(name, off):
    iss = placed(access_line(name), {A0: [3, DATA + off, DATA + 4, DATA + 64 + off]}, mask=0b1110)
    says = f"not a multiple of {2 if 'h' in name else 4}"
    fault_of(iss, Cause.MISALIGNED_ACCESS, lanes=0b1010, address=DATA + off, says=says)


@pytest.mark.parametrize("name", ACCESSES)
def test_access_outside_everything_that_was_placed(name):
    where = [DATA, DATA + 64, DATA + 60, DATA - 4]
    iss = placed(access_line(name), {A0: where}, mask=0b1111)
    iss.allow(ENTRY, 64)
    iss.allow(DATA, 64)
    says = "outside all placed regions"
    fault_of(iss, Cause.OUTSIDE_MEMORY, lanes=0b1010, address=DATA + 64, says=says)
    iss = placed(access_line(name), {A0: where}, mask=0b0101)
    iss.allow(ENTRY, 64)
    iss.allow(DATA, 64)
    assert iss.step(CORE, WARP).fault is None


def test_an_access_is_placed_with_all_its_bytes():
    for line, is_placed in (("lh a2, 4(a0)", True), ("lw a2, 4(a0)", False)):
        iss = placed(line, {A0: DATA})
        iss.allow(ENTRY, 64)
        iss.allow(DATA, 6)
        if is_placed:
            assert iss.step(CORE, WARP).fault is None
        else:
            fault_of(iss, Cause.OUTSIDE_MEMORY, address=DATA + 4)
    # The last access was to the same region, which must not matter.
    iss = placed("loop: lw a2, 0(a0)\naddi a0, a0, 4\nj loop", {A0: DATA})
    iss.allow(ENTRY, 64)
    iss.allow(DATA, 10)
    for _ in range(6):
        assert iss.step(CORE, WARP).fault is None
    fault_of(iss, Cause.OUTSIDE_MEMORY, address=DATA + 8)


def test_the_console_takes_bytes_only():
    for line in ("sh a1, 0(a0)", "sw a1, 0(a0)", "lb a2, 0(a0)", "lw a2, 0(a0)"):
        iss = placed(line, {A0: [0, CONSOLE_BASE, DATA, 0]})
        says = "console, which is write-only" if line[0] == "l" else "requires 1 byte"
        fault_of(iss, Cause.OUTSIDE_MEMORY, lanes=0b0010, address=CONSOLE_BASE, says=says)


def test_registers_of_units_take_words_that_exist():
    first = SHARED_BASE + 0x4000 + DMA_BASE
    iss = placed("sb a1, 0(a0)", {A0: first})
    fault_of(iss, Cause.OUTSIDE_MEMORY, address=first, says="requires 4 bytes")
    iss = placed("lw a1, 4(a0)", {A0: [0, first, first + 64, 0]})
    says = "no register at 0x1044"
    fault_of(iss, Cause.DEVICE, lanes=0b0100, address=first + 68, says=says)


@pytest.mark.parametrize("place", [0x9000_0000, SHARED_BASE, 0x0000_1000])
def test_instructions_are_fetched_from_what_was_placed(place):
    iss = placed("jalr x0, 0(a0)", {A0: place}, steps=1)
    assert iss.warp(CORE, WARP).pc == place
    says = "instruction fetch outside the placed program"
    fault = fault_of(iss, Cause.OUTSIDE_MEMORY, address=place, says=says)
    assert fault.word == 0


def test_running_off_the_end_of_what_was_placed():
    iss = placed("nop\nnop", steps=0)
    iss.allow(ENTRY, 8)
    outcome = iss.run()
    assert (outcome.stop, outcome.instructions) == (StopReason.FAULT, 2)
    assert (outcome.fault.cause, outcome.fault.pc) == (Cause.OUTSIDE_MEMORY, ENTRY + 8)


# Warps and barriers


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("count", [5, 32, 0xFFFF_FFFF])
def test_bad_wspawn(count, schedule):
    values = {A0: [1, 1, count, 1], A1: ENTRY}
    iss = placed("vx_wspawn a0, a1", values, schedule=schedule)
    fault_of(iss, Cause.BAD_WSPAWN, says=f"must be at most 4, not {count}")


def test_wspawn_to_where_no_instruction_can_be():
    iss = placed("vx_wspawn a0, a1", {A0: 2, A1: ENTRY + 2})
    fault_of(iss, Cause.MISALIGNED_JUMP, address=ENTRY + 2)


@pytest.mark.parametrize(
    ("number", "count", "scope"),
    [
        (16, 1, "cluster"),  # of 16
        (0xFFFF_FFFF, 1, "cluster"),
        (1 << 31, 1, "cluster"),  # bit 31 has a meaning in the other scope only
        (3, 0, "cluster"),
        (3, 5, "cluster"),
        (16, 1, "core"),
        (1 << 31 | 16, 1, "core"),
        (3, 0, "core"),
        (3, 5, "core"),
        (1 << 31 | 3, 0, "core"),
        (1 << 31 | 3, 3, "core"),  # of two cores
    ],
)
def test_bad_barrier(number, count, scope):
    values = {A0: [1, 1, number, 1], A1: [1, 1, count, 1]}
    says = f"barrier {number:#x} does not exist" if number != 3 and count == 1 else f"not {count}"
    fault_of(placed("vx_bar a0, a1", values, barrier_scope=scope), Cause.BAD_BARRIER, says=says)


@pytest.mark.parametrize("scope", ["cluster", "core"])
def test_warps_of_a_core_disagree_about_a_barrier(scope):
    iss = placed("vx_bar a0, a1", {A0: 3, A1: 3}, barrier_scope=scope)
    give(iss, {A0: 3, A1: 2}, core=CORE, warp=0)
    assert iss.step(CORE, 0).fault is None
    fault_of(iss, Cause.BAD_BARRIER, says="is 3 here, but 2 at earlier arrivals")


def test_more_warps_than_a_barrier_is_for():
    """Both warps of core 1 have arrived and wait for core 0 when a third one arrives."""
    iss = placed("vx_bar a0, a1", {A0: 3, A1: 2})
    for warp in (0, 1):
        give(iss, {A0: 3, A1: 2}, core=CORE, warp=warp)
        assert iss.step(CORE, warp).fault is None
    fault_of(iss, Cause.BAD_BARRIER)


# Runs that do not end


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
def test_deadlock(schedule):
    """One warp waits for another that has ended, on one core of two."""
    iss = placed("vx_bar a0, a1\nvx_tmc x0", {A0: 3, A1: 2}, schedule=schedule)
    outcome = iss.run()
    assert (outcome.stop, outcome.instructions, outcome.fault) == (StopReason.DEADLOCK, 1, None)
    assert iss.warp(CORE, WARP).waits == "barrier 3: 1 of 2 warps of core 1 have arrived"
    # The missing warp releases both.
    give(iss, {A0: 3, A1: 2}, core=CORE, warp=0)
    give(iss, {A0: 3, A1: 1}, core=0, warp=0)
    assert iss.run().stop is StopReason.DONE


@pytest.mark.parametrize("limit", [1, 2, 999, 1000])
def test_limit(limit):
    iss = machine("loop: addi a0, a0, 1\nj loop")
    for runs in (1, 2):
        outcome = iss.run(limit)
        assert (outcome.stop, outcome.instructions) == (StopReason.LIMIT, limit)
        assert int(iss.warp(0, 0).integers[A0, 0]) == (runs * limit + 1) // 2
    assert iss.run(0).instructions == 0
    with pytest.raises(UserError, match="limit must not be negative, not -1"):
        iss.run(-1)


def test_the_other_warps_stand_where_they_were_when_one_faults():
    """In round robin, both warps execute equally many instructions before the fault."""
    text = "csrr a0, warp_id\nbeqz a0, fine\n.word 0\nfine: nop\nspin: j spin"
    iss = machine(text)
    for warp in range(2):
        give(iss, {}, warp=warp, mask=1)
    outcome = iss.run(100)
    assert (outcome.stop, outcome.fault.warp) == (StopReason.FAULT, 1)
    assert outcome.instructions == 5
    assert [pc for pc, _, _ in iss.history(0, 1)] == [ENTRY, ENTRY + 4]
    assert assemble_program(text).labels["fine"] == iss.warp(0, 0).pc - 4
