"""Ports of a core: a table of their units, operations, operands, latency and lanes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from amaranth.lib import enum

__all__ = [
    "ATOMIC_OPERATION_BIT",
    "EXCHANGES",
    "OPERATION_WIDTH",
    "PORTS",
    "AtomicOperation",
    "ControlOperation",
    "DivideOperation",
    "FloatOperation",
    "IntegerOperation",
    "Latency",
    "MemoryOperation",
    "Port",
    "PortInfo",
    "RegisterGroup",
    "RegisterGroups",
    "SpecialOperation",
    "TensorOperation",
    "Unit",
    "groups_of",
    "ports_with",
]

#: Bits of an operation, for all ports.
OPERATION_WIDTH = 5
#: Lowest bit of an `AtomicOperation` in the immediate of its instruction.
ATOMIC_OPERATION_BIT = 7
#: Threads of the warps with `wide_groups`.
WIDE = 32


class Unit(enum.Enum):
    """Execution unit of an instruction, as reports count it; several may share a port."""

    INT = "int"
    BRANCH = "branch"
    MULTIPLY = "multiply"
    EXCHANGE = "exchange"
    DIVIDE = "divide"
    LSU = "lsu"
    ATOMIC = "atomic"
    BARRIER = "barrier"
    FP32 = "fp32"
    FP32_DIVIDE = "fp32_divide"
    SFU = "sfu"
    CSR = "csr"
    WARP = "warp"
    TENSOR = "tensor"
    SYSTEM = "system"


class Port(enum.IntEnum):
    """Execution port of an instruction; each port accepts one at a time."""

    INT = 0  #: integers, branches, products, votes and shuffles
    FP32 = 1  #: fused multiply-add, comparisons, conversions
    DIVIDE = 2  #: quotients, remainders, square roots
    SPECIAL = 3  #: special functions; operations are those of `SpecialFunction`
    MEMORY = 4  #: loads, stores, atomic operations, transaction barriers
    CONTROL = 5  #: masks, warps, divergence, barriers, control registers, end of the run
    TENSOR = 6  #: products of matrices; only cores with tensor instructions have it


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
    # Votes of the active threads with bit 0 of a, and shuffles of a by b; bits 2:0 are funct3.
    VOTE_ALL = 24
    VOTE_ANY = 25
    VOTE_UNI = 26
    VOTE_BALLOT = 27
    SHFL_UP = 28
    SHFL_DOWN = 29
    SHFL_BFLY = 30
    SHFL_IDX = 31


#: Operations of `Port.INT` on the values of other threads of the warp.
EXCHANGES = tuple(one for one in IntegerOperation if one >= IntegerOperation.VOTE_ALL)


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
    # Bit 0 of the rest is set for BF16.
    TO_FP16 = 22  #: a rounded, in the low half; ones in the other half
    TO_BF16 = 23
    PACK_FP16 = 24  #: a rounded, in the low half; b rounded, in the high half
    PACK_BF16 = 25
    FROM_FP16 = 26  #: the low half of a; the canonical NaN unless the high half is all ones
    FROM_BF16 = 27
    LOW_FP16 = 28  #: the low half of a
    LOW_BF16 = 29
    HIGH_FP16 = 30  #: the high half of a
    HIGH_BF16 = 31


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
    # Bits 11:7 of the immediate are an `AtomicOperation`, bits 6 and 5 its ordering, aq and rl.
    ATOMIC_B = 16
    ATOMIC_H = 17
    ATOMIC_W = 18
    # Bits 11:5 of the immediate are a `BarrierOperation`.
    BARRIER = 19


class AtomicOperation(enum.IntEnum, shape=5):
    """Operations of the atomic instructions, as funct5 encodes them.

    Those that combine write the result of the memory's value, the first operand, and of rs2.
    """

    ADD = 0x00
    SWAP = 0x01  #: writes rs2
    LR = 0x02  #: loads, and reserves the word
    SC = 0x03  #: writes rs2 if the thread still has its reservation
    XOR = 0x04
    CAS = 0x05  #: writes rs2 if the memory's value is that of rd
    LOAD = 0x06
    STORE = 0x07
    OR = 0x08
    AND = 0x0C
    MIN = 0x10
    MAX = 0x14
    MINU = 0x18
    MAXU = 0x1C


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
    HGMMA_WAIT = 17  #: completes when the products of the warp have
    MRET = 18  #: continues at the address in mepc
    PARTIAL = 19  #: an instruction that needs all threads of its warp, without some of them
    WAIT = 20  #: sleeps until a unit register has a value
    PAUSE = 21  #: no effect
    BARRIER_WAIT = 22  #: sleeps until a phase of a transaction barrier has completed
    ILLEGAL = 31  #: no instruction, or one this core does not have


class SpecialOperation(enum.IntEnum, shape=3):
    """The six functions, as instructions encode them."""

    RCP = 0
    RSQRT = 1
    EXP2 = 2
    LOG2 = 3
    SIN = 4
    COS = 5


class TensorOperation(enum.IntEnum, shape=OPERATION_WIDTH):
    """Operations of `Port.TENSOR`."""

    HMMA = 0  #: C := A B + C on fragments in registers
    HGMMA = 1  #: the same with A and B in shared memory, at operands 0 and 1


class Latency(enum.Enum):
    """Moment at which the scoreboard is notified of a port's result."""

    FIXED = "fixed"  #: a known number of cycles after dispatch
    ANNOUNCED = "announced"  #: when the unit announces or offers it, before it is written
    WRITTEN = "written"  #: when it is written


