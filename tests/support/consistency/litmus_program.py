"""Litmus test programs: many repetitions with different words, delays and disturbances.

Each round starts with a barrier of all warps. Agents then load their addresses and delays, wait,
execute their steps, and store the loaded values. Other warps load the same words and neighbouring
lines, store to other words, and fence now and then. Each thread of a warp has its own words, unless
the shape allows a single instance only.
"""

import random
from collections.abc import Iterator

import numpy as np

from spica.hw.config import MachineConfig
from spica.hw.isa.commands import Function, rocc_word
from spica.hw.isa.memory_map import DMA, DMA_BASE, MATRIX, MATRIX_BASE, SHARED_BASE
from spica.sim.golden.memory.memory_steps import (
    Await,
    Copy,
    Fence,
    FenceI,
    Fetch,
    Load,
    Step,
    Store,
)
from spica.sim.iss.program_bench import END, START
from support.consistency.litmus_shapes import Shape
from support.programs.placed_program import PlacedProgram

__all__ = ["BLOCK", "FIELD", "OUT", "PRODUCT", "WORDS_REPORTED", "LitmusProgram"]

#: Addresses: all words; parameters by round and thread; values loaded by round and thread.
FIELD, TABLE, OUT = (0x8010_0000 + 0x10_0000 * k for k in range(3))
#: Bytes of a round's block of DRAM, and of shared memory; words of a thread in both tables.
BLOCK, NEAR, REPORTED, WORDS_REPORTED = 512, 32, 8, 4
WORD_BYTES = 4
ADDRESSES = tuple(f"a{n}" for n in range(6))
LOADED = ("t1", "t2", "t3", "t4")
VALUES = ("s4", "s5", "s6", "s7")
#: Maximum delay in loop iterations.
DELAY = 40
NEVER = 1 << 31
RETURN = 0x0000_8067
#: Two ones in FP16, bytes of a 4 x 4 operand of them, and the first word of the product.
ONES, OPERAND, PRODUCT = 0x3C00_3C00, 32, 0x4400_4400
#: Steps of LOOP_WS.
COMPUTE, DRAIN = 0x2B8, 0x78


def code_of(value: int) -> int:
    """Return the instruction that sets t6 to a small value."""
    return value << 20 | 31 << 7 | 0x13


