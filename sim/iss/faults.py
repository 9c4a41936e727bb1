"""Every fault of the instruction-set model: its number in C++, its cause, its sentence."""

import enum

from ...hw.isa.assembly import disassemble
from .native_types import NativeFault
from .outcome import Cause, Fault

__all__ = ["REASONS", "Reason", "fault_of", "lane_text", "numbers_text"]


class Reason(enum.Enum):
    """What exactly went wrong: cause, and the sentence's middle.

    The sentence may name the ``address``, and up to two numbers, ``first`` and ``second``, whose
    meaning is the reason's own. Its place here is its number in C++.
    """

    ILLEGAL = (Cause.ILLEGAL_INSTRUCTION, "no instruction is 0x{word:08x}")
    ATOMIC = (Cause.ILLEGAL_INSTRUCTION, "cores have no atomic instructions such as 0x{word:08x}")
    ROUNDING = (Cause.ILLEGAL_INSTRUCTION, "rounding mode {first} is reserved")
    UNKNOWN_CSR = (Cause.ILLEGAL_INSTRUCTION, "there is no control register {first:#x}")
    READ_ONLY_CSR = (Cause.ILLEGAL_INSTRUCTION, "control register {first:#x} is read-only")
    TENSOR = (Cause.ILLEGAL_INSTRUCTION, "this core has no such tensor instruction")
    ACCUMULATOR = (
        Cause.ILLEGAL_INSTRUCTION,
        "accumulators are chosen by x0 or x1, not x{first}",
    )
    NOT_PLACED = (Cause.OUTSIDE_MEMORY, "instruction fetch where no program was placed")
    STACK_OVERFLOW = (
        Cause.STACK_OVERFLOW,
        "divergent split inside {first} others, which is all the stack holds",
    )
    STACK_UNDERFLOW = (Cause.STACK_UNDERFLOW, "join without an open divergent split")
    MISALIGNED_JUMP = (
        Cause.MISALIGNED_JUMP,
        "jump to 0x{address:08x}, which is no multiple of 4",
    )
    LOAD_OUTSIDE = (
        Cause.OUTSIDE_MEMORY,
        "load of {first} bytes at 0x{address:08x}, where no memory is",
    )
    STORE_OUTSIDE = (
        Cause.OUTSIDE_MEMORY,
        "store of {first} bytes at 0x{address:08x}, where no memory is",
    )
    LOAD_NOT_PLACED = (
        Cause.OUTSIDE_MEMORY,
        "load of {first} bytes at 0x{address:08x}, outside everything that was placed",
    )
    STORE_NOT_PLACED = (
        Cause.OUTSIDE_MEMORY,
        "store of {first} bytes at 0x{address:08x}, outside everything that was placed",
    )
    CONSOLE_LOAD = (Cause.OUTSIDE_MEMORY, "load at 0x{address:08x}, the console, which only prints")
    CONSOLE_SIZE = (
        Cause.OUTSIDE_MEMORY,
        "store of {first} bytes at 0x{address:08x}, the console, which takes single bytes",
    )
    REGISTER_SIZE = (
        Cause.OUTSIDE_MEMORY,
        "access of {first} bytes at 0x{address:08x}, a device's register, which takes words",
    )
    MISALIGNED = (
        Cause.MISALIGNED_ACCESS,
        "access of {first} bytes at 0x{address:08x}, which is no multiple of {first}",
    )
    OPERAND_OUTSIDE = (
        Cause.OUTSIDE_MEMORY,
        "operand of {first} bytes at 0x{address:08x}, not within shared memory",
    )
    OPERAND_MISALIGNED = (
        Cause.MISALIGNED_ACCESS,
        "operand at 0x{address:08x}, which is no multiple of 4",
    )
    DIVERGENT_BRANCH = (
        Cause.DIVERGENT_BRANCH,
        "these lanes branch otherwise than lane {first}: use vx_split and vx_join",
    )
    DIVERGENT_JUMP = (
        Cause.DIVERGENT_BRANCH,
        "these lanes jump elsewhere than lane {first}, to 0x{address:08x} and others",
    )
    BARRIER_NUMBER = (Cause.BAD_BARRIER, "barrier {first:#x} is not one of the {second} there are")
    BARRIER_COUNT = (Cause.BAD_BARRIER, "a barrier takes 1 to {second} of them, not {first}")
    BARRIER_DISAGREES = (
        Cause.BAD_BARRIER,
        "this barrier is for {first} here, for {second} where others wait at it",
    )
    BARRIER_FULL = (
        Cause.BAD_BARRIER,
        "all {second} of this core that barrier {first:#x} is for have arrived before",
    )
    WSPAWN_COUNT = (Cause.BAD_WSPAWN, "a core has {second} warps, not {first}")
    DEVICE = (Cause.DEVICE, "{sentence}")

    def __init__(self, cause: Cause, middle: str):
        self.cause = cause
        self.middle = middle


REASONS = tuple(Reason)


def numbers_text(noun: str, mask: int) -> str:
    """Return what a mask names, ``core 3`` or ``cores 0-3, 7``."""
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
    """Return the lanes of a mask, ``lane 3`` or ``lanes 0-3, 7``."""
    return numbers_text("lane", mask)


def fault_of(native: NativeFault, said: str) -> Fault:
    """Return a fault as C++ tells it, with its whole sentence; `said` is what a device said."""
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
    )
