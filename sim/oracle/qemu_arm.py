"""QEMU's conversions between FP32 and FP16, through unicorn: those of AArch64.

QEMU's RISC-V processors in unicorn lack Zfhmin. Arm has the same formats, four of RISC-V's five
rounding modes, and detects tininess before rounding: `is_border` tells where that differs.
"""

import functools

import numpy as np

from ...hw.arith.float.rounding import FLAGS as FLAG_BITS
from ...hw.arith.float.rounding import Rounding
from . import require

__all__ = ["MODES", "is_border", "narrow_by_arm", "widen_by_arm"]

CODE, DATA = 0x1000, 0x10_0000
#: Field of the control register FPCR for each rounding mode.
MODES = {
    Rounding.NEAREST_EVEN: 0,
    Rounding.UP: 1,
    Rounding.DOWN: 2,
    Rounding.TOWARD_ZERO: 3,
}
DEFAULT_NAN = 1 << 25
#: Access of EL1 and EL0 to floating point, in CPACR_EL1.
FLOAT_ON = 3 << 20
#: Bits of the status register FPSR.
STATUS = {"invalid": 0, "overflow": 2, "underflow": 3, "inexact": 4}
# Registers: operands, control words, results, status words, elements left.
OPERANDS, CONTROLS, RESULTS, STATUSES, LEFT = range(5)
FCVT_H_S, FCVT_S_H = 0x1E23_C001, 0x1EE2_4001


@functools.cache
def program(conversion: int) -> bytes:
    """Return the loop over the arrays, with one conversion of register 0 to register 1."""
    words = [
        0xBC40_4400,  # ldr s0, [x0], #4
        0xB840_4425,  # ldr w5, [x1], #4
        0xD51B_4405,  # msr fpcr, x5
        0xD51B_443F,  # msr fpsr, xzr
        conversion,
        0xD53B_4426,  # mrs x6, fpsr
        0xBC00_4441,  # str s1, [x2], #4
        0xB800_4466,  # str w6, [x3], #4
        0xF100_0484,  # subs x4, x4, #1
    ]
    words.append(0x5400_0001 | (-len(words) & 0x7_FFFF) << 5)  # b.ne, to the first
    return np.array(words, "<u4").tobytes()


def convert(conversion: int, i, controls) -> tuple[np.ndarray, np.ndarray]:
    """Return results and flags of one conversion of each operand."""
    unicorn, registers = require("unicorn"), require("unicorn.arm64_const")
    columns = np.broadcast_arrays(np.asarray(i, np.uint32), np.asarray(controls, np.uint32))
    count = len(columns[0])
    size = (4 * count + 0xFFF) & ~0xFFF
    machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    code = program(conversion)
    machine.mem_map(CODE, 0x1000)
    machine.mem_write(CODE, code)
    machine.mem_map(DATA, 4 * size)
    places = [DATA + k * size for k in range(LEFT)]
    for place, column in zip(places, columns, strict=False):
        machine.mem_write(place, np.ascontiguousarray(column).tobytes())
    for register, value in enumerate([*places, count]):
        machine.reg_write(registers.UC_ARM64_REG_X0 + register, value)
    machine.reg_write(registers.UC_ARM64_REG_CPACR_EL1, FLOAT_ON)
    machine.emu_start(CODE, CODE + len(code))
    results, status = (
        np.frombuffer(machine.mem_read(places[k], 4 * count), np.uint32)
        for k in (RESULTS, STATUSES)
    )
    flags = sum((status >> bit & 1) * FLAG_BITS[name] for name, bit in STATUS.items())
    return results, np.asarray(flags, np.uint32)


def narrow_by_arm(i, rounding: Rounding) -> tuple[np.ndarray, np.ndarray]:
    """Return FP32 rounded to FP16 in a mode of `MODES`, and flags, as stored bits."""
    return convert(FCVT_H_S, i, MODES[rounding] << 22 | DEFAULT_NAN)


def widen_by_arm(i) -> tuple[np.ndarray, np.ndarray]:
    """Return FP16 in FP32, and flags, as stored bits."""
    return convert(FCVT_S_H, i, DEFAULT_NAN)


def is_border(i) -> np.ndarray:
    """Return which operands lie between the largest subnormal and the least normal FP16 number.

    Only such operands can be tiny before rounding and not after it.
    """
    least, last = (np.float32(x).view(np.uint32) for x in (2.0**-14, 2.0**-14 - 2.0**-24))
    magnitude = np.asarray(i, np.uint32) & 0x7FFF_FFFF
    return (magnitude > last) & (magnitude < least)