class LitmusProgram:
    """A shape for a cluster, repeated for `rounds` rounds in each thread of its warps.

    Parameters
    ----------
    config : MachineConfig
        With two or more cores, of two or more warps.
    shape : Shape
    rounds : int
        At most 256.
    seed : int

    Attributes
    ----------
    program : PlacedProgram

    """

    def __init__(self, config: MachineConfig, shape: Shape, rounds: int, seed: int):
        core = config.core
        assert core is not None and rounds <= 256
        self.config, self.shape, self.rounds = config, shape, rounds
        self.warps, self.threads = core.warps, core.threads
        self.harts = config.cores * self.warps * self.threads
        self.instances = 1 if shape.single else self.threads
        self.rng = random.Random(seed)
        self.near = SHARED_BASE + config.shared.size // 2
        self.window = SHARED_BASE + config.shared.size + DMA_BASE
        #: Addresses of the words of each round and instance.
        self.where: list[list[dict[str, int]]] = []
        self.first = np.zeros(BLOCK * rounds // 4, np.uint32)
        self.table = np.zeros((rounds, self.harts, REPORTED), np.uint32)
        for number in range(rounds):
            self.deal(number)
        self.program = self.place()

    def agent(self, hart: int) -> int | None:
        """Return a thread's agent in the shape, None if it only disturbs."""
        warp = hart // self.threads
        place = warp // self.warps, warp % self.warps
        return self.shape.where.index(place) if place in self.shape.where else None

    def deal(self, number: int) -> None:
        """Choose the words of a round, and each thread's parameters."""
        rng, base = self.rng, FIELD + BLOCK * number
        free = self.some_words(base)
        places = []
        for instance in range(self.instances):
            words = {}
            for place in self.shape.places:
                near = self.near + NEAR * number + WORD_BYTES * (2 * instance)
                if place.startswith("s"):
                    words[place] = near + WORD_BYTES * (int(place[1:]) - 1)
                elif place.startswith("c"):
                    words[place] = base  # the only word in this line
                elif place.startswith("i"):
                    words[place] = base
                    self.first[(base - FIELD) // 4 : (base - FIELD) // 4 + 2] = code_of(0), RETURN
                else:
                    words[place] = free.pop()
            places.append(words)
        self.where.append(places)
        common = rng.randrange(2), rng.randrange(1, 1 << 16)
        for hart in range(self.harts):
            row, agent = self.table[number, hart], self.agent(hart)
            words = places[hart % self.threads % self.instances]
            delays = random.Random(common[1] + hart // self.threads)  # the same in a warp
            row[0], row[1] = delays.randint(1, delays.choice([2, DELAY])), delays.randrange(2)
            if agent is not None:
                row[2 : 2 + len(words)] = list(words.values())
            else:
                dram = [word for name, word in words.items() if not name.startswith("s")]
                seen = [rng.choice(dram or [base]) & ~3 for _ in range(3)]
                row[2:5] = [seen[0], seen[1], rng.choice([seen[2], self.far(base)])]
                row[5:8] = [free.pop(), free.pop(), self.far(base)]

    def far(self, base: int) -> int:
        """Return a word of an earlier round, to evict lines of this one."""
        past = (base - FIELD) // BLOCK * BLOCK
        return FIELD + (self.rng.randrange(0, past, 4) if past else 0)

    def some_words(self, base: int) -> list[int]:
        """Return words of a round's block in random order: in a beat, a few lines, or anywhere."""
        rng, beat = self.rng, self.config.axi.beat_bytes
        needed = self.instances * len(self.shape.places)
        words = list(range(base + 64, base + BLOCK, WORD_BYTES))
        rng.shuffle(words)
        spread = beat if self.shape.beat else rng.choice([beat, 64, 128, 256, BLOCK, BLOCK])
        if self.shape.beat:
            first = base + 64 + beat * rng.randrange((BLOCK - 64) // beat)
        else:
            first = base + 64
        near = [word for word in words if first <= word < first + spread]
        if len(near) < needed:
            near = words
        chosen = near[:needed] if not self.shape.beat else near
        return [word for word in words if word not in set(chosen)] + chosen[::-1]

    def place(self) -> PlacedProgram:
        """Return the program with its data."""
        field, table = BLOCK * self.rounds, self.table.tobytes()
        reported = 4 * WORDS_REPORTED * self.harts * self.rounds
        return PlacedProgram(
            "\n".join(self.lines()),
            ((FIELD, self.first.tobytes()), (TABLE, table)),
            ((FIELD, field), (TABLE, len(table)), (OUT, reported)),
            self.shape.name,
        )

    def lines(self) -> Iterator[str]:
        """Yield the program."""
        yield START
        yield "csrr s11, mhartid"
        yield f"li s0, {TABLE}"
        yield f"slli t0, s11, {(4 * REPORTED).bit_length() - 1}"
        yield "add s0, s0, t0"
        yield f"li s1, {OUT}"
        yield f"slli t0, s11, {(4 * WORDS_REPORTED).bit_length() - 1}"
        yield "add s1, s1, t0"
        yield f"srli s9, s11, {self.threads.bit_length() - 1}"
        if any(name.startswith("s") for name in self.shape.places):
            yield from self.clear()
        if "c" in self.shape.places:
            yield from self.operands()
        yield f"li s2, {self.rounds}"
        yield f"round: li t0, 1\nli t1, {self.warps}\nvx_bar t0, t1"
        yield "lw s3, 0(s0)\nlw s8, 4(s0)"
        yield from (f"lw {a}, {8 + 4 * n}(s0)" for n, a in enumerate(ADDRESSES))
        for number, (core, warp) in enumerate(self.shape.where):
            yield f"li t0, {core * self.warps + warp}\nbeq s9, t0, agent{number}"
        yield from self.disturb()
        for number, steps in enumerate(self.shape.steps):
            yield f"agent{number}: nop"
            yield from self.carry_out(number, steps)
        yield f"end: li t0, {4 * REPORTED * self.harts}\nadd s0, s0, t0"
        yield f"li t0, {4 * WORDS_REPORTED * self.harts}\nadd s1, s1, t0"
        yield "addi s2, s2, -1\nbeqz s2, over\nj round"
        yield f"over: li gp, 0{END}"

    def clear(self) -> Iterator[str]:
        """Yield instructions that clear shared memory; a barrier follows before its use."""
        yield f"li t0, {self.near}\nslli t1, s11, 2\nadd t0, t0, t1"
        yield f"li t1, {-(-NEAR * self.rounds // 4 // self.harts)}\nli t2, {4 * self.harts}"
        yield "clear: sw zero, 0(t0)\nadd t0, t0, t2\naddi t1, t1, -1\nbnez t1, clear\nfence rw, rw"

    def operands(self) -> Iterator[str]:
        """Yield stores of ones for the matrix unit; a barrier follows before its use."""
        yield f"li t0, {SHARED_BASE}\nslli t1, s11, 2\nadd t0, t0, t1\nli t1, {ONES:#x}"
        for at in (0, OPERAND):
            yield from (f"sw t1, {at + 4 * n}(t0)" for n in range(0, OPERAND // 4, self.harts))
        yield "fence rw, rw"

    def disturb(self) -> Iterator[str]:
        """Yield the code of disturbing threads."""
        yield "andi s3, s3, 15\naddi s3, s3, 1"
        yield "other: lw t1, 0(a0)\nlw t2, 0(a1)\nlw t3, 0(a5)\nsw s3, 0(a3)\nlw t4, 0(a2)"
        yield "sw s3, 0(a4)\nbeqz s8, quiet\nfence rw, rw\nquiet: addi s3, s3, -1\nbnez s3, other"
        yield "j end"

    def carry_out(self, number: int, steps: tuple[Step, ...]) -> Iterator[str]:
        """Yield the code of an agent in a round."""
        registers = dict(zip(self.shape.places, ADDRESSES, strict=False))
        loads = [step.register for step in steps if isinstance(step, Load)]
        targets = dict(zip(loads, LOADED, strict=False))
        targets |= {step.register: "t6" for step in steps if isinstance(step, Fetch)}
        stores = [step for step in steps if isinstance(step, Store)]
        values = dict(zip(map(id, stores), VALUES, strict=False))
        if self.shape.single:
            yield "li t0, 1\nvx_tmc t0"
        if any(isinstance(step, Copy) for step in steps):
            yield from self.command()
            yield from self.multiply() if "c" in self.shape.places else ()
        for step in stores:
            value = step.value
            if step.place.startswith("i"):
                value = code_of(value)
            yield f"li {values[id(step)]}, {value >> lowest_byte(step) * 8}"
        yield f"beqz s8, cold{number}"  # in half of the rounds caches start with copies
        for name, register in registers.items():
            if name.startswith("i"):
                yield f"jalr ra, 0({register})"
            elif not name.startswith("s"):
                yield f"lw t0, 0({register})"
        yield f"cold{number}: addi s3, s3, -1\nbnez s3, cold{number}"
        for at, step in enumerate(steps):
            yield from self.step(step, registers, targets, values, f"wait{number}_{at}")
        for at, register in enumerate(targets.values()):
            yield f"sw {register}, {4 * at}(s1)"
        if self.shape.single:
            yield "li t0, -1\nvx_tmc t0"
        yield "j end"

    def command(self) -> Iterator[str]:
        """Yield the set-up of DMA copies, except their addresses."""
        yield f"li s10, {self.window}"
        values = {"dram_pitch": 4, "local_pitch": 4, "shape": WORD_BYTES << 16 | 1, "fill": 0}
        for name, value in values.items():
            yield f"li t0, {value}\nsw t0, {DMA[name].offset}(s10)"
        yield f"li s11, {SHARED_BASE}"

    def multiply(self) -> Iterator[str]:
        """Yield the set-up of the matrix unit's product."""
        yield f"li a7, {self.window - DMA_BASE + MATRIX_BASE}"
        yield from rocc(Function.BOUNDS, 0, 1 | 1 << 16, 1)
        yield from rocc(Function.SPAD_AB, 0, 2 * OPERAND // 8)
        yield from rocc(Function.STRIDES_DC, 0, 4)

    def step(self, step: Step, registers, targets, values, label: str) -> Iterator[str]:
        """Yield the code of one step."""
        match step:
            case Load(place, register):
                yield f"lw {targets[register]}, 0({registers[place]})"
            case Store(place, _, mask):
                name = {1: "sb", 2: "sh", 4: "sw"}[mask.bit_count() // 8]
                yield f"{name} {values[id(step)]}, {lowest_byte(step)}({registers[place]})"
            case Fence():
                yield "fence rw, rw"
            case FenceI():
                yield "fence.i"
            case Fetch(place):
                yield f"jalr ra, 0({registers[place]})"
            case Copy(words):
                ((source, target),) = words
                if target.startswith("c"):
                    yield from rocc(Function.ADDRESSES_DC, 0, registers[target])
                    yield from rocc(Function.LOOP_WS, 0, COMPUTE)
                    yield from rocc(Function.LOOP_WS, 0, DRAIN)
                    return
                is_load = target.startswith("s")
                dram, near = (source, target) if is_load else (target, source)
                yield f"sub t0, {registers[near]}, s11\nsw t0, {DMA['local'].offset}(s10)"
                yield f"sw {registers[dram]}, {DMA['dram'].offset}(s10)"
                yield f"li t0, {int(not is_load)}\nsw t0, {DMA['start'].offset}(s10)"
            case Await():
                yield f"{label}: lw t0, {DMA['running'].offset}(s10)\nbnez t0, {label}"
                if "c" in self.shape.places:
                    yield f"lw t0, {MATRIX['running'].offset}(a7)\nbnez t0, {label}"


def rocc(function: Function, rs1: int, rs2: int | str, rs2_high: int = 0) -> Iterator[str]:
    """Yield a RoCC instruction for the matrix unit; `rs2` may be a register of a thread."""
    fields = {"rs1_low": rs1, "rs1_high": 0, "rs2_low": rs2, "rs2_high": rs2_high}
    for name, value in (fields | {"instruction": rocc_word(function)}).items():
        load = "mv" if isinstance(value, str) else "li"
        yield f"{load} t0, {value}\nsw t0, {MATRIX[name].offset}(a7)"


def lowest_byte(step: Store) -> int:
    """Return the index of the first stored byte of a word."""
    return ((step.mask & -step.mask).bit_length() - 1) // 8
