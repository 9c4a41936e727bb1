"""Random programs of many threads that cover all instructions of a core, for lockstep.

They extend those of `simt.py` with: every computing instruction in every rounding mode, control
registers, fences, mask changes, stores of a warp's threads to shared words, warps that end and
restart, barriers of some warps. No thread reads what another warp writes at the same time, so each
instruction has one correct result; only counter values and the mask of active warps depend on time.
"""

import random

from spica.hw.config import MachineConfig
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import SHARED_BASE
from spica.hw.isa.operations import Unit
from support.programs.corner_operands import integer_operand
from support.programs.instructions import COMPUTING, names_of
from support.programs.placed_program import PlacedProgram
from support.programs.simt import (
    COUNTERS,
    FREE,
    HART,
    INPUT,
    MASKS,
    OTHER,
    OWN_BASE,
    SCRATCH_BYTES,
    WORK,
    SimtWriter,
)

__all__ = ["CoreWriter", "core_program"]

#: Data shared by the threads of a warp, at the warp's index.
SHARE, SHARE_SHIFT = 0x8080_0000, 8
ROUNDS = "sp"
FLOATS = names_of(Unit.FP32, Unit.FP32_DIVIDE)
INTEGERS = names_of(Unit.INT)
PRODUCTS = names_of(Unit.MULTIPLY)
QUOTIENTS = names_of(Unit.DIVIDE)
SPECIALS = names_of(Unit.SFU)
EXCHANGES = names_of(Unit.EXCHANGE)
MODES = ("rne", "rtz", "rdn", "rup", "rmm")
BRANCHES = ("beq", "bne", "blt", "bge", "bltu", "bgeu")
IDENTITIES = ("thread_id", "warp_id", "core_id", "mhartid", "num_threads", "thread_mask", "misa")
COUNTER_NAMES = ("mcycle", "minstret", "warp_mask", "mcycleh")


