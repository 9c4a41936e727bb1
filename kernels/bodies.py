"""Function bodies of a compiled program: instructions, calls, control flow, parallel blocks."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..hw.isa.assembly import INTEGER_NAMES
from ..hw.isa.encoding import IMMEDIATES, REGISTER_FIELDS
from ..hw.isa.instructions import find
from .program import Function, Program

__all__ = [
    "LOADS",
    "RETURN_ADDRESS",
    "STORES",
    "Body",
    "Step",
    "bodies_of",
    "location",
    "parallel_block",
    "references",
    "steps",
]

STACK_POINTER = INTEGER_NAMES.index("sp")
RETURN_ADDRESS = INTEGER_NAMES.index("ra")
LOADS = ("lb", "lh", "lw", "lbu", "lhu", "flw")
STORES = ("sb", "sh", "sw", "fsw")


@dataclass(frozen=True)
class Step:
    """One instruction: address, word and name; the name is "" for a word that is no instruction."""

    pc: int
    word: int
    name: str

    def field(self, name: str) -> int:
        """Return the number of a register field."""
        return self.word >> REGISTER_FIELDS[name] & 0x1F

    def immediate(self, name: str) -> int:
        """Return the value of an immediate."""
        return IMMEDIATES[name].decode(self.word)

    @property
    def stores_to_stack(self) -> bool:
        """Whether it stores relative to the stack pointer."""
        return self.name in STORES and self.field("rs1") == STACK_POINTER

    @property
    def loads_from_stack(self) -> bool:
        """Whether it loads relative to the stack pointer."""
        return self.name in LOADS and self.field("rs1") == STACK_POINTER

    @property
    def leaves(self) -> bool:
        """Whether it returns or jumps to an address in a register."""
        return self.name == "jalr" and self.field("rd") != RETURN_ADDRESS


@dataclass(frozen=True)
class Body:
    """A function and its instructions, by address."""

    function: Function
    steps: dict[int, Step]

    def successors(self, step: Step) -> list[int]:
        """Return the addresses in this function that can execute after `step`."""
        targets = [] if step.leaves else [step.pc + 4]
        if step.name == "jal" and not step.field("rd"):
            targets = [step.pc + step.immediate("j")]
        elif step.name in ("beq", "bne", "blt", "bge", "bltu", "bgeu"):
            targets.append(step.pc + step.immediate("b"))
        return [pc for pc in targets if pc in self.steps]

    def count(self, name: str) -> int:
        """Return the number of instructions with this name."""
        return sum(step.name == name for step in self.steps.values())


def steps(program: Program, start: int, end: int) -> list[Step]:
    """Return the instructions between two addresses."""
    instructions = []
    for address, data in program.text:
        for pc in range(max(start, address), min(end, address + len(data)), 4):
            word = int.from_bytes(data[pc - address : pc - address + 4], "little")
            instruction = find(word)
            instructions.append(Step(pc, word, instruction.name if instruction else ""))
    return instructions


def location(program: Program, step: Step) -> str:
    """Return an instruction's location for a message."""
    line = program.line_of(step.pc)
    return f"{line} ({step.pc:#x})" if line else f"{step.pc:#x}"


def bodies_of(program: Program, *, with_runtime: bool = False) -> dict[int, Body]:
    """Return the functions of the user, by address; those of the runtime are usually left out."""
    return {
        function.start: Body(
            function, {step.pc: step for step in steps(program, function.start, function.end)}
        )
        for function in program.functions
        if with_runtime or function.start not in program.runtime
    }


def references(some: Iterable[Step]) -> tuple[set[int], set[int]]:
    """Return two sets of addresses: jump and call targets, and addresses built from constants."""
    calls: set[int] = set()
    addresses: set[int] = set()
    constants: dict[int, int] = {}  # constants of registers set by lui or auipc
    for step in some:
        if step.name == "jal":
            calls.add(step.pc + step.immediate("j"))
        elif step.name in ("jalr", "addi") and step.field("rs1") in constants:
            value = constants[step.field("rs1")] + step.immediate("i") & 0xFFFF_FFFF
            (calls if step.name == "jalr" else addresses).add(value)
        elif step.name in ("lui", "auipc"):
            base = step.pc if step.name == "auipc" else 0
            constants[step.field("rd")] = base + (step.immediate("u") << 12) & 0xFFFF_FFFF
    return calls, addresses


def parallel_block(body: Body) -> list[Step]:
    """Return the instructions in a function by which all threads enter a parallel block.

    They start at the first change of the thread mask after a ``vx_wspawn`` and end at the next
    change.
    """
    waiting = [
        (pc, False)
        for step in body.steps.values()
        if step.name == "vx_wspawn"
        for pc in body.successors(step)
    ]
    visited = set(waiting)
    while waiting:
        pc, is_wide = waiting.pop()
        step = body.steps[pc]
        if step.name == "vx_tmc" and is_wide:
            continue
        for following in body.successors(step):
            state = (following, is_wide or step.name == "vx_tmc")
            if state not in visited:
                visited.add(state)
                waiting.append(state)
    return [body.steps[pc] for pc, is_wide in sorted(visited) if is_wide]
