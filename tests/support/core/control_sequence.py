"""Random control instructions, mostly legal in the current state of a core."""

import random

from spica.hw.isa.csr import COUNTER_NUMBERS, CSRS
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import ControlOperation as Operation
from spica.sim.golden.core.control.barrier import OF_CORES
from support.core.control_model import RS1, RS2, WORD, ControlModel, Instruction

__all__ = ["ControlSequence"]

RD = 5
PROGRAM_BYTES = 0x4000
#: Relative frequency of each operation.
WEIGHTS = {
    Operation.SPLIT: 22,
    Operation.JOIN: 22,
    Operation.TMC: 10,
    Operation.PRED: 8,
    Operation.BAR: 12,
    Operation.WSPAWN: 6,
    Operation.CSRRW: 9,
    Operation.CSRRS: 9,
    Operation.CSRRC: 9,
    Operation.FENCE: 1,
    Operation.FENCE_I: 2,
    Operation.MRET: 3,
    Operation.ILLEGAL: 1,
}
NAMES = {
    Operation.TMC: "vx_tmc",
    Operation.WSPAWN: "vx_wspawn",
    Operation.SPLIT: "vx_split",
    Operation.JOIN: "vx_join",
    Operation.BAR: "vx_bar",
    Operation.PRED: "vx_pred",
    Operation.FENCE: "fence",
    Operation.FENCE_I: "fence.i",
    Operation.MRET: "mret",
}
#: Registers with state are chosen more often.
STATEFUL = ("fflags", "frm", "fcsr", "mscratch", "mepc")
REGISTERS = [csr.number for csr in CSRS.values()] + [
    *(CSRS[name].number for name in STATEFUL for _ in range(8)),
    *(numbers[3] for numbers in COUNTER_NUMBERS),
]


