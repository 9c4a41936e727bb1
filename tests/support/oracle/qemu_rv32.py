"""QEMU, through unicorn, as a complete RV32IMF processor of one thread: runs programs.

Its soft-float deviates from the standard in two cases (see `qemu`). If an executed instruction hits
one of them, its result is corrected before the next and counted in `Rv32.corrections`.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np

from bench.oracle import require
from bench.oracle.qemu import STATUS_FLOAT_ON
from spica.hw.isa.instructions import find

__all__ = ["Rv32", "State"]

INVALID = 0x10
MAGNITUDE, INFINITY = 0x7FFF_FFFF, 0x7F80_0000
#: Upper half of a 64-bit float register that holds a 32-bit number.
BOX = 0xFFFF_FFFF << 32
#: Instructions that deviate; fused ones by their opcodes.
FUSED = {0x43, 0x47, 0x4B, 0x4F}
CHOOSING = {"fmin.s", "fmax.s"}


@dataclass(frozen=True)
class State:
    """Architectural state of a processor.

    Parameters
    ----------
    pc : int
    integers, floats : arrays of uint32
        The 32 registers of each file.
    fcsr : int
        Rounding mode and flags.
    memory : bytes
        The data window.

    """

    pc: int
    integers: np.ndarray
    floats: np.ndarray
    fcsr: int
    memory: bytes


def is_nan(stored: int) -> bool:
    """Return whether a number is NaN."""
    return stored & MAGNITUDE > INFINITY


def is_signalling(stored: int) -> bool:
    """Return whether a NaN is signalling."""
    return not stored & 0x40_0000


@dataclass(frozen=True)
class Correction:
    """Standard-conforming result of an executed instruction for which QEMU deviates."""

    name: str
    register: int | None = None
    value: int = 0
    flags: int = 0


def correction_of(word: int, a: int, b: int) -> Correction | None:
    """Return the correction of `word` with these operands, None if it needs none."""
    if word & 0x7F in FUSED:
        is_invalid = sorted((a & MAGNITUDE, b & MAGNITUDE)) == [0, INFINITY]
        return Correction("fused", flags=INVALID) if is_invalid else None
    if is_nan(a) == is_nan(b) or not is_signalling(a if is_nan(a) else b):
        return None
    return Correction("minimum", register=word >> 7 & 0x1F, value=b if is_nan(a) else a)


@cache
def name_of(word: int) -> str:
    """Return the name of an instruction, empty if `word` is not one."""
    instruction = find(word)
    return instruction.name if instruction else ""


def deviates(word: int) -> bool:
    """Return whether QEMU's result of `word` can need a correction."""
    name = name_of(word)
    return name in CHOOSING or (name != "" and word & 0x7F in FUSED)


