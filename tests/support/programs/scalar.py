"""Random programs of one thread: all of RV32IMF and Zicsr, with branches, loops and calls.

QEMU, which executes them as well, lacks the conversions of 16-bit floats.
"""

import random
from dataclasses import dataclass
from itertools import product

from bench.units.fp32_lane import HALVES
from spica.hw.arith.float.rounding import DYNAMIC, Rounding
from spica.hw.isa.csr import CSRS
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import Unit
from support.programs.code_writer import Writer
from support.programs.corner_operands import FLOAT_CLASSES, float_operand, integer_operand

__all__ = ["SCALAR_NAMES", "WINDOW", "WINDOW_BYTES", "ScalarProgram", "scalar_program"]

#: Address of a program's data; its middle is the base of all accesses.
WINDOW, WINDOW_BYTES = 0x8010_0000, 4096
MIDDLE = WINDOW + WINDOW_BYTES // 2

#: Instructions of a single-threaded program; `ecall` and `ebreak` end it.
SCALAR_NAMES = tuple(
    name
    for name, instruction in INSTRUCTIONS.items()
    if instruction.unit
    not in (Unit.WARP, Unit.EXCHANGE, Unit.SFU, Unit.TENSOR, Unit.ATOMIC, Unit.BARRIER)
    if name not in (*HALVES.values(), "mret", "pause")
)
MODES = range(len(Rounding))
FFLAGS, FRM, FCSR, MSCRATCH = (CSRS[n].number for n in ("fflags", "frm", "fcsr", "mscratch"))
ACCESS_BYTES = {"lb": 1, "lbu": 1, "sb": 1, "lh": 2, "lhu": 2, "sh": 2}
#: Operands of multiplications and divisions: overflow, zero, the largest signed and unsigned.
BORDERS = tuple(product((0x8000_0000, 0xFFFF_FFFF, 0x7FFF_FFFF, 0, 1), repeat=2))
LOADS = ("lb", "lh", "lw", "lbu", "lhu")
STORES = ("sb", "sh", "sw")


def names_of(*units: Unit, without: tuple[str, ...] = ()) -> list[str]:
    """Return the names of the instructions of these units."""
    return [
        n
        for n, instruction in INSTRUCTIONS.items()
        if instruction.unit in units and n not in without
    ]


ARITHMETIC = names_of(Unit.INT)
MULTIPLIES = names_of(Unit.MULTIPLY, Unit.DIVIDE)
FLOATS = names_of(Unit.FP32, Unit.FP32_DIVIDE, without=tuple(HALVES.values()))
BRANCHES = names_of(Unit.BRANCH, without=("jal", "jalr"))


@dataclass(frozen=True)
class ScalarProgram:
    """A program and its data.

    Parameters
    ----------
    words : list of int
        From `ENTRY` on.
    end : int
        Address of the final ``ecall`` or ``ebreak``, its last word.
    data : bytes
        Initial contents of the window.

    """

    words: list[int]
    end: int
    data: bytes


