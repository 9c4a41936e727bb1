"""Instruction table: one entry per instruction for decoder, assembler, models and documents.

RV32I, M, A, F and Zicsr as in "The RISC-V Instruction Set Manual, Volume I" (20191213), chapter
24; Zihintpause, Zabha, Zalasr and the word of Zacas; the conversions of Zfhmin and Zfbfmin; the
warp instructions of Vortex v2.x, and the votes and shuffles of v3 (custom-0); the special
functions, packed conversions and shuffles of float registers
(custom-0); transaction barriers, with the names of PTX (custom-2); the tensor instructions of
Virgo's machine (custom-3).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from .encoding import IMMEDIATES, REGISTER_FIELDS, RegisterClass
from .operations import AtomicOperation, SpecialOperation, Unit
from .transaction_barrier import BarrierOperation

__all__ = ["INSTRUCTIONS", "ORDERING_BIT", "SPELLINGS", "Instruction", "find", "spellings_of"]

#: Lowest of the two ordering bits of an atomic instruction: rl, and aq above it.
ORDERING_BIT = 25
#: Suffixes of mnemonics by the ordering bits.
ORDERINGS = ("", ".rl", ".aq", ".aqrl")


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Parameters
    ----------
    name : str
        Mnemonic.
    unit : Unit
        Execution unit.
    match : int
        The word with all operands 0.
    syntax : str
        Operands in assembly order. ``rd``, ``rs1`` are integer registers, ``fd``, ``fs1`` float
        registers; other words name an immediate of `IMMEDIATES`.
    orderings : int
        Mask of the ordering bits, 1 for rl and 2 for aq, that a suffix of the mnemonic sets; the
        others are in `match`.
    updates_rd : bool
        Whether rd is a source too.

    """

    name: str
    unit: Unit
    match: int
    syntax: str
    orderings: int = 0
    updates_rd: bool = False

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """Names of the operands."""
        return tuple(re.findall(r"\w+", self.syntax))

    @cached_property
    def mask(self) -> int:
        """Mask of the bits outside all operands, which identify the instruction."""
        operand_bits = self.orderings << ORDERING_BIT
        for operand in self.operands:
            if operand in IMMEDIATES:
                operand_bits |= IMMEDIATES[operand].mask
            else:
                operand_bits |= 0x1F << REGISTER_FIELDS[field_of(operand)]
        return 0xFFFF_FFFF & ~operand_bits

    @cached_property
    def registers(self) -> dict[str, RegisterClass]:
        """The register operands by field, ``rd``, ``rs1``, ``rs2``, ``rs3``, with their files."""
        return {
            field_of(operand): RegisterClass.INTEGER if operand[0] == "r" else RegisterClass.FLOAT
            for operand in self.operands
            if operand not in IMMEDIATES
        }

    @cached_property
    def mnemonics(self) -> dict[str, int]:
        """Spellings of the name, one for each value of the ordering bits, with their words."""
        if not self.orderings:
            return {self.name: self.match}
        fixed = self.match >> ORDERING_BIT & 3
        base = self.name.removesuffix(ORDERINGS[fixed])
        return {
            base + suffix: self.match | bits << ORDERING_BIT
            for bits, suffix in enumerate(ORDERINGS)
            if bits & ~self.orderings == fixed
        }

    @property
    def sources(self) -> tuple[str, ...]:
        """Fields of the registers that it reads."""
        return tuple(field for field in self.registers if field != "rd" or self.updates_rd)

    @property
    def writes(self) -> RegisterClass | None:
        """File of the destination register, None if there is none."""
        return self.registers.get("rd")

    def matches(self, word: int) -> bool:
        """Return whether `word` is this instruction."""
        return word & self.mask == self.match

    def mnemonic(self, word: int) -> str:
        """Return the spelling of the name for `word`, with the suffix of its ordering bits."""
        ordering = word & self.orderings << ORDERING_BIT
        return next(
            name for name, match in self.mnemonics.items() if match == self.match | ordering
        )


def field_of(operand: str) -> str:
    """Return the field of a register operand."""
    return f"r{operand[1:]}"


def _word(opcode: int, funct3: int = 0, funct7: int = 0, rs2: int = 0) -> int:
    return funct7 << 25 | rs2 << 20 | funct3 << 12 | opcode