class Rv32:
    """A processor with two regions of memory.

    Parameters
    ----------
    code, window : (int, int)
        Address and size of the two regions, multiples of 4096.

    """

    def __init__(self, code: tuple[int, int], window: tuple[int, int]):
        unicorn = require("unicorn")
        self.names = require("unicorn.riscv_const")
        self.hook_code = unicorn.UC_HOOK_CODE
        self.code, self.window = code, window
        self.machine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        for piece in (code, window):
            self.machine.mem_map(*piece)
        self.machine.hook_add(unicorn.UC_HOOK_BLOCK, self.count_block)
        self.integers = [self.names.UC_RISCV_REG_X0 + k for k in range(32)]
        self.floats = [self.names.UC_RISCV_REG_F0 + k for k in range(32)]
        self.hooks: list[int] = []
        self.watched: dict[int, int] = {}
        self.pending: Correction | None = None
        self.blocks: Counter[tuple[int, int]] = Counter()
        self.corrections: Counter[str] = Counter()
        self.words: list[int] = []

    def load(self, words: list[int], data: bytes):
        """Place a program at the start of the code and data in the window; clear the rest."""
        self.words = words
        self.machine.mem_write(self.code[0], np.array(words, "<u4").tobytes())
        self.machine.mem_write(self.window[0], data)
        self.machine.ctl_flush_tb()
        for register in (*self.integers[1:], self.names.UC_RISCV_REG_FCSR):
            self.machine.reg_write(register, 0)
        for register in self.floats:
            self.machine.reg_write(register, BOX)
        self.machine.reg_write(self.names.UC_RISCV_REG_MSCRATCH, 0)
        self.machine.reg_write(self.names.UC_RISCV_REG_MSTATUS, STATUS_FLOAT_ON)
        self.machine.reg_write(self.names.UC_RISCV_REG_PC, self.code[0])
        self.blocks.clear()
        self.watch()

    def watch(self):
        """Call `observe` before every instruction that deviates, and before its successor."""
        for hook in self.hooks:
            self.machine.hook_del(hook)
        start = self.code[0]
        self.watched = {start + 4 * k: w for k, w in enumerate(self.words) if deviates(w)}
        places = sorted({place + step for place in self.watched for step in (0, 4)})
        pieces: list[list[int]] = []
        for place in places:
            if pieces and pieces[-1][1] == place - 4:
                pieces[-1][1] = place
            else:
                pieces.append([place, place])
        self.hooks = [
            self.machine.hook_add(self.hook_code, self.observe, begin=first, end=last)
            for first, last in pieces
        ]

    def observe(self, machine, address: int, size: int, data):
        """Correct the previous instruction, and compute the correction of this one."""
        self.correct()
        if address in self.watched:
            word = self.watched[address]
            a, b = (machine.reg_read(self.floats[word >> place & 0x1F]) for place in (15, 20))
            self.pending = correction_of(word, a, b)

    def correct(self):
        """Apply the correction of the previous instruction."""
        correction, self.pending = self.pending, None
        if correction is None:
            return
        self.corrections[correction.name] += 1
        if correction.register is not None:
            self.machine.reg_write(self.floats[correction.register], BOX | correction.value)
        flags = self.machine.reg_read(self.names.UC_RISCV_REG_FFLAGS)
        self.machine.reg_write(self.names.UC_RISCV_REG_FFLAGS, flags | correction.flags)

    def count_block(self, machine, address: int, size: int, data):
        """Count a run of instructions without a jump."""
        self.blocks[address, size] += 1

    def run(self, end: int) -> State:
        """Execute until the next instruction would be at `end`; return the state."""
        self.machine.emu_start(self.machine.reg_read(self.names.UC_RISCV_REG_PC), end)
        self.correct()
        return self.state()

    def step(self) -> State:
        """Execute one instruction without counting it; return the state after it."""
        start = self.machine.reg_read(self.names.UC_RISCV_REG_PC)
        self.machine.emu_start(start, 0, count=1)
        self.correct()
        return self.state()

    def state(self) -> State:
        """Return the architectural state."""
        registers = [*self.integers, *self.floats]
        registers += [self.names.UC_RISCV_REG_FCSR, self.names.UC_RISCV_REG_PC]
        *values, fcsr, pc = self.machine.reg_read_batch(registers)
        integers, floats = np.array(values, np.uint64).astype(np.uint32).reshape(2, 32)
        memory = bytes(self.machine.mem_read(*self.window))
        return State(pc, integers, floats, fcsr, memory)

    def executed(self) -> Counter[str]:
        """Return the number of executions of each instruction since `load`, by name."""
        hits = np.zeros(len(self.words) + 1, np.int64)
        for (address, size), count in self.blocks.items():
            first = (address - self.code[0]) // 4
            hits[first] += count
            hits[first + size // 4] -= count
        counts: Counter[str] = Counter()
        for word, count in zip(self.words, np.cumsum(hits)[:-1].tolist(), strict=True):
            if count:
                counts[name_of(word)] += count
        return counts
