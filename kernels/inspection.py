"""What is wrong with a compiled program before it runs: spills, unbalanced splits, odd words."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..hw.isa.assembly import INTEGER_NAMES
from ..hw.isa.encoding import IMMEDIATES, REGISTER_FIELDS
from ..hw.isa.instructions import find
from .program import Function, Program

__all__ = ["inspect_program"]

STACK_POINTER = INTEGER_NAMES.index("sp")
RETURN_ADDRESS = INTEGER_NAMES.index("ra")
ATOMIC_OPCODE = 0x2F
STORES = ("sb", "sh", "sw", "fsw")
#: What the library has for threads that differ; other functions beginning so are the compiler's.
SAFE_HELPERS = ("__extendsfdf2",)


@dataclass(frozen=True)
class Step:
    """One instruction: its address, word, name ("" if there is none of this word), operands."""

    pc: int
    word: int
    name: str

    def field(self, name: str) -> int:
        """Return the number of a register field."""
        return self.word >> REGISTER_FIELDS[name] & 0x1F

    def immediate(self, name: str) -> int:
        """Return an immediate."""
        return IMMEDIATES[name].decode(self.word)

    @property
    def is_store_to_stack(self) -> bool:
        """Whether it stores relative to the stack pointer."""
        return self.name in STORES and self.field("rs1") == STACK_POINTER


@dataclass(frozen=True)
class Body:
    """A function's instructions, and what they tell of other functions.

    Parameters
    ----------
    function : Function
    steps : list of Step
    calls : set of int
        Addresses it calls, or jumps to outside itself.
    taken : set of int
        Addresses it makes of constants: perhaps those of functions.

    """

    function: Function
    steps: list[Step]
    calls: set[int]
    taken: set[int]

    def store_to_stack(self) -> Step | None:
        """Return the first instruction that stores to the stack."""
        return next((step for step in self.steps if step.is_store_to_stack), None)


def steps(program: Program, start: int, end: int) -> list[Step]:
    """Return the instructions between two addresses."""
    found = []
    for address, data in program.text:
        for pc in range(max(start, address), min(end, address + len(data)), 4):
            word = int.from_bytes(data[pc - address : pc - address + 4], "little")
            instruction = find(word)
            found.append(Step(pc, word, instruction.name if instruction else ""))
    return found


def body_of(program: Program, function: Function) -> Body:
    """Return a function's instructions with the addresses they reach by constants."""
    body = Body(function, steps(program, function.start, function.end), set(), set())
    constants: dict[int, int] = {}  # of registers that a lui or auipc set
    for step in body.steps:
        target = None
        if step.name == "jal":
            target = step.pc + step.immediate("j")
        elif step.name in ("jalr", "addi") and step.field("rs1") in constants:
            value = constants[step.field("rs1")] + step.immediate("i") & 0xFFFF_FFFF
            if step.name == "jalr":
                target = value
            else:
                body.taken.add(value)
        if target is not None and not function.start <= target < function.end:
            body.calls.add(target)
        if step.name in ("lui", "auipc"):
            base = step.pc if step.name == "auipc" else 0
            constants[step.field("rd")] = base + (step.immediate("u") << 12) & 0xFFFF_FFFF
    return body


def words_of_data(program: Program) -> set[int]:
    """Return every word that is not executed: pointers to functions are among them.

    Constructors do not count: they run before main, in one thread.
    """
    executed = [range(address, address + len(data)) for address, data in program.text]
    executed.append(
        range(
            program.symbols.get("__init_array_start", 0), program.symbols.get("__init_array_end", 0)
        )
    )
    return {
        int.from_bytes(data[offset : offset + 4], "little")
        for address, data in program.segments
        for offset in range(0, len(data) - 3, 4)
        if not any(address + offset in part for part in executed)
    }


def task_functions(program: Program, bodies: dict[int, Body]) -> list[Body]:
    """Return the user's functions that many threads run: those called by pointer, and theirs.

    A function whose address the program holds is run by a launch; what main calls by name is not.
    """
    pointers = words_of_data(program).union(*(body.taken for body in bodies.values()))
    waiting = [address for address in bodies if address in pointers]
    reached: dict[int, Body] = {}
    while waiting:
        address = waiting.pop()
        if address in bodies and address not in reached:
            reached[address] = bodies[address]
            waiting += bodies[address].calls
    return [reached[address] for address in sorted(reached)]


