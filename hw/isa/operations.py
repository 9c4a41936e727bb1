"""Ports of a core and their operations: the codes between the decoder and the units."""

from amaranth.lib import enum

__all__ = [
    "OPERATION_WIDTH",
    "ControlOperation",
    "DivideOperation",
    "FloatOperation",
    "IntegerOperation",
    "MemoryOperation",
    "Port",
    "SpecialOperation",
]

#: Bits of an operation, for all ports.
OPERATION_WIDTH = 5


class Port(enum.IntEnum, shape=3):
    """Execution port of an instruction; each port accepts one at a time."""

    INT = 0  #: integers, branches, products
    FP32 = 1  #: fused multiply-add, comparisons, conversions
    DIVIDE = 2  #: quotients, remainders, square roots
    SPECIAL = 3  #: special functions; operations are those of `SpecialFunction`
    MEMORY = 4  #: loads and stores
    CONTROL = 5  #: masks, warps, divergence, barriers, control registers, end of the run


class IntegerOperation(enum.IntEnum, shape=OPERATION_WIDTH):
    """Operations of `Port.INT`: a and b are operands 0 and 1, or their replacements."""

    ADD = 0
    SUB = 1
    SLL = 2
    SLT = 3
    SLTU = 4
    XOR = 5
    SRL = 6
    SRA = 7
    OR = 8
    AND = 9
    MUL = 10
    MULH = 11
    MULHSU = 12
    MULHU = 13
    JAL = 14  #: pc + 4; the target is pc + immediate
    JALR = 15  #: pc + 4; the target is a + immediate, bit 0 cleared
    BEQ = 16
    BNE = 17
    BLT = 20
    BGE = 21
    BLTU = 22
    BGEU = 23


class FloatOperation(enum.IntEnum, shape=OPERATION_WIDTH):
    """Operations of `Port.FP32`; the first seven are those of `FmaOperation`."""

    FMADD = 0
    FMSUB = 1
    FNMSUB = 2
    FNMADD = 3
    FADD = 4
    FSUB = 5
    FMUL = 6
    SGNJ = 8
    SGNJN = 9
    SGNJX = 10
    MIN = 11
    MAX = 12
    LE = 13
    LT = 14
    EQ = 15
    CLASS = 16
    TO_SIGNED = 17
    TO_UNSIGNED = 18
    FROM_SIGNED = 19
    FROM_UNSIGNED = 20
    MOVE = 21  #: operand 0 unchanged, between the register files


class DivideOperation(enum.IntEnum, shape=OPERATION_WIDTH):
    """Operations of `Port.DIVIDE`."""

    DIV = 0
    DIVU = 1
    REM = 2
    REMU = 3
    FDIV = 4
    FSQRT = 5


class MemoryOperation(enum.IntEnum, shape=OPERATION_WIDTH):
    """Operations of `Port.MEMORY`; bits 1:0 are the size (bytes = 2**size), as in funct3."""

    LB = 0
    LH = 1
    LW = 2
    LBU = 4
    LHU = 5
    SB = 8
    SH = 9
    SW = 10


class ControlOperation(enum.IntEnum, shape=OPERATION_WIDTH):
    """Operations of `Port.CONTROL`; the first six have the codes of funct3."""

    TMC = 0
    WSPAWN = 1
    SPLIT = 2
    JOIN = 3
    BAR = 4
    PRED = 5
    FENCE = 8  #: completes when all memory accesses of the warp have
    FENCE_I = 9
    CSRRW = 12  #: the register's number is bits 11:0 of the immediate; immediate forms, with
    CSRRS = 13  #: `b_is_immediate` set, have their operand in bits 16:12
    CSRRC = 14
    END = 16  #: ecall, ebreak
    ILLEGAL = 31  #: no instruction, or one this core does not have


class SpecialOperation(enum.IntEnum, shape=3):
    """The six functions, as instructions encode them."""

    RCP = 0
    RSQRT = 1
    EXP2 = 2
    LOG2 = 3
    SIN = 4
    COS = 5