class CoreWriter(SimtWriter):
    """Writer of a random program; without `timing`, nothing in it depends on time."""

    def __init__(self, rng: random.Random, config: MachineConfig, *, timing: bool = True):
        super().__init__(rng, config)
        assert config.core is not None
        self.core = config.core
        self.timing = timing
        self.follows_last = config.core.divergent_branch == "vortex"
        self.shared_barriers = config.barriers // 2
        # Last written register of either file: often read next, while the result is in flight.
        self.recent = {"r": "a0", "f": "f0"}
        self.shared_shift = min(6, config.shared.size.bit_length() - 1 - self.hart_width)

    @property
    def regions(self) -> tuple[tuple[int, int], ...]:
        """Regions that the program accesses besides its code, once all exchanges are written."""
        exchanges = self.exchanges * (4 << self.hart_width)
        return (
            (INPUT, self.exchange_base - INPUT + max(4, exchanges)),
            (SHARE, 1 << self.hart_width + SHARE_SHIFT),
            (SHARED_BASE, 1 << self.hart_width + self.shared_shift),
        )

    # Start and control flow of programs

    def begin(self):
        """Start all threads, and initialise all registers with different values."""
        super().begin()
        self.emit(f"li gp, {self.rng.getrandbits(31)}", "csrwi fcsr, 0", "csrw mscratch, a0")
        for number in (number for number in range(32) if number % 4):
            self.load_float(f"f{number}")

    def again(self, rounds: int):
        """Append the start of a loop of this many rounds."""
        self.emit(f"li {ROUNDS}, {rounds}", "round:")

    def until(self):
        """Append the end of the loop."""
        self.emit(f"addi {ROUNDS}, {ROUNDS}, -1", f"beqz {ROUNDS}, done", "j round", "done:")

    def alone(self):
        """Append the end of all warps except the first, which waits for it."""
        wait = self.label()
        end = self.rng.choice(("vx_tmc zero", "vx_pred zero, zero"))
        self.emit(f"csrr {WORK}, warp_id", f"beqz {WORK}, {wait}", end)
        self.emit(f"{wait}: csrr {WORK}, warp_mask", f"li {OTHER}, 1")
        self.emit(f"bne {WORK}, {OTHER}, {wait}")

    def spawn(self, warps: int):
        """Append the start of warps, with all their threads active."""
        target = self.label()
        self.emit(f"li {WORK}, {warps}", f"la {OTHER}, {target}", f"vx_wspawn {WORK}, {OTHER}")
        self.emit(f"{target}: li {WORK}, -1", f"vx_tmc {WORK}")

    def crews(self):
        """Append warps that end and restart, some of them first."""
        for _ in range(self.rng.randrange(0, 3)):
            self.alone()
            self.spawn(self.rng.randrange(1, self.core.warps + 1))
            for _ in range(self.rng.randrange(4)):
                self.instruction()
        self.alone()
        self.spawn(self.core.warps)

    def barrier(self):
        """Append a barrier of all threads of all cores, with a number that `meet` does not use."""
        number, counter = self.rng.randrange(self.shared_barriers), COUNTERS[0]
        self.emit(f"csrr {counter}, num_warps", f"li {WORK}, {number}", f"vx_bar {WORK}, {counter}")
        if self.config.barrier_scope == "core" and self.config.cores > 1:
            end = self.label()
            self.emit(f"csrr {WORK}, warp_id", f"bnez {WORK}, {end}", f"csrr {counter}, num_cores")
            self.emit(f"li {WORK}, {1 << 31 | number}", f"vx_bar {WORK}, {counter}", f"{end}:")
            self.emit(f"csrr {counter}, num_warps", f"li {WORK}, {number}")
            self.emit(f"vx_bar {WORK}, {counter}")

    def synchronize(self):
        """Append a barrier of the first few warps and one of the others, then of all."""
        if self.core.warps > 1:
            other, end = self.label(), self.label()
            first = self.rng.randrange(1, self.core.warps)
            here, there = self.rng.sample(range(self.shared_barriers, self.config.barriers), 2)
            self.emit(f"csrr {WORK}, warp_id", f"li {OTHER}, {first}")
            self.emit(f"bge {WORK}, {OTHER}, {other}", f"li {WORK}, {here}")
            self.emit(f"vx_bar {WORK}, {OTHER}", f"j {end}", f"{other}: li {WORK}, {there}")
            self.emit(
                f"li {OTHER}, {self.core.warps - first}", f"vx_bar {WORK}, {OTHER}", f"{end}:"
            )
        self.barrier()

    # Instructions

    def instruction(self):
        kinds = (self.compute, self.memory, self.load_input, self.share, self.near)
        kinds += (self.register_access, self.mask, self.jump, self.order)
        self.rng.choices(kinds, (60, 12, 6, 5, 3, 3, 1.5, 2, 0.7))[0]()
        if self.follows_last and self.rng.random() < 0.04:
            self.diverge()

    def target(self) -> str:
        """Return an integer register to write; rarely x0."""
        return "zero" if self.rng.random() < 0.04 else self.register()

    def source(self) -> str:
        return self.rng.choice((*FREE, *FREE, HART, "zero"))

    def operand(self, operand: str) -> str:
        """Return an operand of a computing instruction."""
        rng = self.rng
        if operand[:2] in ("rs", "fs") and rng.random() < 0.3:
            return self.recent[operand[0]]
        if operand in ("rd", "fd"):
            if rng.random() > 0.1:
                self.recent[operand[0]] = self.register() if operand == "rd" else self.float()
            return self.recent[operand[0]] if rng.random() > 0.04 or operand == "fd" else "zero"
        if operand[:2] in ("rs", "fs"):
            return self.source() if operand[0] == "r" else self.float()
        numbers = {
            "i": lambda: rng.choice((-2048, -1, 0, 1, 2047, rng.randrange(-2048, 2048))),
            "u": lambda: rng.choice((0, 1, 0x8_0000, 0xF_FFFF, rng.getrandbits(20))),
            "shamt": lambda: rng.randrange(32),
            "rm": lambda: rng.choice((*MODES, "dyn", "dyn")),
        }
        return str(numbers[operand]())

    def compute(self):
        """Append a computing instruction, sometimes followed by a fresh operand."""
        groups = (INTEGERS, PRODUCTS, QUOTIENTS, FLOATS, SPECIALS, EXCHANGES, COMPUTING)
        name = self.rng.choice(self.rng.choices(groups, (36, 6, 2, 43, 3, 3, 6))[0])
        # Sources first: `recent` must still name the earlier destinations.
        operands = INSTRUCTIONS[name].operands
        texts = [self.operand(operand) for operand in reversed(operands)]
        self.emit(f"{name} {', '.join(reversed(texts))}")
        if self.rng.random() < 0.06:
            self.emit(f"li {WORK}, {integer_operand(self.rng)}")
            self.emit(f"xor {self.register()}, {HART}, {WORK}")

    def memory(self):
        """Append an access to the thread's own data, of either register file."""
        if self.rng.random() < 0.7:
            super().memory()
            return
        name = self.rng.choice(("flw", "fsw", "fsw"))
        offset = self.rng.randrange(0, SCRATCH_BYTES, 4)
        self.emit(f"{name} {self.float()}, {offset}({OWN_BASE})")

    def share(self):
        """Append a store to or a load from data shared by all threads of the warp.

        Among threads that store to one address the highest wins.
        """
        width = self.core.thread_width
        name, size = self.rng.choice((("sw", 4), ("sh", 2), ("sb", 1), ("lw", 4), ("lbu", 1)))
        self.emit(f"srli {OTHER}, {HART}, {width}", f"slli {OTHER}, {OTHER}, {SHARE_SHIFT}")
        self.emit(f"li {WORK}, {SHARE}", f"add {OTHER}, {OTHER}, {WORK}")
        self.emit(f"andi {WORK}, {self.register()}, {self.rng.choice((12, 60, 124)) & -size}")
        self.emit(f"add {OTHER}, {OTHER}, {WORK}")
        offset = self.rng.randrange(0, 128, size)
        self.emit(f"{name} {self.register()}, {offset}({OTHER})")

    def near(self):
        """Append a store to shared memory, and maybe a load of it."""
        size = 1 << self.shared_shift
        self.emit(f"slli {OTHER}, {HART}, {self.shared_shift}", f"li {WORK}, {SHARED_BASE}")
        self.emit(f"add {OTHER}, {OTHER}, {WORK}")
        place = self.rng.randrange(0, size, 4)
        self.emit(f"sw {self.register()}, {place}({OTHER})")
        if self.rng.getrandbits(1):
            self.emit(f"lhu {self.register()}, {place + 2}({OTHER})")

    def register_access(self):
        """Append an access of a control register; the rounding mode remains valid."""
        name = self.rng.choice(("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"))
        register = self.rng.choice(("fflags", "fflags", "frm", "fcsr", "mscratch", "mscratch"))
        if self.rng.random() < 0.3:
            names = (*IDENTITIES, *(COUNTER_NAMES if self.timing else ()))
            self.emit(f"csrr {self.target()}, {self.rng.choice(names)}")
            return
        source = str(self.rng.randrange(32)) if name[-1] == "i" else self.source()
        self.emit(f"{name} {self.target()}, {register}, {source}")
        if register in ("frm", "fcsr"):
            self.emit(f"csrwi frm, {self.rng.randrange(len(MODES))}")

    def mask(self):
        """Append a change of the mask, and its restoration, outside divergent code."""
        register = MASKS[-1]
        if self.nested:
            return
        self.emit(f"csrr {register}, thread_mask")
        mask = self.rng.randrange(1, 1 << self.core.threads)
        self.emit(f"li {WORK}, {mask - (mask >> 31 << 32)}", f"vx_tmc {WORK}")
        for _ in range(self.rng.randrange(3)):
            self.compute()
        self.emit(f"li {WORK}, -1", f"vx_tmc {WORK}")

    def jump(self):
        """Append a jump by register, maybe to an odd address, or a branch uniform in the warp."""
        end, name = self.label(), self.rng.choice(BRANCHES)
        if self.rng.random() < 0.2:
            self.emit(f"la {OTHER}, {end}", f"csrrw {self.target()}, mepc, {OTHER}", "mret")
        elif self.rng.getrandbits(1):
            self.emit(
                f"la {OTHER}, {end}", f"jalr {self.target()}, {self.rng.getrandbits(1)}({OTHER})"
            )
        else:
            self.emit(f"csrr {WORK}, warp_id", f"li {OTHER}, {self.rng.randrange(-1, 4)}")
            operands = self.rng.sample((WORK, OTHER), 2)
            self.emit(f"{name} {operands[0]}, {operands[1]}, {end}")
        for _ in range(self.rng.randrange(3)):
            self.compute()
        self.emit(f"{end}:")

    def order(self):
        self.emit(self.rng.choice(("fence rw, rw", "fence.i")))

    def diverge(self):
        """Append a branch or jump with disagreeing threads: the last active one decides."""
        end = self.label()
        if self.rng.random() < 0.3:
            self.emit(f"la {OTHER}, {end}", f"andi {WORK}, {self.register()}, 4")
            self.emit(f"add {OTHER}, {OTHER}, {WORK}", f"jalr zero, 0({OTHER})")
            self.emit(f"{end}: addi {self.register()}, {self.register()}, 1")
            return
        a, b = self.register(), self.register()
        self.emit(f"{self.rng.choice(BRANCHES)} {a}, {b}, {end}")
        for _ in range(self.rng.randrange(4)):
            self.compute()
        self.emit(f"{end}:")

    def choose(self, depth: int, calls: bool):
        """Append both sides of a condition, and consumers of their results."""
        super().choose(depth, calls)
        for _ in range(self.rng.randrange(3)):
            self.compute()

    # Nesting of constructs

    nested = 0

    def body(self, length: int, depth: int, calls: bool = True):
        self.nested += depth > 0
        super().body(length, depth, calls)
        self.nested -= depth > 0


def core_program(
    seed: int, config: MachineConfig, *, phases: int = 3, rounds: int = 2, timing: bool = True
) -> PlacedProgram:
    """Return a random program for all threads of `config`; its phases run `rounds` times."""
    rng = random.Random(seed)
    writer = CoreWriter(rng, config, timing=timing)
    writer.begin()
    functions = [f"function{k}" for k in range(2)]
    writer.functions = functions
    writer.again(rounds)
    for _ in range(phases):
        writer.body(rng.randrange(8, 24), 0)
        rng.choice((writer.exchange, writer.exchange, writer.synchronize, writer.crews))()
    writer.until()
    inputs = writer.close(functions)
    text, name = "\n".join(writer.lines), f"core_program, seed {seed}, {rounds} rounds"
    return PlacedProgram(text, ((INPUT, inputs),), writer.regions, name)
