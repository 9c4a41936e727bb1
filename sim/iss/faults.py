"""Faults of the instruction-set model: C++ number, cause and message of each."""

import enum

from ...base.native_interface import NativeStructure
from ...hw.isa.assembly import disassemble
from .outcome import Cause, Fault, Partner

__all__ = ["REASONS", "Reason", "fault_of", "lane_text", "numbers_text"]


class Reason(enum.Enum):
    """Reason of a fault: cause, and the middle part of its message.

    The message may contain the ``address`` and up to two numbers, ``first`` and ``second``, whose
    meaning depends on the reason. The position in this enum is the number in C++.
    """

    ILLEGAL = (Cause.ILLEGAL_INSTRUCTION, "0x{word:08x} is not an instruction")
    ATOMIC = (Cause.ILLEGAL_INSTRUCTION, "atomic instruction 0x{word:08x} is not supported")
    ROUNDING = (Cause.ILLEGAL_INSTRUCTION, "rounding mode {first} is reserved")
    UNKNOWN_CSR = (Cause.ILLEGAL_INSTRUCTION, "CSR {first:#x} does not exist")
    READ_ONLY_CSR = (Cause.ILLEGAL_INSTRUCTION, "CSR {first:#x} is read-only")
    TENSOR = (Cause.ILLEGAL_INSTRUCTION, "this core does not have this tensor instruction")
    EXCHANGE = (
        Cause.ILLEGAL_INSTRUCTION,
        "this core has no votes and shuffles: set core.warp_operations",
    )
    ACCUMULATOR = (
        Cause.ILLEGAL_INSTRUCTION,
        "the accumulator must be x0 to x{second}, not x{first}",
    )
    NOT_PLACED = (Cause.OUTSIDE_MEMORY, "instruction fetch outside the placed program")
    STACK_OVERFLOW = (
        Cause.STACK_OVERFLOW,
        "divergent split inside {first} open splits, the capacity of the stack",
    )
    STACK_UNDERFLOW = (Cause.STACK_UNDERFLOW, "join without an open divergent split")
    MISALIGNED_JUMP = (
        Cause.MISALIGNED_JUMP,
        "jump to 0x{address:08x}, which is not a multiple of 4",
    )
    LOAD_OUTSIDE = (
        Cause.OUTSIDE_MEMORY,
        "load of {first} bytes at 0x{address:08x}, an unmapped address",
    )
    STORE_OUTSIDE = (
        Cause.OUTSIDE_MEMORY,
        "store of {first} bytes at 0x{address:08x}, an unmapped address",
    )
    LOAD_NOT_PLACED = (
        Cause.OUTSIDE_MEMORY,
        "load of {first} bytes at 0x{address:08x}, outside all placed regions",
    )
    STORE_NOT_PLACED = (
        Cause.OUTSIDE_MEMORY,
        "store of {first} bytes at 0x{address:08x}, outside all placed regions",
    )
    CONSOLE_LOAD = (
        Cause.OUTSIDE_MEMORY,
        "load at 0x{address:08x}, the console, which is write-only",
    )
    CONSOLE_SIZE = (
        Cause.OUTSIDE_MEMORY,
        "store of {first} bytes at 0x{address:08x}, the console, which requires 1 byte",
    )
    REGISTER_SIZE = (
        Cause.OUTSIDE_MEMORY,
        "access of {first} bytes at 0x{address:08x}, a unit register, which requires 4 bytes",
    )
    ATOMIC_REGISTER = (
        Cause.OUTSIDE_MEMORY,
        "atomic access at 0x{address:08x}, a unit register, which has only loads and stores",
    )
    ATOMIC_CONSOLE = (
        Cause.OUTSIDE_MEMORY,
        "atomic access at 0x{address:08x}, the console, which has only stores",
    )
    ATOMIC_OUTSIDE = (
        Cause.OUTSIDE_MEMORY,
        "atomic access of {first} bytes at 0x{address:08x}, neither DRAM nor shared memory",
    )
    ATOMIC_NOT_PLACED = (
        Cause.OUTSIDE_MEMORY,
        "atomic access of {first} bytes at 0x{address:08x}, outside all placed regions",
    )
    MISALIGNED = (
        Cause.MISALIGNED_ACCESS,
        "access of {first} bytes at 0x{address:08x}, which is not a multiple of {first}",
    )
    OPERAND_OUTSIDE = (
        Cause.OUTSIDE_MEMORY,
        "operand of {first} bytes at 0x{address:08x}, not within shared memory",
    )
    OPERAND_MISALIGNED = (
        Cause.MISALIGNED_ACCESS,
        "operand at 0x{address:08x}, which is not a multiple of {first}",
    )
    OPERAND_SPLIT = (
        Cause.MISALIGNED_ACCESS,
        "operand at 0x{address:08x}, whose rows of {first} bytes cross a multiple of {second}",
    )
    STACK_EXCEEDED = (
        Cause.STACK_EXCEEDED,
        "stack pointer 0x{address:08x}, {first} bytes below the thread's stack of {second} bytes",
    )
    OPERAND_WRITTEN = (
        Cause.RACE,
        "store at 0x{address:08x}, an operand of the hgmma at 0x{first:08x}, which is not complete",
    )
    OPERAND_CHANGED = (
        Cause.RACE,
        "an operand of the hgmma at 0x{first:08x} was overwritten at 0x{address:08x} before this "
        "instruction",
    )
    ACCESS_RACE = (Cause.RACE, "{sentence}")
    NO_PRODUCT = (Cause.BAD_WAIT, "no hgmma of this warp since its last hgmma_wait")
    NO_UNITS = (Cause.ILLEGAL_INSTRUCTION, "this machine has no unit to wait for")
    NO_PROGRESS = (
        Cause.BAD_WAIT,
        "0x{address:08x} is not a register to wait for: running, loads_done, stores_done or "
        "computes_done of a unit",
    )
    INACTIVE_THREADS = (
        Cause.INACTIVE_THREADS,
        "a tensor instruction needs all {first} threads of its warp, and only these are active: "
        "move it out of the branch, or activate the others by vx_tmc",
    )
    DIVERGENT_BRANCH = (
        Cause.DIVERGENT_BRANCH,
        "these lanes disagree with lane {first}",
    )
    DIVERGENT_JUMP = (
        Cause.DIVERGENT_BRANCH,
        "these lanes jump to other targets than lane {first}, the lowest to 0x{address:08x}",
    )
    BARRIER_NUMBER = (
        Cause.BAD_BARRIER,
        "barrier {first:#x} does not exist: the machine has {second}",
    )
    BARRIER_COUNT = (Cause.BAD_BARRIER, "the barrier count must be 1 to {second}, not {first}")
    BARRIER_DISAGREES = (
        Cause.BAD_BARRIER,
        "the barrier count is {first} here, but {second} at earlier arrivals",
    )
    BARRIER_FULL = (
        Cause.BAD_BARRIER,
        "barrier {first:#x} already has all {second} arrivals of this core",
    )
    NO_TRANSACTION_BARRIERS = (
        Cause.ILLEGAL_INSTRUCTION,
        "this core has no transaction barriers: set core.transaction_barriers",
    )
    BARRIER_OUTSIDE = (
        Cause.OUTSIDE_MEMORY,
        "transaction barrier at 0x{address:08x}, not in the shared memory of the cluster",
    )
    NO_BARRIER = (
        Cause.BAD_BARRIER,
        "the 8 bytes at 0x{address:08x} are no transaction barrier: mbarrier.init makes one",
    )
    ARRIVAL_COUNT = (
        Cause.BAD_BARRIER,
        "the transaction barrier at 0x{address:08x} can have 1 to {second} arrivals, not {first}",
    )
    ARRIVAL_OVERFLOW = (
        Cause.BAD_BARRIER,
        "arrivals at the transaction barrier at 0x{address:08x}: {first}, and {second} are pending",
    )
    ARRIVAL_DROPS = (
        Cause.BAD_BARRIER,
        "the transaction barrier at 0x{address:08x} would expect no arrival after this drop of "
        "{first}",
    )
    TRANSACTION_BYTES = (
        Cause.BAD_BARRIER,
        "expected and completed bytes of the transaction barrier at 0x{address:08x} would differ "
        "by more than {second} after {first} more",
    )
    PHASE_PARITY = (
        Cause.BAD_BARRIER,
        "the parity of a phase must be 0 or 1, not {first}",
    )
    WSPAWN_COUNT = (Cause.BAD_WSPAWN, "the warp count must be at most {second}, not {first}")
    DEVICE = (Cause.DEVICE, "{sentence}")

    def __init__(self, cause: Cause, middle: str):
        self.cause = cause
        self.middle = middle