@dataclass(frozen=True, kw_only=True)
class RegisterGroup:
    """Consecutive registers that one operand or the result of an operation spans.

    The number of the first one is a multiple of the size of the group.

    Parameters
    ----------
    first : int or None
        The first register, where f0 is 32; None if the instruction encodes it as that of a single
        register.
    is_selected : bool
        Whether the field ``rd`` selects one of several groups, which follow each other from
        `first` to f31; a larger ``rd`` is illegal.

    """

    first: int | None = None
    is_selected: bool = False


@dataclass(frozen=True, kw_only=True)
class RegisterGroups:
    """Register groups of an operation, which executes as one micro-operation per register.

    Micro-operation k reads and writes register k of each group. An operand without a group is read
    by the first one only. A result without a group is that of the last micro-operation.

    Parameters
    ----------
    size : int
        Registers of each group: 2, 4, 8, 16 or 32.
    sources : mapping of int to RegisterGroup
        Operands 0 to 2 that are groups.
    destination : RegisterGroup or None
        Registers of the result; None for one register, or none.

    """

    size: int
    sources: Mapping[int, RegisterGroup] = field(default_factory=dict)
    destination: RegisterGroup | None = None

    def __post_init__(self):
        if self.size not in (2, 4, 8, 16, 32):
            raise ValueError(f"size of a register group must be 2, 4, 8, 16 or 32, not {self.size}")

    @property
    def by_field(self) -> dict[int, RegisterGroup]:
        """The groups by field of an instruction: 0 for rd, 1 to 3 for rs1 to rs3."""
        destination = {} if self.destination is None else {0: self.destination}
        return destination | {1 + operand: group for operand, group in self.sources.items()}


@dataclass(frozen=True, kw_only=True)
class PortInfo:
    """Properties of a port from which decoder, scoreboard, collectors and counters derive.

    The class of its execution unit is in `UNITS` of ``hw.core.units.execution_units``.

    Parameters
    ----------
    name : str
        Name of its unit.
    units : tuple of Unit
        Units of the instructions that it executes.
    operations : type of IntEnum
        Enumeration of its operations, at most ``2**OPERATION_WIDTH``.
    operands : int
        Operands that it receives, 0 to 3, each one word per thread; cores with atomics send one
        more to `Port.MEMORY`. Each costs a warp-wide multiplexer in front of the unit.
    latency : Latency
    cycles : int or str
        With `Latency.FIXED`: cycles from the last operands to the first result, or the field of
        `CoreConfig` with their number.
    lanes : str or None
        Field of `CoreConfig` with the number of lanes; None if the port has no lanes.
    default_lanes : int or None
        Lanes unless the field says otherwise, at most; None stands for one per thread.
    counter : int or None
        Place of its counter of operations (`CsrCounter`); None if it has none.
    label : str or None
        Short name of its unit in tables of area; None stands for the name of the port.
    groups : mapping of int to RegisterGroups
        Operations whose operands or results span several registers. The unit receives their
        micro-operations in order; those of different warps may alternate. After the last one, not
        before, it returns a result for each micro-operation, all but the last marked with
        ``more``, or one for all if the destination is not a group. Its latency must not be
        `Latency.FIXED`.
    wide_groups : mapping of int to RegisterGroups
        Those in warps of 32 threads, if they differ from `groups`.
    reads_all : bool
        Whether operands of inactive threads are read too.
    announces : bool
        With `Latency.ANNOUNCED`: whether ``arriving`` of the unit announces its results. Otherwise
        a result is announced while it is offered.
    has_credits : bool
        Whether an instruction for this port issues only with a credit: the unit has room for a
        number of operations from their issue on, and its ``released`` gives a credit back.
        Otherwise operations wait in the operand collectors until the unit accepts them.

    """

    name: str
    units: tuple[Unit, ...]
    operations: type[enum.IntEnum]
    operands: int
    latency: Latency
    cycles: int | str = 1
    lanes: str | None = None
    default_lanes: int | None = None
    counter: int | None = None
    label: str | None = None
    groups: Mapping[int, RegisterGroups] = field(default_factory=dict)
    wide_groups: Mapping[int, RegisterGroups] = field(default_factory=dict)
    reads_all: bool = False
    announces: bool = False
    has_credits: bool = False

    def __post_init__(self):
        if self.groups and self.latency is Latency.FIXED:
            raise ValueError(f"latency must not be fixed with register groups: {self.name}")


