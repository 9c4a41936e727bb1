"""One thread of a SIMT program, executed alone by the meaning of each instruction in Python.

What follows is independent of every other model of the cores and as small as it can be: no warps,
no masks. A thread meets the others only at barriers (`run_threads`), which suffices for programs
without races and without divergent branches, such as `simt_program` writes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from ...hw.address_map import ENTRY
from ...hw.isa.csr import CSRS
from ...hw.isa.encoding import IMMEDIATES
from ...hw.isa.instructions import find

__all__ = ["INTEGER", "Thread", "run_threads"]

WORD = 0xFFFF_FFFF
SIGN = 0x8000_0000
CANONICAL_NAN = 0x7FC0_0000


def signed(value: int) -> int:
    """Return a 32-bit word as a signed number."""
    return (value ^ SIGN) - SIGN


def divide(a: int, b: int, is_remainder: bool, is_signed: bool) -> int:
    """Return quotient or remainder as RISC-V defines both for every operand."""
    if b == 0:
        return a if is_remainder else WORD
    if not is_signed:
        return a % b if is_remainder else a // b
    x, y = signed(a), signed(b)
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return x - quotient * y if is_remainder else quotient


#: What instructions of two integer registers compute, of which 32 bits are kept.
INTEGER: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "xor": lambda a, b: a ^ b,
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "sll": lambda a, b: a << (b & 31),
    "srl": lambda a, b: a >> (b & 31),
    "sra": lambda a, b: signed(a) >> (b & 31),
    "slt": lambda a, b: signed(a) < signed(b),
    "sltu": lambda a, b: a < b,
    "mul": lambda a, b: a * b,
    "mulh": lambda a, b: signed(a) * signed(b) >> 32,
    "mulhu": lambda a, b: a * b >> 32,
    "mulhsu": lambda a, b: signed(a) * b >> 32,
    "div": lambda a, b: divide(a, b, False, True),
    "divu": lambda a, b: divide(a, b, False, False),
    "rem": lambda a, b: divide(a, b, True, True),
    "remu": lambda a, b: divide(a, b, True, False),
}
IMMEDIATE = {f"{n}i": INTEGER[n] for n in ("add", "xor", "or", "and", "sll", "srl", "sra", "slt")}
IMMEDIATE["sltiu"] = INTEGER["sltu"]
BRANCH: dict[str, Callable[[int, int], bool]] = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: signed(a) < signed(b),
    "bge": lambda a, b: signed(a) >= signed(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
}
FLOAT = {"fadd.s": np.add, "fsub.s": np.subtract, "fmul.s": np.multiply, "fdiv.s": np.divide}
COMPARE = {"feq.s": np.equal, "flt.s": np.less, "fle.s": np.less_equal}
SIGNS: dict[str, Callable[[int, int], int]] = {
    "fsgnj.s": lambda a, b: b,
    "fsgnjn.s": lambda a, b: b ^ SIGN,
    "fsgnjx.s": lambda a, b: a ^ b,
}
#: Bytes of an access, and whether a load extends the sign.
ACCESS = {"b": (1, True), "h": (2, True), "w": (4, False), "bu": (1, False), "hu": (2, False)}
#: What changes masks, warps or memory order, of which a thread alone sees nothing.
UNSEEN = ("vx_wspawn", "vx_join", "vx_pred", "fence", "fence.i")


def number_of(stored: int) -> np.float32:
    """Return the value of a stored number."""
    return np.uint32(stored).view(np.float32)


def stored_of(number: np.float32) -> int:
    """Return a number as stored; NaN is the canonical one."""
    return CANONICAL_NAN if np.isnan(number) else int(np.float32(number).view(np.uint32))


@dataclass(frozen=True)
class Decoded:
    """An instruction word taken apart."""

    name: str
    rd: int
    rs1: int
    rs2: int
    immediate: int


@cache
def decode(word: int) -> Decoded:
    """Return the parts of an instruction."""
    instruction = find(word)
    if instruction is None:
        raise ValueError(f"word must be an instruction, not {word:#010x}")
    kept = [operand for operand in instruction.operands if operand in IMMEDIATES]
    immediate = IMMEDIATES[kept[0]].decode(word) if kept else 0
    return Decoded(instruction.name, word >> 7 & 31, word >> 15 & 31, word >> 20 & 31, immediate)


@dataclass
class Thread:
    """A thread and the memory it shares with the others.

    Parameters
    ----------
    words : list of int
        The program, from `ENTRY` on.
    memory : bytearray
    start : int
        Address of the first byte of `memory`.
    csrs : dict of str to int
        What control registers read.

    """

    words: list[int]
    memory: bytearray
    start: int
    csrs: dict[str, int]
    pc: int = ENTRY
    x: list[int] = field(default_factory=lambda: [0] * 32)
    f: list[int] = field(default_factory=lambda: [0] * 32)
    instructions: int = 0

    def run(self, limit: int = 1_000_000) -> Iterator[int]:
        """Execute until the thread ends; yield the number of each barrier it comes to."""
        for _ in range(limit):
            at = decode(self.words[(self.pc - ENTRY) // 4])
            self.instructions += 1
            if at.name == "vx_tmc" and at.rs1 == 0:
                return
            if at.name == "vx_bar":
                yield self.x[at.rs1]
            following = self.execute(at)
            self.x[0] = 0
            self.pc = self.pc + 4 if following is None else following
        raise TimeoutError(f"thread must end within {limit} instructions")

    def execute(self, at: Decoded) -> int | None:
        """Carry out one instruction; return where it goes on if not at the next."""
        x, name = self.x, at.name
        a, b = x[at.rs1], x[at.rs2]
        if name in INTEGER:
            x[at.rd] = INTEGER[name](a, b) & WORD
        elif name in IMMEDIATE:
            x[at.rd] = IMMEDIATE[name](a, at.immediate & WORD) & WORD
        elif name in BRANCH:
            return self.pc + at.immediate if BRANCH[name](a, b) else None
        elif name in ("lui", "auipc"):
            x[at.rd] = (at.immediate << 12) + (self.pc if name == "auipc" else 0) & WORD
        elif name in ("jal", "jalr"):
            x[at.rd] = self.pc + 4
            return (self.pc if name == "jal" else a) + at.immediate & WORD & ~1
        elif name == "csrrs":
            number = at.immediate
            x[at.rd] = next(self.csrs[n] for n, csr in CSRS.items() if csr.number == number)
        elif name[0] in "ls" and name[1:] in ACCESS:
            self.access(at, a, b)
        elif name == "vx_split":
            x[at.rd] = 0
        elif name[0] == "f" and name not in UNSEEN:
            self.float(at, a)
        elif name not in (*UNSEEN, "vx_tmc", "vx_bar"):
            raise ValueError(f"instruction must be one a thread alone knows, not {name}")
        return None

    def access(self, at: Decoded, base: int, data: int):
        """Carry out a load or store of the integer file."""
        size, extends = ACCESS[at.name[1:]]
        place = (base + at.immediate & WORD) - self.start
        assert 0 <= place <= len(self.memory) - size and place % size == 0
        if at.name[0] == "s":
            self.memory[place : place + size] = data.to_bytes(4, "little")[:size]
        else:
            read = self.memory[place : place + size]
            self.x[at.rd] = int.from_bytes(read, "little", signed=extends) & WORD

    def float(self, at: Decoded, integer: int):
        """Carry out an instruction of the float file; rounding is to nearest even."""
        name, f = at.name, self.f
        a, b = f[at.rs1], f[at.rs2]
        if name in ("flw", "fsw"):
            place = (integer + at.immediate & WORD) - self.start
            assert 0 <= place <= len(self.memory) - 4
            if name == "flw":
                f[at.rd] = int.from_bytes(self.memory[place : place + 4], "little")
            else:
                self.memory[place : place + 4] = b.to_bytes(4, "little")
        elif name in FLOAT:
            with np.errstate(all="ignore"):
                f[at.rd] = stored_of(FLOAT[name](number_of(a), number_of(b)))
        elif name == "fsqrt.s":
            with np.errstate(all="ignore"):
                f[at.rd] = stored_of(np.sqrt(number_of(a)))
        elif name in COMPARE:
            with np.errstate(all="ignore"):
                self.x[at.rd] = int(COMPARE[name](number_of(a), number_of(b)))
        elif name in SIGNS:
            f[at.rd] = a & ~SIGN | SIGNS[name](a, b) & SIGN
        elif name == "fmv.w.x":
            f[at.rd] = integer
        elif name == "fmv.x.w":
            self.x[at.rd] = a
        else:
            raise ValueError(f"instruction must be one a thread alone knows, not {name}")


def run_threads(threads: list[Thread]):
    """Run threads one after another from barrier to barrier, at which all of them meet.

    A barrier of all cores (bit 31 of its number) is one that not every thread comes to, between
    two that they do: nothing needs to be done at it.
    """
    running = [thread.run() for thread in threads]
    while running:
        reached = [next((n for n in each if not n >> 31), None) for each in running]
        assert len(set(reached)) == 1, f"threads must meet at one barrier, not at {set(reached)}"
        if reached[0] is None:
            return
