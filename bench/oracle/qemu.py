"""QEMU's soft-float, through unicorn: the 32-bit floating-point instructions of RISC-V.

QEMU predates the standard in force and deviates from it in two cases. `qemu` corrects both;
``raw=True`` returns QEMU's own results.

- If exactly one operand of ``fmin.s`` or ``fmax.s`` is a NaN, and a signalling one, QEMU returns
  NaN, as IEEE 754-2008's minNum does; RISC-V F 2.2 returns the other operand.
- For infinity times zero plus a quiet NaN the fused instructions do not raise invalid; RISC-V
  requires it ("must set the invalid operation exception flag ... even when the addend is a quiet
  NaN").
"""

import functools
from collections.abc import Sequence

import numpy as np

from spica.hw.arith.float.rounding import FLAGS as FLAG_BITS
from spica.hw.arith.float.rounding import Rounding

from . import require

__all__ = ["OPERATIONS", "qemu"]

CODE, DATA = 0x1000, 0x10_0000
CHUNK = 1 << 20
FCSR = 0x003
DYNAMIC = 7
STATUS_FLOAT_ON = 0x6000
# Integer registers: three operands, modes, results, flags (one behind), elements left, scratch.
A, B, C, MODES, RESULTS, FLAGS, LEFT, WORK = range(10, 18)
FLOAT, INTEGER = "f", "x"


def arithmetic(funct5: int, funct3: int = DYNAMIC, rs2: int | None = None) -> tuple[int, int]:
    """Return an instruction of opcode OP-FP, and its mask of operand registers."""
    second = 2 if rs2 is None else rs2
    return funct5 << 27 | second << 20 | 1 << 15 | funct3 << 12 | 0x53, 2 if rs2 is None else 1


def fused(opcode: int) -> tuple[int, int]:
    """Return a fused multiply-add of three operands."""
    return 3 << 27 | 2 << 20 | 1 << 15 | DYNAMIC << 12 | opcode, 3


#: Instruction word without destination, number of operands, kinds of source and result.
OPERATIONS: dict[str, tuple[tuple[int, int], str, str]] = {
    "fmadd.s": (fused(0x43), FLOAT, FLOAT),
    "fmsub.s": (fused(0x47), FLOAT, FLOAT),
    "fnmsub.s": (fused(0x4B), FLOAT, FLOAT),
    "fnmadd.s": (fused(0x4F), FLOAT, FLOAT),
    "fadd.s": (arithmetic(0x00), FLOAT, FLOAT),
    "fsub.s": (arithmetic(0x01), FLOAT, FLOAT),
    "fmul.s": (arithmetic(0x02), FLOAT, FLOAT),
    "fdiv.s": (arithmetic(0x03), FLOAT, FLOAT),
    "fsqrt.s": (arithmetic(0x0B, rs2=0), FLOAT, FLOAT),
    "fsgnj.s": (arithmetic(0x04, 0), FLOAT, FLOAT),
    "fsgnjn.s": (arithmetic(0x04, 1), FLOAT, FLOAT),
    "fsgnjx.s": (arithmetic(0x04, 2), FLOAT, FLOAT),
    "fmin.s": (arithmetic(0x05, 0), FLOAT, FLOAT),
    "fmax.s": (arithmetic(0x05, 1), FLOAT, FLOAT),
    "fle.s": (arithmetic(0x14, 0), FLOAT, INTEGER),
    "flt.s": (arithmetic(0x14, 1), FLOAT, INTEGER),
    "feq.s": (arithmetic(0x14, 2), FLOAT, INTEGER),
    "fclass.s": (arithmetic(0x1C, 1, rs2=0), FLOAT, INTEGER),
    "fcvt.w.s": (arithmetic(0x18, rs2=0), FLOAT, INTEGER),
    "fcvt.wu.s": (arithmetic(0x18, rs2=1), FLOAT, INTEGER),
    "fcvt.s.w": (arithmetic(0x1A, rs2=0), INTEGER, FLOAT),
    "fcvt.s.wu": (arithmetic(0x1A, rs2=1), INTEGER, FLOAT),
}


def load(kind: str, register: int, base: int) -> int:
    """Return ``flw`` or ``lw`` of the word at `base`."""
    return base << 15 | 2 << 12 | register << 7 | (0x07 if kind == FLOAT else 0x03)


def store(kind: str, register: int, base: int, offset: int = 0) -> int:
    """Return ``fsw`` or ``sw`` to the word at `base` + `offset`."""
    high, low = offset >> 5 & 0x7F, offset & 0x1F
    opcode = 0x27 if kind == FLOAT else 0x23
    return high << 25 | register << 20 | base << 15 | 2 << 12 | low << 7 | opcode


def add_immediate(register: int, value: int) -> int:
    """Return ``addi register, register, value``."""
    return (value & 0xFFF) << 20 | register << 15 | register << 7 | 0x13


def swap_status(target: int, source: int) -> int:
    """Return ``csrrw target, fcsr, source``: rounding mode and flags together."""
    return FCSR << 20 | source << 15 | 1 << 12 | target << 7 | 0x73


def branch_if_not_zero(register: int, offset: int) -> int:
    """Return ``bne register, x0, offset``."""
    upper = (offset >> 12 & 1) << 31 | (offset >> 5 & 0x3F) << 25
    lower = (offset >> 1 & 0xF) << 8 | (offset >> 11 & 1) << 7
    return upper | register << 15 | 1 << 12 | lower | 0x63