REASONS = tuple(Reason)


def numbers_text(noun: str, mask: int) -> str:
    """Return the numbers in a mask as text, ``core 3`` or ``cores 0-3, 7``."""
    numbers = [number for number in range(32) if mask >> number & 1]
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
    return f"{noun}{'' if len(numbers) == 1 else 's'} {text or 'none'}"


def lane_text(mask: int) -> str:
    """Return the lanes in a mask as text, ``lane 3`` or ``lanes 0-3, 7``."""
    return numbers_text("lane", mask)


def fault_of(native: NativeStructure, said: str, partner: Partner | None = None) -> Fault:
    """Return a fault from its C++ structure; `said` is the message of a unit or of a race."""
    reason = REASONS[native.reason]
    middle = reason.middle.format(
        word=native.word,
        address=native.address,
        first=native.first,
        second=native.second,
        sentence=said,
    )
    what = f": {disassemble(native.word)}" if native.word else ""
    place = f"core {native.core}, warp {native.warp}, {lane_text(native.lanes)}"
    return Fault(
        cause=reason.cause,
        core=native.core,
        warp=native.warp,
        pc=native.pc,
        word=native.word,
        lanes=native.lanes,
        address=native.address if native.has_address else None,
        sentence=f"{reason.cause.value}: {middle} ({place}, pc 0x{native.pc:08x}{what})",
        partner=partner,
    )