def place(program: Program, step: Step) -> str:
    """Return how a message names an instruction's place."""
    line = program.line_of(step.pc)
    return f"{line} ({step.pc:#x})" if line else f"{step.pc:#x}"


def odd_words(program: Program) -> Iterator[str]:
    """Yield a complaint for each kind of word that is no instruction of the cores."""
    for address, data in program.text:
        for step in steps(program, address, address + len(data)):
            if step.name:
                continue
            if step.word & 3 != 3:
                what = "compressed instructions, which cores do not have"
            elif step.word & 0x7F == ATOMIC_OPCODE:
                what = "atomic instructions, which cores do not have"
            else:
                what = f"the word {step.word:#010x}, which is no instruction"
            yield f"the program has {what}, at {place(program, step)}"
            break  # what follows may only be out of step


def spills(program: Program, body: Body) -> Iterator[str]:
    """Yield a complaint if a function of tasks stores to its stack."""
    step = body.store_to_stack()
    if step is not None:
        count = sum(step.is_store_to_stack for step in body.steps)
        yield (
            f"{body.function.name}, which every thread runs, stores to its stack in {count} "
            f"instructions, first at {place(program, step)}: let it keep less, and inline what it "
            "calls"
        )


def helpers(program: Program, body: Body) -> Iterator[str]:
    """Yield a complaint for each function of the compiler's that a task calls."""
    for address in sorted(body.calls):
        name = program.function_of(address) or ""
        if address in program.runtime and name.startswith("__") and name not in SAFE_HELPERS:
            yield (
                f"{body.function.name}, which every thread runs, calls {name}, which branches by "
                "value: use float instead of double, and no division of 64-bit integers"
            )


def successors(step: Step, body: Body) -> list[int]:
    """Return the addresses at which a function goes on after an instruction."""
    if step.name == "jal" and not step.field("rd"):
        found = [step.pc + step.immediate("j")]
    elif step.name == "jalr" and step.field("rd") != RETURN_ADDRESS:
        found = []  # a return, or a jump to who knows where
    else:
        found = [step.pc + 4]
        if step.name.startswith("b"):
            found.append(step.pc + step.immediate("b"))
    return [pc for pc in found if body.function.start <= pc < body.function.end]


def divergence(program: Program, body: Body) -> Iterator[str]:
    """Yield a complaint if splits and joins of a function do not pair on every way through it."""
    name = body.function.name
    splits, joins = (
        sum(step.name == wanted for step in body.steps) for wanted in ("vx_split", "vx_join")
    )
    if splits != joins:
        yield f"{name} has {splits} splits and {joins} joins: each split needs one join"
        return
    if not splits:
        return
    by_address = {step.pc: step for step in body.steps}
    depths = {body.function.start: 0}
    waiting = [body.function.start]
    visited: set[int] = set()
    while waiting:
        step = by_address[waiting.pop()]
        depth = depths[step.pc]
        after = depth + (step.name == "vx_split") - (step.name == "vx_join")
        leaves = step.name == "jalr" and not step.field("rd")
        if after < 0 or (leaves and depth):
            yield f"{name} has a way to {place(program, step)} on which splits and joins differ"
            return
        for pc in successors(step, body):
            if depths.setdefault(pc, after) != after:
                where = place(program, by_address[pc])
                yield f"{name} has two ways to {where}, inside a split and outside it"
                return
            if pc not in visited:
                visited.add(pc)
                waiting.append(pc)


def inspect_program(program: Program) -> list[str]:
    """Return what is wrong with a program, a sentence each.

    - A function that threads run (its address is taken, or such a function calls it) stores to
      its stack: stacks of threads lie 8 KB apart, so that every such store is as many accesses as
      there are threads. What only main calls may; so may the library.
    - Such a function calls arithmetic of the compiler's that branches by value.
    - Splits and joins of a function do not pair.
    - Words that are no instructions of the cores: compressed and atomic ones, and data.
    """
    bodies = {
        function.start: body_of(program, function)
        for function in program.functions
        if function.start not in program.runtime
    }
    complaints = list(odd_words(program))
    for body in bodies.values():
        complaints += divergence(program, body)
    for body in task_functions(program, bodies):
        complaints += [*spills(program, body), *helpers(program, body)]
    return complaints