@functools.cache
def program(operation: str) -> bytes:
    """Return the loop over the arrays; its one ``fcsr`` access returns the previous flags."""
    (word, operands), source, target = OPERATIONS[operation]
    pointers = (*range(A, A + operands), MODES, RESULTS, FLAGS)
    body = [
        *(load(source, 1 + k, A + k) for k in range(operands)),
        load(INTEGER, WORK, MODES),
        swap_status(WORK, WORK),
        store(INTEGER, WORK, FLAGS, -4),
        word | 4 << 7,
        store(target, 4, RESULTS),
        *(add_immediate(pointer, 4) for pointer in pointers),
        add_immediate(LEFT, -1),
    ]
    # The flags of the last element are read after the loop.
    tail = [swap_status(WORK, 0), store(INTEGER, WORK, FLAGS, -4)]
    words = [*body, branch_if_not_zero(LEFT, -4 * len(body)), *tail]
    return np.array(words, np.uint32).tobytes()


def qemu(
    operation: str,
    *operands,
    rounding: Rounding | int | np.ndarray = Rounding.NEAREST_EVEN,
    raw: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of an instruction and its exception flags (both uint32, as stored).

    Parameters
    ----------
    operation : str
        One of `OPERATIONS`.
    operands : arrays of stored bits
        As many as the instruction reads, in its order; broadcast against each other.
    rounding : Rounding or array of them
        One mode for all, or one per operand.
    raw : bool
        Return QEMU's own results even if they deviate from the standard; see above.

    """
    columns = checked_columns(operation, operands, rounding)
    count = len(columns[0])
    parts = [
        execute(operation, [column[start : start + CHUNK] for column in columns])
        for start in range(0, count, CHUNK)
    ]
    results, flags = (
        np.concatenate([part[k] for part in parts]) if parts else np.zeros(0, np.uint32)
        for k in range(2)
    )
    if raw:
        return results, flags
    if operation in ("fmin.s", "fmax.s"):
        results = number_of_two(results, *columns[:2])
    if len(operands) == 3:
        flags = np.where(is_invalid_product(*columns[:2]), np.uint32(FLAG_BITS["invalid"]), flags)
    return results, flags


def checked_columns(operation: str, operands: Sequence, rounding) -> list[np.ndarray]:
    """Return checked operands and modes as columns of equal length."""
    if operation not in OPERATIONS:
        raise ValueError(f"operation must be one of {', '.join(OPERATIONS)}, not {operation!r}")
    count = OPERATIONS[operation][0][1]
    if len(operands) != count:
        raise ValueError(f"{operation} must have {count} operands, not {len(operands)}")
    modes = np.asarray(rounding)
    if modes.size and not set(np.unique(modes).tolist()) <= set(Rounding):
        raise ValueError(f"rounding must be 0 to 4, not {modes.max()}")
    columns = [np.asarray(operand).astype(np.uint32) for operand in operands]
    columns = np.broadcast_arrays(*columns, modes.astype(np.uint32))
    return [np.atleast_1d(column) for column in columns]


def execute(operation: str, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Run the loop once over columns of equal length; the last one has the rounding modes."""
    unicorn = require("unicorn")
    registers = require("unicorn.riscv_const")
    count = len(columns[0])
    # One page between the arrays, as flags are stored one word before their array.
    size = (4 * count + 0x1FFF) & ~0xFFF
    machine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    code = program(operation)
    machine.mem_map(CODE, 0x1000)
    machine.mem_write(CODE, code)
    machine.mem_map(DATA, 6 * size)
    places = {register: DATA + k * size for k, register in enumerate(range(A, LEFT))}
    modes = columns[-1] << 5
    operands = range(A, A + len(columns) - 1)
    for register, column in zip((*operands, MODES), (*columns[:-1], modes), strict=True):
        machine.mem_write(places[register], np.ascontiguousarray(column).tobytes())
    for register, value in {**places, LEFT: count}.items():
        machine.reg_write(registers.UC_RISCV_REG_X0 + register, value)
    machine.reg_write(registers.UC_RISCV_REG_MSTATUS, STATUS_FLOAT_ON)
    machine.emu_start(CODE, CODE + len(code))

    def read(register: int) -> np.ndarray:
        return np.frombuffer(machine.mem_read(places[register], 4 * count), np.uint32)

    return read(RESULTS), read(FLAGS) & 0x1F


def is_nan(stored: np.ndarray) -> np.ndarray:
    """Return which numbers are NaN."""
    return stored & 0x7FFF_FFFF > 0x7F80_0000


def is_signalling(stored: np.ndarray) -> np.ndarray:
    """Return which numbers are signalling NaN."""
    return is_nan(stored) & (stored & 0x40_0000 == 0)


def number_of_two(results: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return `results` with the number if only the other operand is a NaN and signalling."""
    results = np.where(is_signalling(a) & ~is_nan(b), b, results)
    return np.where(is_signalling(b) & ~is_nan(a), a, results)


def is_invalid_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return where one factor is infinite and the other zero, which raises only invalid."""
    magnitudes = [stored & 0x7FFF_FFFF for stored in (a, b)]
    low, high = np.minimum(*magnitudes), np.maximum(*magnitudes)
    return (low == 0) & (high == 0x7F80_0000)
