"""Random programs of many threads: divergence, loops of different lengths, barriers.

No thread reads what another may write at the same time, and no branch is divergent. Each thread
therefore computes the same as if it ran alone, with `vx_split`, `vx_join` and `vx_pred` as no-ops.
Masks and results of `vx_split` are never operands.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from spica.hw.config import MachineConfig
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.program import Program, assemble_program
from support.programs.corner_operands import float_operand, integer_operand

__all__ = ["INPUT", "OWN", "OWN_BYTES", "SimtProgram", "simt_program"]

#: Input data, read by all threads.
INPUT, INPUT_BYTES = 0x8010_0000, 4096
#: Private data of each thread, by hart index; its last part is the final contents of its
#: registers.
OWN, OWN_BYTES = 0x8011_0000, 1024
SCRATCH_BYTES = 256

# Registers: operands of programs, and registers of their control flow.
FREE = ("t0", "t1", "t2", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t4", "t5", "t6")
OWN_BASE, INPUT_BASE, EXCHANGE_BASE, HART = "s0", "s1", "s2", "s3"
MASKS, COUNTERS = ("s4", "s5", "s6", "s7"), ("s8", "s9", "s10", "s11")
WORK, OTHER = "t3", "tp"
DEPTH = len(MASKS)

INTEGER = ("add", "sub", "xor", "or", "and", "sll", "srl", "sra", "slt", "sltu")
INTEGER += ("mul", "mulh", "mulhu", "mulhsu", "div", "divu", "rem", "remu")
IMMEDIATE = ("addi", "xori", "ori", "andi", "slti", "sltiu")
FLOAT = ("fadd.s", "fsub.s", "fmul.s", "fdiv.s")
SIGNS = ("fsgnj.s", "fsgnjn.s", "fsgnjx.s")
COMPARES = ("feq.s", "flt.s", "fle.s")
PACKS = ("fpack.h.s", "fpack.bf16.s")
SINGLES = ("fcvt.h.s", "fcvt.bf16.s", "fcvt.s.h", "fcvt.s.bf16")
UNPACKS = ("funpackl.s.h", "funpackh.s.h", "funpackl.s.bf16", "funpackh.s.bf16")


@dataclass(frozen=True)
class SimtProgram:
    """A program of all threads of a machine, and its input data.

    Parameters
    ----------
    text : str
    program : Program
    inputs : bytes
        Contents of `INPUT`.
    memory : tuple of (int, int)
        Address and size of all memory that it accesses besides its code.

    """

    text: str
    program: Program
    inputs: bytes
    memory: tuple[int, int]


class SimtWriter:
    """Writer of a random program."""

    def __init__(self, rng: random.Random, config: MachineConfig):
        self.rng = rng
        self.config = config
        self.lines: list[str] = []
        self.labels = 0
        self.exchanges = 0
        self.functions: list[str] = []

    def emit(self, *lines: str):
        self.lines += lines

    def label(self) -> str:
        """Return a new label."""
        self.labels += 1
        return f"l{self.labels}"

    def register(self) -> str:
        return self.rng.choice(FREE)

    def float(self) -> str:
        return f"f{self.rng.randrange(32)}"

    @property
    def hart_width(self) -> int:
        """Bits of a hart's index."""
        assert self.config.core is not None
        cores = (self.config.cores - 1).bit_length()
        return cores + self.config.core.warp_width + self.config.core.thread_width

    @property
    def exchange_base(self) -> int:
        """Address of the words of exchanges, behind the threads' private data."""
        return OWN + (OWN_BYTES << self.hart_width)

    def begin(self):
        """Start all threads, and initialise their registers with different values."""
        self.emit("csrr t0, num_warps", "la t1, start", "vx_wspawn t0, t1")
        self.emit("start: li t0, -1", "vx_tmc t0", f"csrr {HART}, mhartid")
        self.emit(f"li {WORK}, {OWN_BYTES}", f"mul {OWN_BASE}, {HART}, {WORK}")
        self.emit(f"li {WORK}, {OWN}", f"add {OWN_BASE}, {OWN_BASE}, {WORK}")
        self.emit(f"li {INPUT_BASE}, {INPUT + INPUT_BYTES // 2}")
        self.emit(f"li {EXCHANGE_BASE}, {self.exchange_base}")
        self.emit("csrr a0, thread_id", "csrr a1, warp_id", "csrr a2, core_id")
        # Includes the registers that only lane 0 of warp 0 has used so far.
        for register in (name for name in FREE if name not in ("a0", "a1", "a2")):
            self.emit(f"li {WORK}, {integer_operand(self.rng)}")
            self.emit(f"add {register}, {HART}, {WORK}")
        for number in range(0, 32, 4):
            self.load_float(f"f{number}")

    def load_float(self, register: str):
        """Append a float load from an address that depends on the thread."""
        self.emit(f"slli {WORK}, {HART}, 2", f"andi {WORK}, {WORK}, 1020")
        self.emit(f"add {WORK}, {WORK}, {INPUT_BASE}")
        self.emit(f"flw {register}, {self.rng.randrange(-2048, 1024, 4)}({WORK})")

    def body(self, length: int, depth: int, calls: bool = True):
        """Append a number of constructs, inside `depth` others."""
        for _ in range(length):
            kind = self.rng.random()
            if kind < 0.14 and depth < DEPTH:
                self.choose(depth, calls)
            elif kind < 0.19 and depth < DEPTH:
                self.repeat_by_thread(depth, calls)
            elif kind < 0.22 and depth < DEPTH:
                self.repeat(depth, calls)
            elif kind < 0.24:
                self.choose_by_warp(depth, calls)
            elif kind < 0.27 and calls and self.functions:
                self.emit(f"call {self.rng.choice(self.functions)}")
            else:
                self.instruction()

    def inside(self, depth: int, calls: bool):
        self.body(self.rng.randrange(0, 6), depth + 1, calls)

    def condition(self):
        """Append code that sets `WORK` to 0 or 1, by thread."""
        kind = self.rng.randrange(4)
        if kind == 0:
            self.emit(f"andi {WORK}, {self.register()}, 1")
        elif kind == 1:
            name = self.rng.choice(("slt", "sltu"))
            self.emit(f"{name} {WORK}, {self.register()}, {self.register()}")
        elif kind == 2:
            self.emit(f"srl {WORK}, {self.register()}, {HART}", f"andi {WORK}, {WORK}, 1")
        else:
            name = self.rng.choice(COMPARES)
            self.emit(f"{name} {WORK}, {self.float()}, {self.float()}")

    def choose(self, depth: int, calls: bool):
        """Append a divergent condition; either side may be empty, or both the same."""
        other, end = self.label(), self.label()
        form = self.rng.choice(("both", "both", "then", "else", "same"))
        self.condition()
        self.emit(f"vx_split {MASKS[depth]}, {WORK}, {self.rng.choice(('x0', 'x1'))}")
        if form == "both":
            self.emit(f"beqz {WORK}, {other}")
            self.inside(depth, calls)
            self.emit(f"j {end}", f"{other}:")
        elif form == "then":
            self.emit(f"beqz {WORK}, {end}")
        elif form == "else":
            self.emit(f"bnez {WORK}, {end}")
        self.inside(depth, calls)
        self.emit(f"{end}: vx_join {MASKS[depth]}")

    def repeat_by_thread(self, depth: int, calls: bool):
        """Append a loop of 0 to 3 rounds, depending on the thread."""
        start, end, counter = self.label(), self.label(), COUNTERS[depth]
        self.emit(f"csrr {MASKS[depth]}, thread_mask", f"andi {counter}, {self.register()}, 3")
        self.emit(f"{start}: snez {WORK}, {counter}", f"vx_pred {WORK}, {MASKS[depth]}")
        self.emit(f"beqz {WORK}, {end}")
        self.inside(depth, calls)
        self.emit(f"addi {counter}, {counter}, -1", f"j {start}", f"{end}:")

    def repeat(self, depth: int, calls: bool):
        """Append a loop of 1 to 3 rounds, the same for all threads."""
        start, counter = self.label(), COUNTERS[depth]
        self.emit(f"li {counter}, {self.rng.randrange(1, 4)}", f"{start}:")
        self.inside(depth, calls)
        self.emit(f"addi {counter}, {counter}, -1", f"bnez {counter}, {start}")

    def choose_by_warp(self, depth: int, calls: bool):
        """Append a branch taken by some warps, each as a whole."""
        end = self.label()
        self.emit(f"csrr {WORK}, warp_id", f"andi {WORK}, {WORK}, 1", f"beqz {WORK}, {end}")
        self.body(self.rng.randrange(1, 4), depth, calls)
        self.emit(f"{end}:")

    def instruction(self):
        kinds = (self.integer, self.float_instruction, self.memory, self.load_input)
        self.rng.choices(kinds, (5, 4, 2, 2))[0]()

    def integer(self):
        if self.rng.random() < 0.6:
            operands = ", ".join(self.register() for _ in range(3))
            self.emit(f"{self.rng.choice(INTEGER)} {operands}")
        else:
            name, value = self.rng.choice(IMMEDIATE), self.rng.randrange(-2048, 2048)
            self.emit(f"{name} {self.register()}, {self.register()}, {value}")

    def float_instruction(self):
        kind = self.rng.randrange(8)
        first, second, third = self.float(), self.float(), self.float()
        if kind < 3:
            self.emit(f"{self.rng.choice(FLOAT)} {first}, {second}, {third}, rne")
        elif kind == 3:
            self.emit(f"{self.rng.choice(SIGNS)} {first}, {second}, {third}")
        elif kind == 4:
            self.emit(f"{self.rng.choice(COMPARES)} {self.register()}, {second}, {third}")
        elif kind == 5:
            single = f"{self.rng.choice(SINGLES)} {first}, {second}, rne"
            pack = f"{self.rng.choice(PACKS)} {first}, {second}, {third}, rne"
            self.emit(self.rng.choice((single, pack)))
        elif kind == 6:
            self.emit(f"{self.rng.choice(UNPACKS)} {first}, {second}")
        else:
            moves = (f"fmv.w.x {first}, {self.register()}", f"fmv.x.w {self.register()}, {second}")
            self.emit(self.rng.choice((*moves, f"fsqrt.s {first}, {second}, rne")))

    def memory(self):
        """Append an access to the thread's private data."""
        name, size = self.rng.choice((
            *(("lw", 4), ("lh", 2), ("lhu", 2), ("lb", 1), ("lbu", 1)),
            *(("sw", 4), ("sw", 4), ("sh", 2), ("sh", 2), ("sb", 1)),
        ))
        self.emit(f"andi {WORK}, {self.register()}, {SCRATCH_BYTES // 2 - size}")
        self.emit(f"add {WORK}, {WORK}, {OWN_BASE}")
        offset = self.rng.randrange(0, SCRATCH_BYTES // 2, size)
        self.emit(f"{name} {self.register()}, {offset}({WORK})")

    def load_input(self):
        """Append a load of input data, at an address that depends on the thread."""
        if self.rng.getrandbits(1):
            self.load_float(self.float())
            return
        self.emit(f"andi {WORK}, {self.register()}, 1020", f"add {WORK}, {WORK}, {INPUT_BASE}")
        self.emit(f"lw {self.register()}, {self.rng.randrange(-2048, 1024, 4)}({WORK})")

    def exchange(self):
        """Append a store, a barrier of all threads, and a load of another thread's value."""
        register, width = self.register(), self.hart_width
        offset = self.exchanges * (4 << width)
        self.exchanges += 1
        self.emit(f"li {OTHER}, {offset}", f"add {OTHER}, {OTHER}, {EXCHANGE_BASE}")
        self.emit(f"slli {WORK}, {HART}, 2", f"add {WORK}, {WORK}, {OTHER}")
        self.emit(f"sw {register}, 0({WORK})")
        self.barrier()
        other = self.register()
        self.emit(f"slli {WORK}, {other}, {32 - width}" if width else f"li {WORK}, 0")
        self.emit(f"srli {WORK}, {WORK}, {30 - width}", f"andi {WORK}, {WORK}, -4")
        self.emit(f"add {WORK}, {WORK}, {OTHER}", f"lw {self.register()}, 0({WORK})")

    def barrier(self):
        """Append a barrier of all threads of all cores."""
        number, again = (self.rng.randrange(self.config.barriers) for _ in range(2))
        counter = COUNTERS[0]
        self.emit(f"csrr {counter}, num_warps", f"li {WORK}, {number}", f"vx_bar {WORK}, {counter}")
        if self.config.barrier_scope == "cluster":
            return
        # One warp of each core meets those of the others; the remaining warps wait for it.
        end = self.label()
        self.emit(f"csrr {WORK}, warp_id", f"bnez {WORK}, {end}", f"csrr {counter}, num_cores")
        self.emit(f"li {WORK}, {1 << 31 | again}", f"vx_bar {WORK}, {counter}", f"{end}:")
        self.emit(f"csrr {counter}, num_warps", f"li {WORK}, {number}", f"vx_bar {WORK}, {counter}")

    def finish(self):
        """Store every computed register, and end."""
        for place, register in enumerate(FREE):
            self.emit(f"sw {register}, {SCRATCH_BYTES + 4 * place}({OWN_BASE})")
        for number in range(32):
            self.emit(f"fsw f{number}, {2 * SCRATCH_BYTES + 4 * number}({OWN_BASE})")
        self.emit("vx_tmc x0")

    def close(self, functions: Sequence[str]) -> bytes:
        """Append the end of the program and its functions; return contents of `INPUT`."""
        self.finish()
        for name in functions:
            # Called from any depth: its own divergence needs registers that no caller uses.
            self.emit(f"{name}:")
            self.body(self.rng.randrange(1, 6), DEPTH, calls=False)
            self.emit("ret")
        operands = (integer_operand, float_operand)
        words = [self.rng.choice(operands)(self.rng) for _ in range(INPUT_BYTES // 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)


def simt_program(seed: int, config: MachineConfig, phases: int = 3) -> SimtProgram:
    """Return a random program for all threads of `config`, with exchanges between its phases."""
    rng = random.Random(seed)
    writer = SimtWriter(rng, config)
    writer.begin()
    functions = [f"function{k}" for k in range(2)]
    for phase in range(phases):
        writer.functions = functions
        writer.body(rng.randrange(10, 30), 0)
        if phase < phases - 1:
            writer.exchange()
    inputs = writer.close(functions)
    text = "\n".join(writer.lines)
    size = writer.exchange_base - INPUT + phases * (4 << writer.hart_width)
    program = assemble_program(text, ENTRY)
    return SimtProgram(text, program, inputs, (INPUT, size))