class ScalarWriter(Writer):
    """Writer of a random program; four reserved registers, never x0, keep it within bounds."""

    def __init__(self, rng: random.Random):
        super().__init__()
        self.rng = rng
        self.base, self.link, *self.counters = rng.sample(range(1, 32), 4)
        reserved = {self.base, self.link, *self.counters}
        self.free = [register for register in range(32) if register not in reserved]
        self.is_called = False

    def target(self) -> int:
        """Return a destination register, maybe x0."""
        return self.rng.choice(self.free)

    def begin(self):
        """Initialise every register."""
        self.load_immediate(self.base, MIDDLE)
        for register in self.free:
            self.load_immediate(register, integer_operand(self.rng))
        self.write_fcsr()
        for register in range(32):
            self.emit("flw", register, self.read_offset(4), self.base)

    def read_offset(self, size: int) -> int:
        """Return an offset to read: mostly in the constant half, so that operands stay diverse."""
        last = 2048 if self.rng.random() < 0.3 else 0
        return self.rng.randrange(-2048, last, size)

    def body(self, length: int, depth: int = 0):
        """Append a number of constructs."""
        for _ in range(length):
            kind = self.rng.random()
            if kind < 0.04:
                self.skip(depth)
            elif kind < 0.06 and depth < len(self.counters):
                self.loop(depth)
            elif kind < 0.07 and not self.is_called:
                self.call(depth)
            elif kind < 0.08:
                self.jump_by_register()
            else:
                self.instruction()

    def skip(self, depth: int):
        """Append a forward branch or jump over a body."""
        index = self.reserve()
        self.body(self.rng.randrange(0, 8), depth)
        if self.rng.random() < 0.1:
            self.settle(index, "jal", self.target())
            return
        name = self.rng.choice(BRANCHES)
        self.settle(index, name, self.rng.randrange(32), self.rng.randrange(32))

    def loop(self, depth: int):
        """Append a loop of 2 to 9 rounds."""
        counter = self.counters[depth]
        self.emit("addi", counter, 0, self.rng.randrange(2, 10))
        start = len(self.words)
        self.body(self.rng.randrange(3, 25), depth + 1)
        self.emit("addi", counter, counter, -1)
        self.back(*self.rng.choice([("bne", counter, 0), ("blt", 0, counter)]), to=start)

    def call(self, depth: int):
        """Append a function and two calls of it, which jump backwards."""
        self.is_called = True
        over = self.reserve()
        start = len(self.words)
        self.body(self.rng.randrange(1, 8), depth)
        self.emit("jalr", 0, 0, self.link)
        self.settle(over, "jal", 0)
        for _ in range(2):
            self.back("jal", self.link, to=start)
        self.is_called = False

    def jump_by_register(self):
        """Append a jump over data words, to an odd or an even address."""
        register = self.rng.choice([number for number in self.free if number])
        skipped = self.rng.randrange(0, 4)
        self.emit("auipc", register, 0)
        target = self.rng.choice([register, self.target()])
        self.emit("jalr", target, 8 + 4 * skipped + self.rng.getrandbits(1), register)
        self.words += [self.rng.getrandbits(32) for _ in range(skipped)]

    def instruction(self):
        """Append one instruction, or a short sequence."""
        choices = (self.arithmetic, self.multiply, self.float, self.memory, self.refresh, self.csr)
        self.rng.choices(choices, (26, 10, 34, 18, 8, 4))[0]()

    def arithmetic(self):
        name = self.rng.choice(ARITHMETIC) if self.rng.random() < 0.98 else "fence"
        if name == "fence":
            if self.rng.getrandbits(1):
                self.emit("fence.i")
            else:
                self.emit("fence", self.rng.randrange(16), self.rng.randrange(16))
            return
        self.emit(name, *map(self.operand, INSTRUCTIONS[name].operands))

    def multiply(self):
        name = self.rng.choice(MULTIPLIES)
        target, *sources = map(self.operand, INSTRUCTIONS[name].operands)
        if self.rng.random() < 0.3:
            # Random operands are seldom both corner cases.
            sources = self.rng.sample([instruction for instruction in self.free if instruction], 2)
            for register, number in zip(sources, self.rng.choice(BORDERS), strict=True):
                self.load_immediate(register, number)
        self.emit(name, target, *sources)

    def float(self):
        name = self.rng.choice(FLOATS)
        operands = INSTRUCTIONS[name].operands
        numbers = list(map(self.operand, operands))
        if self.rng.random() < 0.15:
            for operand, number in zip(operands, numbers, strict=True):
                if operand in ("fs1", "fs2", "fs3"):
                    place = self.rng.randrange(len(FLOAT_CLASSES))
                    self.emit("flw", number, 4 * place - 2048, self.base)
        if self.rng.random() < 0.7:
            self.emit(name, *numbers)
            return
        # Flags accumulate, so that the flags of a single instruction would seldom show.
        self.emit("csrrwi", self.target(), FFLAGS, 0)
        self.emit(name, *numbers)
        self.emit("csrrs", self.target(), FFLAGS, 0)

    def operand(self, operand: str) -> int:
        """Return the number of an operand."""
        if operand == "rd":
            return self.target()
        if operand == "rm":
            return self.rng.choice((*MODES, DYNAMIC, DYNAMIC))
        if operand == "i":
            return self.rng.choice((-2048, -1, 0, 1, 2047, self.rng.randrange(-2048, 2048)))
        if operand == "u":
            return self.rng.choice((0, 1, 0x8_0000, 0xF_FFFF, self.rng.getrandbits(20)))
        return self.rng.randrange(32)

    def memory(self):
        """Append a load or store of either file, at an offset or at a computed address."""
        name = self.rng.choice((*LOADS, *STORES, "flw", "flw", "fsw"))
        size = ACCESS_BYTES.get(name, 4)
        is_load = name in (*LOADS, "flw")
        offset = self.read_offset(size) if is_load else self.rng.randrange(0, 2048, size)
        base = self.base
        if self.rng.random() < 0.3:
            base = self.rng.choice([number for number in self.free if number])
            index = self.rng.randrange(32)
            self.emit("andi", base, index, self.rng.randrange(0, 1024) & -size)
            self.emit("add", base, base, self.base)
            offset = self.rng.randrange(-2048 if is_load else 0, 1024, size)
        data = self.target() if name in LOADS else self.rng.randrange(32)
        self.emit(name, data, offset, base)

    def refresh(self):
        """Append the load of a fresh operand."""
        if self.rng.getrandbits(1):
            self.load_immediate(self.target(), integer_operand(self.rng))
        else:
            self.emit("flw", self.rng.randrange(32), self.rng.randrange(-2048, 0, 4), self.base)

    def write_fcsr(self):
        """Append a write of a valid rounding mode, flags and unimplemented bits."""
        register = self.rng.choice([number for number in self.free if number])
        mode, flags = self.rng.choice(MODES), self.rng.getrandbits(5)
        self.load_immediate(register, self.rng.getrandbits(24) << 8 | mode << 5 | flags)
        self.emit("csrrw", self.target(), FCSR, register)

    def csr(self):
        """Append a CSR access; the rounding mode is valid whenever an instruction rounds."""
        name = self.rng.choice(("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"))
        number = self.rng.choice((FFLAGS, FRM, FCSR, MSCRATCH))
        if name == "csrrw" and number == FCSR:
            self.write_fcsr()
            return
        source = self.rng.randrange(32)
        self.emit(name, self.target(), number, source)
        sets = name in ("csrrw", "csrrs") and number in (FRM, FCSR)
        if sets or (number == FRM and name in ("csrrwi", "csrrsi")):
            # Higher bits are not implemented.
            mode = self.rng.choice(MODES) | self.rng.choice((0, 8, 16, 24))
            self.emit("csrrwi", self.target(), FRM, mode)


def scalar_program(seed: int, length: int = 150) -> ScalarProgram:
    """Return a random program of `length` constructs at its outermost level."""
    rng = random.Random(seed)
    writer = ScalarWriter(rng)
    writer.begin()
    writer.body(length)
    end = writer.address
    writer.emit(rng.choice(("ecall", "ebreak")))
    words = [float_operand(rng) for _ in range(WINDOW_BYTES // 4)]
    # Some integers, for loads of every size.
    words[::4] = [integer_operand(rng) for _ in words[::4]]
    words[: len(FLOAT_CLASSES)] = FLOAT_CLASSES
    data = b"".join(word.to_bytes(4, "little") for word in words)
    assert len(writer.words) * 4 <= WINDOW - ENTRY
    return ScalarProgram(writer.words, end, data)