class ControlSequence:
    """Generator of the next instruction for a model.

    Parameters
    ----------
    model : ControlModel
        Read for its state; the caller is expected to execute each instruction on it.
    rng : random.Random
    """

    def __init__(self, model: ControlModel, rng: random.Random):
        self.model = model
        self.rng = rng
        self.threads = model.shape.threads

    def next(self) -> Instruction:
        """Return an instruction of a runnable warp, after which some warp can continue."""
        while True:
            runnable = self.model.runnable
            operation = self.one(self.rng.choice(runnable), runnable)
            if len(runnable) > 1 or self.continues(operation):
                return operation

    def continues(self, given: Instruction) -> bool:
        """Return whether the only runnable warp can continue after an instruction."""
        if given.operation is Operation.TMC:
            return bool(given.scalar(0) & self.model.all)
        if given.operation is Operation.PRED:
            return bool(given.chosen or given.scalar(1) & self.model.all)
        return given.operation is not Operation.BAR or self.opens(given)

    def opens(self, given: Instruction) -> bool:
        """Return whether an arrival opens its barrier, or is refused."""
        config, number, count = self.model.config, given.scalar(0), given.scalar(1)
        of_cores = config.barrier_scope == "core" and bool(number & OF_CORES)
        number &= ~OF_CORES if of_cores else WORD
        most = config.cores if of_cores else self.model.shape.warps
        counts = [count for place, count in self.model.arrivals if place == (of_cores, number)]
        is_refused = number >= config.barriers or not 1 <= count <= most
        return is_refused or count == len(counts) + 1 or any(other != count for other in counts)

    def one(self, warp: int, runnable: list[int]) -> Instruction:
        """Return any instruction of a warp."""
        rng, model = self.rng, self.model
        operation = rng.choices([*WEIGHTS], [*WEIGHTS.values()])[0]
        first, second = self.scalars(operation, warp, len(runnable))
        mask = model.masks[warp]
        rows = [self.row(mask, first), self.row(mask, second), self.row(mask, self.word())]
        if operation in (Operation.SPLIT, Operation.PRED):
            rows[0] = self.conditions()
        return self.build(operation, warp, rows)

    def build(self, operation: Operation, warp: int, rows: list) -> Instruction:
        """Return the instruction with these operands."""
        rng, number, place, is_immediate = self.rng, 0, 0, False
        rd = rng.choice((RD, RD, RD, 0))
        writes = rd != 0
        if operation in (Operation.CSRRW, Operation.CSRRS, Operation.CSRRC):
            operation, number, place, is_immediate = self.register(operation)
            name = operation.name.lower() + ("i" if is_immediate else "")
            word = INSTRUCTIONS[name].match | number << 20 | place << 15 | rd << 7
            if is_immediate or place == 0:
                rows[0] = (0,) * self.threads
        elif operation is Operation.ILLEGAL:
            word, writes = WORD, False
        else:
            instruction = INSTRUCTIONS[NAMES[operation]]
            writes = writes and operation is Operation.SPLIT
            fields = {"rd": rd << 7, "rs1": RS1 << 15, "rs2": RS2 << 20}
            used = [fields[name] for name in instruction.operands if name in fields]
            word = instruction.match | sum(used)
        return Instruction(
            word=word,
            warp=warp,
            mask=self.model.masks[warp],
            pc=ENTRY + 4 * rng.randrange(PROGRAM_BYTES // 4),
            operation=operation,
            rows=tuple(rows),
            rd=rd,
            writes=writes,
            immediate=number | place << 12,
            b_is_immediate=is_immediate,
        )

    def word(self) -> int:
        return self.rng.getrandbits(32)

    def row(self, mask: int, scalar: int) -> tuple[int, ...]:
        """Return an operand with `scalar` in the last active thread and random words elsewhere."""
        values = [self.word() for _ in range(self.threads)]
        values[mask.bit_length() - 1] = scalar
        return tuple(values)

    def conditions(self) -> tuple[int, ...]:
        """Return an operand that is odd in all threads, in none, or in some."""
        kind = self.rng.choice(("all", "none", "some", "some", "some"))
        bits = {"all": -1, "none": 0, "some": self.word()}[kind]
        return tuple(self.word() & ~1 | bits >> thread & 1 for thread in range(self.threads))

    def scalars(self, operation: Operation, warp: int, runnable: int) -> tuple[int, int]:
        """Return operands 0 and 1 of the last active thread."""
        rng, every = self.rng, self.model.all
        if operation is Operation.TMC:
            ends = rng.random() < (0.02 if warp == 0 else 0.08)
            return (0 if ends else rng.choice((every, WORD, self.word() | 1))), self.word()
        if operation is Operation.PRED:
            return 0, rng.choice((every, WORD, self.word(), 0))
        if operation is Operation.JOIN:
            flag = rng.random() < (0.65 if self.model.warps[warp].stack else 0.05)
            return self.word() & ~1 | flag, self.word()
        if operation is Operation.WSPAWN:
            return self.spawn()
        if operation is Operation.BAR:
            return self.barrier(runnable)
        return self.word(), self.word()

    def spawn(self) -> tuple[int, int]:
        """Return the number of warps to start and their pc; sometimes illegal."""
        rng, warps = self.rng, self.model.shape.warps
        count, pc = rng.randint(0, warps), ENTRY + 4 * rng.randrange(PROGRAM_BYTES // 4)
        if rng.random() < 0.05:
            count = rng.choice((warps + 1, self.word() | 1 << 31))
        if rng.random() < 0.05:
            pc += rng.randint(1, 3)
        return count, pc

    def barrier(self, runnable: int) -> tuple[int, int]:
        """Return a barrier and a count, mostly ones that other warps wait with or can reach."""
        rng, config = self.rng, self.model.config
        number = rng.randrange(min(3, config.barriers))
        if rng.random() < 0.05:
            number = rng.choice((config.barriers, config.barriers + number, WORD, self.word()))
        of_cores = config.barrier_scope == "core" and rng.random() < 0.15
        counts = [count for place, count in self.model.arrivals if place == (of_cores, number)]
        most = config.cores if of_cores else min(4, runnable)
        count = counts[0] if counts else rng.randint(1, most)
        if rng.random() < 0.05:
            warps = self.model.shape.warps
            count = rng.choice((0, warps, warps + 1, config.cores + 1, self.word()))
        return number | OF_CORES * of_cores, count

    def register(self, operation: Operation) -> tuple[Operation, int, int, bool]:
        """Return operation, control register, field of rs1, and whether that is an immediate."""
        rng = self.rng
        number = rng.choice(REGISTERS)
        if rng.random() < 0.1:
            number = rng.choice((
                rng.choice(COUNTER_NUMBERS[0]),
                rng.choice(COUNTER_NUMBERS[1]),
                rng.getrandbits(12),
            ))
        is_immediate = rng.random() < 0.5
        field = rng.choice((0, rng.getrandbits(5))) if is_immediate else rng.choice((0, RS1))
        return operation, number, field, is_immediate