def _integer() -> list[Instruction]:
    """Return RV32I except memory and control instructions."""
    names = ["add", "sll", "slt", "sltu", "xor", "srl", "or", "and"]
    instructions = [
        Instruction(name, Unit.INT, _word(0x33, funct3), "rd, rs1, rs2")
        for funct3, name in enumerate(names)
    ]
    instructions += [
        Instruction("sub", Unit.INT, _word(0x33, 0, 0x20), "rd, rs1, rs2"),
        Instruction("sra", Unit.INT, _word(0x33, 5, 0x20), "rd, rs1, rs2"),
    ]
    immediates = {"addi": 0, "slti": 2, "sltiu": 3, "xori": 4, "ori": 6, "andi": 7}
    instructions += [
        Instruction(name, Unit.INT, _word(0x13, funct3), "rd, rs1, i")
        for name, funct3 in immediates.items()
    ]
    shifts = {"slli": (1, 0), "srli": (5, 0), "srai": (5, 0x20)}
    instructions += [
        Instruction(name, Unit.INT, _word(0x13, *functs), "rd, rs1, shamt")
        for name, functs in shifts.items()
    ]
    instructions += [
        Instruction("lui", Unit.INT, 0x37, "rd, u"),
        Instruction("auipc", Unit.INT, 0x17, "rd, u"),
    ]
    return instructions


def _control() -> list[Instruction]:
    """Return branches, jumps and system instructions."""
    branches = {"beq": 0, "bne": 1, "blt": 4, "bge": 5, "bltu": 6, "bgeu": 7}
    return [
        *(
            Instruction(name, Unit.BRANCH, _word(0x63, funct3), "rs1, rs2, b")
            for name, funct3 in branches.items()
        ),
        Instruction("jal", Unit.BRANCH, 0x6F, "rd, j"),
        Instruction("jalr", Unit.BRANCH, 0x67, "rd, i(rs1)"),
        # A fence of no loads and no stores after it: a hint, in cores without it that fence.
        Instruction("pause", Unit.SYSTEM, 0x0100_000F, ""),
        Instruction("fence", Unit.SYSTEM, 0x0F, "pred, succ"),
        Instruction("fence.i", Unit.SYSTEM, _word(0x0F, 1), ""),
        Instruction("ecall", Unit.SYSTEM, 0x73, ""),
        Instruction("ebreak", Unit.SYSTEM, _word(0x73, rs2=1), ""),
        Instruction("mret", Unit.SYSTEM, _word(0x73, funct7=0x18, rs2=2), ""),
    ]


def _memory() -> list[Instruction]:
    """Return loads and stores of both register files."""
    loads = {"lb": 0, "lh": 1, "lw": 2, "lbu": 4, "lhu": 5}
    stores = {"sb": 0, "sh": 1, "sw": 2}
    return [
        *(Instruction(n, Unit.LSU, _word(0x03, f), "rd, i(rs1)") for n, f in loads.items()),
        *(Instruction(n, Unit.LSU, _word(0x23, f), "rs2, s(rs1)") for n, f in stores.items()),
        Instruction("flw", Unit.LSU, _word(0x07, 2), "fd, i(rs1)"),
        Instruction("fsw", Unit.LSU, _word(0x27, 2), "fs2, s(rs1)"),
    ]


def _atomic() -> list[Instruction]:
    """Return extension A, with compare-and-swap, bytes and halves, load-acquire, store-release."""
    others = (AtomicOperation.LR, AtomicOperation.SC, AtomicOperation.LOAD, AtomicOperation.STORE)
    updates = [operation for operation in AtomicOperation if operation not in others]
    rows = [
        ("lr.w", AtomicOperation.LR, 2, "rd, (rs1)", 3),
        ("sc.w", AtomicOperation.SC, 2, "rd, rs2, (rs1)", 3),
    ]
    for size, letter in enumerate("bhw"):
        rows += [
            (f"amo{operation.name.lower()}.{letter}", operation, size, "rd, rs2, (rs1)", 3)
            for operation in updates
        ]
        rows += [
            (f"l{letter}.aq", AtomicOperation.LOAD, size, "rd, (rs1)", 1),
            (f"s{letter}.rl", AtomicOperation.STORE, size, "rs2, (rs1)", 2),
        ]
    return [
        Instruction(
            name,
            Unit.ATOMIC,
            _word(0x2F, size, operation << 2 | 3 & ~orderings),
            syntax,
            orderings,
            updates_rd=operation == AtomicOperation.CAS,
        )
        for name, operation, size, syntax, orderings in rows
    ]


