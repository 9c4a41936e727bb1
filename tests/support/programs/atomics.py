"""Random programs of atomics, on words that threads and warps share."""

import random

from spica.hw.config import MachineConfig
from spica.hw.isa.instructions import INSTRUCTIONS, ORDERINGS
from spica.hw.isa.memory_map import SHARED_BASE
from spica.hw.isa.operations import Unit
from spica.sim.iss.program_bench import END, START
from support.programs.corner_operands import INTEGERS
from support.programs.placed_program import PlacedProgram

__all__ = ["ATOMICS", "atomic_program"]

#: Mnemonics, without those of reservations.
ATOMICS = tuple(
    name
    for name, one in INSTRUCTIONS.items()
    if one.unit is Unit.ATOMIC and name not in ("lr.w", "sc.w")
)
#: Words in DRAM that all threads access, in lines of their own, and the results of threads.
WORDS, OWN = 0x8010_0000, 0x8020_0000
OWN_SHIFT = 7
BASES = {"s2": WORDS, "s3": SHARED_BASE}
REGISTERS = ("a0", "a1", "a2", "a3", "a4")


def ordered(rng: random.Random, name: str) -> str:
    """Return an atomic instruction's name, at times with an ordering."""
    allowed = name.split(".")[-1] not in ("aq", "rl")
    return name + rng.choice(ORDERINGS) if allowed and rng.random() < 0.3 else name


class AtomicWriter:
    """Writer of a program's body: t0 is the address of an access, s4 the thread's number."""

    def __init__(self, rng: random.Random, spread: int):
        self.rng, self.spread, self.lines = rng, spread, []

    def address(self, size: int):
        """Append the address of a thread: one word for all, or one of a few for each."""
        rng = self.rng
        base, place = rng.choice(list(BASES)), rng.randrange(0, self.spread, size)
        if rng.random() < 0.4:
            self.lines.append(f"addi t0, {base}, {place}")
            return
        mask = rng.choice((4, 12, self.spread - 1)) & (self.spread - size)
        self.lines += [f"andi t0, {rng.choice(REGISTERS)}, {mask}", f"add t0, t0, {base}"]

    def access(self):
        """Append one atomic access."""
        rng, name = self.rng, self.rng.choice(ATOMICS)
        size = {"b": 1, "h": 2, "w": 4}[name.split(".")[1 if name.startswith("amo") else 0][-1]]
        self.address(size)
        rd, rs2 = rng.choice((*REGISTERS, "zero")), rng.choice((*REGISTERS, "zero"))
        syntax = INSTRUCTIONS[name].syntax
        operands = syntax.replace("rs1", "t0").replace("rs2", rs2).replace("rd", rd)
        self.lines.append(f"{ordered(rng, name)} {operands}")

    def reserve(self):
        """Append a load-reserved and its store-conditional, maybe with a write in between."""
        rng = self.rng
        self.address(4)
        self.lines += ["mv t1, t0", f"{ordered(rng, 'lr.w')} {rng.choice(REGISTERS)}, (t1)"]
        if rng.random() < 0.3:
            self.access()
        self.lines.append(f"{ordered(rng, 'sc.w')} a5, {rng.choice(REGISTERS)}, (t1)")
        self.lines.append(f"add {rng.choice(REGISTERS)}, a5, {rng.choice(REGISTERS)}")

    def plain(self):
        """Append a load or a store of the thread's own word beside the atomics."""
        rng = self.rng
        name, place = rng.choice(("sw", "sb", "lw", "lh")), 4 * rng.randrange(1 << OWN_SHIFT - 2)
        self.lines.append(f"{name} {rng.choice(REGISTERS)}, {place}(s5)")


def atomic_program(
    config: MachineConfig, seed: int, *, length: int = 60, spread: int = 64
) -> PlacedProgram:
    """Return a program whose warps access `spread` bytes of DRAM and of shared memory."""
    core, rng = config.core, random.Random(seed)
    assert core is not None
    hart_width = (config.cores - 1).bit_length() + core.warp_width + core.thread_width
    writer = AtomicWriter(rng, spread)
    writer.lines += [START, "li gp, 0", "csrr s4, mhartid", f"slli s5, s4, {OWN_SHIFT}"]
    writer.lines += [f"li t0, {OWN}", "add s5, s5, t0"]
    writer.lines += [f"li {name}, {base}" for name, base in BASES.items()]
    writer.lines += [f"lw {name}, {4 * k}(s5)" for k, name in enumerate(REGISTERS)]
    for _ in range(length):
        rng.choices((writer.access, writer.reserve, writer.plain), weights=(0.75, 0.15, 0.1))[0]()
    writer.lines += ["pause", "fence rw, rw", END]
    words = [rng.choice((*INTEGERS, rng.getrandbits(32))) for _ in range(1 << hart_width + 5)]
    data = b"".join(word.to_bytes(4, "little") for word in words)
    regions = ((WORDS, spread), (OWN, len(data)), (SHARED_BASE, spread))
    return PlacedProgram("\n".join(writer.lines), ((OWN, data),), regions, f"atomics, seed {seed}")
