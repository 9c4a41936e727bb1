"""Proof that every path of a program pairs the instructions of `SPICA_IF` and `SPICA_WHILE`.

The threads of a warp that wait in a construct resume at the instruction that masked them. Their
registers are right there if this instruction exists once for each construct and inlined copy, and
if all threads reach its partner. An abstract execution of each function shows both. Its state is
the stack of the constructs around an instruction, by the addresses of their first instructions:

- A split and a mask push themselves; a join pops its split.
- A pred is in the construct of its mask. Its branch leads into the body, which must return to this
  pred, or pops the construct.
- All paths to an instruction have the same stack, and a path out of the function an empty one.
- Each split has one join and each mask one pred, of the same construct in the source. Each join has
  one split and each pred one mask.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from ..bodies import RETURN_ADDRESS, Body, Step, references
from ..launches import words_of_data
from ..program import Function, Program
from .control_flow import ControlFlow, jump_target
from .records import Kind, Record, records_of

__all__ = ["Crossing", "first_crossing"]

NAMES = {
    Kind.SPLIT: "SPICA_IF",
    Kind.JOIN: "SPICA_IF",
    Kind.MASK: "SPICA_WHILE",
    Kind.PRED: "SPICA_WHILE",
}
BEGINNINGS = {Kind.JOIN: Kind.SPLIT, Kind.PRED: Kind.MASK}

Stack = tuple[int, ...]


@dataclass(frozen=True)
class Crossing:
    """A path over the bounds of a construct.

    Attributes
    ----------
    name : str
        `SPICA_IF` or `SPICA_WHILE`.
    construct, path : str
        Source line of the construct, and of the instruction at which the path crosses its bounds.

    """

    name: str
    construct: str
    path: str


def first_crossing(program: Program) -> Crossing | None:
    """Return the first path of a program over the bounds of a construct, None if there is none."""
    records = records_of(program)
    if not records:
        return None
    functions: dict[Function | None, dict[int, Record]] = defaultdict(dict)
    for pc in sorted(records):
        functions[program.function_at(pc)][pc] = records[pc]
    flow = ControlFlow(program)
    for function, own in functions.items():
        if function is None:  # code without a symbol, which has no bounds
            crossing = (min(own), min(own))
        else:
            crossing = Walk(flow, flow.bodies[function.start], own).crossing()
        if crossing is not None:
            construct, path = crossing
            return Crossing(
                NAMES[records[construct].kind],
                location(program, construct),
                location(program, path),
            )
    return None


def location(program: Program, pc: int) -> str:
    """Return the source line of an instruction."""
    return str(program.line_of(pc) or f"{pc:#x}")


class CrossingError(Exception):
    """A path crosses the bounds of a construct: address of the construct, and of the path."""

    def __init__(self, construct: int, path: int):
        super().__init__(construct, path)
        self.crossing = construct, path


@dataclass
class Walk:
    """Abstract execution of a function with constructs.

    Parameters
    ----------
    flow : ControlFlow
        Control flow of the program.
    body : Body
        The function.
    records : dict of int to Record
        Its records, by address.

    """

    flow: ControlFlow
    body: Body
    records: dict[int, Record]
    #: The constructs around each instruction, and the instruction before it.
    stacks: dict[int, Stack] = field(default_factory=dict)
    origins: dict[int, int] = field(default_factory=dict)
    #: The one join of each split, the one pred of each mask, and conversely.
    partners: dict[int, int] = field(default_factory=dict)
    #: Constructs and steps that leave the function inside them.
    ways_out: list[tuple[int, int]] = field(default_factory=list)

    def crossing(self) -> tuple[int, int] | None:
        """Return the addresses of a construct and of a path over its bounds, or None."""
        waiting = [self.body.function.start]
        self.stacks[waiting[0]] = ()
        try:
            self.require_known_jumps()
            while waiting:
                step = self.body.steps[waiting.pop()]
                for pc, stack in self.after(step):
                    if pc not in self.stacks:
                        waiting.append(pc)
                    self.arrive(pc, stack, step.pc)
        except CrossingError as error:
            return error.crossing
        # A path that joins another one before the end has its line there.
        return self.ways_out[0] if self.ways_out else None

    def after(self, step: Step) -> list[tuple[int, Stack]]:
        """Return the addresses after a step, with their stacks."""
        stack = self.stacks[step.pc]
        record = self.records.get(step.pc)
        if record is None:
            if stack and self.flow.exits(self.body, step):
                self.ways_out.append((stack[-1], step.pc))
        elif record.kind in BEGINNINGS:
            self.pair(stack, record, step)
            if record.kind is Kind.PRED:
                return self.decision(stack, step)
            stack = stack[:-1]
        else:
            stack = (*stack, step.pc)
        return [(pc, stack) for pc in self.flow.successors(self.body, step)]

    def pair(self, stack: Stack, record: Record, step: Step) -> None:
        """Pair a join or pred with the construct on top of the stack."""
        beginning = Record(BEGINNINGS[record.kind], record.identity)
        if not stack or self.records[stack[-1]] != beginning:
            raise CrossingError(stack[-1] if stack else step.pc, self.origins.get(step.pc, step.pc))
        top = stack[-1]
        if self.partners.setdefault(top, step.pc) != step.pc:
            raise CrossingError(top, step.pc)
        if self.partners.setdefault(step.pc, top) != top:
            raise CrossingError(top, step.pc)

    def decision(self, stack: Stack, step: Step) -> list[tuple[int, Stack]]:
        """Return the two ways after a pred: into the body, and out of the construct."""
        branch = self.body.steps.get(step.pc + 4)
        if (
            branch is None
            or branch.name not in ("beq", "bne")
            or branch.field("rs1") != step.field("rs1")
            or branch.field("rs2")
        ):
            raise CrossingError(stack[-1], step.pc)
        ways = [branch.pc + branch.immediate("b"), branch.pc + 4]
        inside, outside = ways if branch.name == "bne" else reversed(ways)
        return [(inside, stack), (outside, stack[:-1])]

    def arrive(self, pc: int, stack: Stack, origin: int) -> None:
        """Keep the stack of an instruction; raise if another path has another one."""
        known = self.stacks.setdefault(pc, stack)
        if known == stack:
            self.origins.setdefault(pc, origin)
            return
        deeper, path = (stack, origin) if len(stack) >= len(known) else (known, self.origins[pc])
        other = known if deeper is stack else stack
        # Below the first construct that only one of them has, both are the same.
        construct = next(pc for k, pc in enumerate(deeper) if other[k : k + 1] != (pc,))
        raise CrossingError(construct, path)

    def require_known_jumps(self) -> None:
        """Raise if the function has a computed goto, whose targets are not known."""
        jumps = [
            step
            for step in self.body.steps.values()
            if step.leaves
            and step.field("rs1") != RETURN_ADDRESS
            and jump_target(self.body, step) is None
        ]
        if not jumps:
            return
        inside = set(self.body.steps) - {self.body.function.start}
        addresses = words_of_data(self.flow.program) | references(self.body.steps.values())[1]
        if inside & addresses:
            raise CrossingError(min(self.records), jumps[0].pc)