def _barriers() -> list[Instruction]:
    """Return the operations on transaction barriers."""
    rows = {
        BarrierOperation.INIT: ("init", "rs1, rs2"),
        BarrierOperation.INVAL: ("inval", "rs1"),
        BarrierOperation.ARRIVE: ("arrive", "rd, rs1, rs2"),
        BarrierOperation.ARRIVE_DROP: ("arrive_drop", "rd, rs1, rs2"),
        BarrierOperation.ARRIVE_EXPECT_TX: ("arrive.expect_tx", "rd, rs1, rs2"),
        BarrierOperation.ARRIVE_DROP_EXPECT_TX: ("arrive_drop.expect_tx", "rd, rs1, rs2"),
        BarrierOperation.EXPECT_TX: ("expect_tx", "rs1, rs2"),
        BarrierOperation.COMPLETE_TX: ("complete_tx", "rs1, rs2"),
        BarrierOperation.TEST_WAIT: ("test_wait.parity", "rd, rs1, rs2"),
        BarrierOperation.TRY_WAIT: ("try_wait.parity", "rd, rs1, rs2"),
        BarrierOperation.WAIT: ("wait.parity", "rs1, rs2"),
    }
    return [
        Instruction(f"mbarrier.{name}", Unit.BARRIER, _word(0x5B, 4, operation), syntax)
        for operation, (name, syntax) in rows.items()
    ]


def _multiply() -> list[Instruction]:
    """Return extension M."""
    names = ["mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"]
    return [
        Instruction(
            name,
            Unit.MULTIPLY if funct3 < 4 else Unit.DIVIDE,
            _word(0x33, funct3, 1),
            "rd, rs1, rs2",
        )
        for funct3, name in enumerate(names)
    ]


def _csr() -> list[Instruction]:
    """Return Zicsr."""
    names = {"csrrw": 1, "csrrs": 2, "csrrc": 3}
    return [
        *(Instruction(n, Unit.CSR, _word(0x73, f), "rd, csr, rs1") for n, f in names.items()),
        *(
            Instruction(f"{n}i", Unit.CSR, _word(0x73, 4 + f), "rd, csr, zimm")
            for n, f in names.items()
        ),
    ]


def _float() -> list[Instruction]:
    """Return extension F except loads and stores, and conversions of 16-bit floats."""
    fused = {"fmadd.s": 0x43, "fmsub.s": 0x47, "fnmsub.s": 0x4B, "fnmadd.s": 0x4F}
    instructions = [
        Instruction(name, Unit.FP32, opcode, "fd, fs1, fs2, fs3, rm")
        for name, opcode in fused.items()
    ]
    # funct7, unit and operands of instructions that round.
    rounded = {
        "fadd.s": (0x00, Unit.FP32, "fd, fs1, fs2, rm"),
        "fsub.s": (0x04, Unit.FP32, "fd, fs1, fs2, rm"),
        "fmul.s": (0x08, Unit.FP32, "fd, fs1, fs2, rm"),
        "fdiv.s": (0x0C, Unit.FP32_DIVIDE, "fd, fs1, fs2, rm"),
        "fsqrt.s": (0x2C, Unit.FP32_DIVIDE, "fd, fs1, rm"),
    }
    instructions += [
        Instruction(name, unit, _word(0x53, 0, funct7), syntax)
        for name, (funct7, unit, syntax) in rounded.items()
    ]
    # funct7, the field of rs2, and operands.
    conversions = {
        "fcvt.w.s": (0x60, 0, "rd, fs1, rm"),
        "fcvt.wu.s": (0x60, 1, "rd, fs1, rm"),
        "fcvt.s.w": (0x68, 0, "fd, rs1, rm"),
        "fcvt.s.wu": (0x68, 1, "fd, rs1, rm"),
        "fcvt.s.h": (0x20, 2, "fd, fs1, rm"),
        "fcvt.s.bf16": (0x20, 6, "fd, fs1, rm"),
        "fcvt.h.s": (0x22, 0, "fd, fs1, rm"),
        "fcvt.bf16.s": (0x22, 8, "fd, fs1, rm"),
    }
    instructions += [
        Instruction(name, Unit.FP32, _word(0x53, 0, funct7, rs2), syntax)
        for name, (funct7, rs2, syntax) in conversions.items()
    ]
    # funct7, funct3 and operands of instructions that do not round.
    exact = {
        "fsgnj.s": (0x10, 0, "fd, fs1, fs2"),
        "fsgnjn.s": (0x10, 1, "fd, fs1, fs2"),
        "fsgnjx.s": (0x10, 2, "fd, fs1, fs2"),
        "fmin.s": (0x14, 0, "fd, fs1, fs2"),
        "fmax.s": (0x14, 1, "fd, fs1, fs2"),
        "fle.s": (0x50, 0, "rd, fs1, fs2"),
        "flt.s": (0x50, 1, "rd, fs1, fs2"),
        "feq.s": (0x50, 2, "rd, fs1, fs2"),
        "fclass.s": (0x70, 1, "rd, fs1"),
        "fmv.x.w": (0x70, 0, "rd, fs1"),
        "fmv.w.x": (0x78, 0, "fd, rs1"),
    }
    instructions += [
        Instruction(name, Unit.FP32, _word(0x53, funct3, funct7), syntax)
        for name, (funct7, funct3, syntax) in exact.items()
    ]
    return instructions