def hmma_groups(size: int) -> RegisterGroups:
    """Return the registers of ``hmma``: A from f0, B from f8, C in a group from f16 on."""
    accumulator = RegisterGroup(first=48, is_selected=True)
    sources = {0: RegisterGroup(first=32), 1: RegisterGroup(first=40), 2: accumulator}
    return RegisterGroups(size=size, sources=sources, destination=accumulator)


#: In warps of 8 threads: A in f0 to f7, B in f8 to f15, C in f16 to f23 or f24 to f31.
HMMA_GROUPS = hmma_groups(8)
#: In warps of 32: A in f0 to f3, B in f8 and f9, C in one of four groups of f16 to f31. The last
#: two micro-operations read f10 and f11, which have no effect.
WIDE_HMMA_GROUPS = hmma_groups(4)
#: C in f0 to f31; the addresses of A and B are single registers.
HGMMA_GROUPS = RegisterGroups(
    size=32, sources={2: RegisterGroup(first=32)}, destination=RegisterGroup(first=32)
)

PORTS: dict[Port, PortInfo] = {
    Port.INT: PortInfo(
        name="integer unit",
        units=(Unit.INT, Unit.BRANCH, Unit.MULTIPLY, Unit.EXCHANGE),
        operations=IntegerOperation,
        operands=2,
        latency=Latency.FIXED,
        lanes="integer_lanes",
        counter=14,
    ),
    Port.FP32: PortInfo(
        name="floating-point unit",
        units=(Unit.FP32,),
        operations=FloatOperation,
        operands=3,
        latency=Latency.FIXED,
        cycles="fma_latency",
        lanes="fp32_lanes",
        counter=15,
    ),
    Port.DIVIDE: PortInfo(
        name="division and square root unit",
        units=(Unit.DIVIDE, Unit.FP32_DIVIDE),
        operations=DivideOperation,
        operands=2,
        latency=Latency.ANNOUNCED,
        lanes="divide_lanes",
        default_lanes=1,
        counter=16,
        label="divide",
    ),
    Port.SPECIAL: PortInfo(
        name="special function unit",
        units=(Unit.SFU,),
        operations=SpecialOperation,
        operands=1,
        latency=Latency.ANNOUNCED,
        lanes="special_lanes",
        default_lanes=2,
        counter=17,
        label="SFU",
    ),
    # Loads and stores are counted apart.
    Port.MEMORY: PortInfo(
        name="load-store unit",
        units=(Unit.LSU, Unit.ATOMIC, Unit.BARRIER),
        operations=MemoryOperation,
        operands=2,
        latency=Latency.ANNOUNCED,
        lanes="memory_lanes",
        label="LSU",
        announces=True,
    ),
    # Operand 2 is the exit code, x3, of instructions that may end a warp.
    Port.CONTROL: PortInfo(
        name="control unit",
        units=(Unit.CSR, Unit.WARP, Unit.SYSTEM),
        operations=ControlOperation,
        operands=3,
        latency=Latency.WRITTEN,
        counter=18,
    ),
    # A core has the operations of its unit, whose config has the credits. Chains of products wait
    # for registers anyway, so results are not announced.
    Port.TENSOR: PortInfo(
        name="tensor unit",
        units=(Unit.TENSOR,),
        operations=TensorOperation,
        operands=3,
        latency=Latency.WRITTEN,
        counter=31,
        label="tensor",
        groups={TensorOperation.HMMA: HMMA_GROUPS, TensorOperation.HGMMA: HGMMA_GROUPS},
        wide_groups={TensorOperation.HMMA: WIDE_HMMA_GROUPS},
        reads_all=True,
        has_credits=True,
    ),
}


def ports_with(latency: Latency) -> tuple[Port, ...]:
    """Return the ports of this latency, in the order of `Port`."""
    return tuple(port for port in Port if PORTS[port].latency is latency)


def groups_of(port: Port, threads: int) -> Mapping[int, RegisterGroups]:
    """Return the register groups of the operations of a port in warps of `threads` threads."""
    info = PORTS[port]
    return info.wide_groups or info.groups if threads == WIDE else info.groups