def _packed() -> list[Instruction]:
    """Return the conversions between two FP32 registers and two 16-bit floats in one."""
    unpacks = ("funpackl.s.h", "funpackh.s.h", "funpackl.s.bf16", "funpackh.s.bf16")
    packs = {"fpack.h.s": 0x42, "fpack.bf16.s": 0x43}
    return [
        *(
            Instruction(name, Unit.FP32, _word(0x0B, 0, funct7), "fd, fs1, fs2, rm")
            for name, funct7 in packs.items()
        ),
        *(
            Instruction(name, Unit.FP32, _word(0x0B, funct3, 0x41), "fd, fs1")
            for funct3, name in enumerate(unpacks)
        ),
    ]


def _warp() -> list[Instruction]:
    """Return the Vortex v2.x instructions, masks, warps, divergence, barriers, and ``vx_wait``."""
    syntaxes = {
        "vx_tmc": "rs1",
        "vx_wspawn": "rs1, rs2",
        # rs2 is x0, or x1 if a later compiler version inverts the condition.
        "vx_split": "rd, rs1, rs2",
        "vx_join": "rs1",
        "vx_bar": "rs1, rs2",
        "vx_pred": "rs1, rs2",
    }
    vortex = [
        Instruction(name, Unit.WARP, _word(0x0B, funct3), syntax)
        for funct3, (name, syntax) in enumerate(syntaxes.items())
    ]
    return [*vortex, Instruction("vx_wait", Unit.WARP, _word(0x5B, 4, 0x10), "rs1, rs2")]


def _exchange() -> list[Instruction]:
    """Return the votes and shuffles of Vortex v3, and shuffles of float registers.

    Votes ignore rs2.
    """
    votes = ("vote_all", "vote_any", "vote_uni", "vote_ballot")
    shuffles = ("shfl_up", "shfl_down", "shfl_bfly", "shfl_idx")
    return [
        *(
            Instruction(f"vx_{name}", Unit.EXCHANGE, _word(0x0B, funct3, 1), "rd, rs1, rs2")
            for funct3, name in enumerate(votes + shuffles)
        ),
        *(
            Instruction(f"f{name}.s", Unit.EXCHANGE, _word(0x0B, funct3, 0x44), "fd, fs1, rs2")
            for funct3, name in enumerate(shuffles, 4)
        ),
    ]


def _special() -> list[Instruction]:
    """Return the special functions of the SFU."""
    return [
        Instruction(f"f{kind.name.lower()}.s", Unit.SFU, _word(0x0B, kind, 0x40), "fd, fs1")
        for kind in SpecialOperation
    ]


def _tensor() -> list[Instruction]:
    """Return the tensor instructions.

    `hmma` works on registers, and its destination field selects one of two sets of accumulators.
    `hgmma` takes the addresses of A and B; its accumulators are f0 to f31. A core has one or the
    other, so they may share words.
    """
    return [
        Instruction("hgmma", Unit.TENSOR, 0x7B, "rs1, rs2"),
        Instruction("hgmma_wait", Unit.TENSOR, _word(0x7B, 1), ""),
        Instruction("hmma", Unit.TENSOR, 0x7B, "rd"),
    ]


#: All instructions by mnemonic.
INSTRUCTIONS: dict[str, Instruction] = {
    instruction.name: instruction
    for group in (
        *(_integer(), _control(), _memory(), _atomic(), _barriers()),
        *(_multiply(), _csr(), _float(), _packed()),
        *(_warp(), _exchange(), _special(), _tensor()),
    )
    for instruction in group
}


def spellings_of(instructions: Mapping[str, Instruction]) -> dict[str, tuple[Instruction, int]]:
    """Return the instruction of each mnemonic with its suffix, and the word without operands."""
    return {
        name: (instruction, word)
        for instruction in instructions.values()
        for name, word in instruction.mnemonics.items()
    }


#: Those of all instructions.
SPELLINGS = spellings_of(INSTRUCTIONS)

_BY_OPCODE: dict[int, list[Instruction]] = {}
for _each in INSTRUCTIONS.values():
    _BY_OPCODE.setdefault(_each.match & 0x7F, []).append(_each)


def find(word: int) -> Instruction | None:
    """Return the instruction encoded by `word`, None if there is none.

    For a word shared by both tensor instructions, that is `hgmma`; for one of the words of
    `fence`, `pause`.
    """
    for instruction in _BY_OPCODE.get(word & 0x7F, ()):
        if instruction.matches(word):
            return instruction
    return None
