"""Static checks of a compiled program: stack spills, unbalanced splits, invalid words."""

from collections.abc import Iterator

from .bodies import Body, Step, bodies_of, location, parallel_block, references, steps
from .divergence.control_flow import ControlFlow
from .forks.check import crossing_values
from .launches import task_functions
from .program import Program

__all__ = ["helper_advice", "inspect_program", "inspect_speed", "unpaired_splits"]

ATOMIC_OPCODE = 0x2F
#: Compiler helpers that the runtime provides in a form safe for divergent threads.
SAFE_HELPERS = ("__extendsfdf2",)
#: Beginnings of the names of compiler helpers.
HELPERS = ("__", "compiler_rt.")


def odd_words(program: Program, has_atomics: bool) -> Iterator[str]:
    """Yield a complaint for the first word of each section that is no instruction of the cores."""
    for address, data in program.text if program.is_text_exact else ():
        for step in steps(program, address, address + len(data)):
            is_atomic = step.word & 0x7F == ATOMIC_OPCODE
            if step.name and (has_atomics or not is_atomic):
                continue
            if step.word & 3 != 3:
                what = "compressed instructions, which the cores do not support"
            elif is_atomic and not has_atomics:
                what = "atomic instructions, which the cores do not support"
            else:
                what = f"the word {step.word:#010x}, which is not an instruction"
            yield f"the program contains {what}, at {location(program, step)}"
            break  # later words may only be misaligned


def spills(program: Program, body: Body) -> Iterator[str]:
    """Yield a complaint if a task function stores to its stack."""
    stores = [step for step in body.steps.values() if step.stores_to_stack]
    if stores:
        yield (
            f"{body.function.name}, which every thread runs, stores to its stack in {len(stores)} "
            f"instructions, first at {location(program, stores[0])}: keep fewer values live and "
            "inline the functions it calls"
        )


def helper_advice(program: Program, address: int) -> str | None:
    """Return why threads must not disagree in an unsafe compiler helper, None elsewhere."""
    helper = program.function_of(address) or ""
    if address not in program.runtime or not helper.startswith(HELPERS) or helper in SAFE_HELPERS:
        return None
    return (
        f"{helper}, which branches on its operands: use float instead of double, and avoid "
        "division of 64-bit integers"
    )


def helpers(program: Program, name: str, some: list[Step]) -> Iterator[str]:
    """Yield a complaint for each unsafe compiler helper that threads call."""
    for address in sorted(references(some)[0]):
        if advice := helper_advice(program, address):
            yield f"{name}, which every thread runs, calls {advice}"


def unpaired_splits(program: Program) -> list[str]:
    """Return the complaints about splits without joins: threads are lost, or are too many."""
    flow = ControlFlow(program)
    return [
        complaint
        for start, body in flow.bodies.items()
        if start not in program.runtime
        for complaint in divergence(flow, body)
    ]


def divergence(flow: ControlFlow, body: Body) -> Iterator[str]:
    """Yield a complaint if splits and joins of a function do not pair on every path through it."""
    program, name = flow.program, body.function.name
    splits, joins = body.count("vx_split"), body.count("vx_join")
    if splits != joins:
        yield f"{name} has {splits} splits and {joins} joins: each split needs one join"
        return
    depths = {body.function.start: 0}
    waiting = [body.function.start] if splits else []
    while waiting:
        step = body.steps[waiting.pop()]
        after = depths[step.pc] + (step.name == "vx_split") - (step.name == "vx_join")
        if after < 0 or (step.leaves and after):
            yield f"{name} has a path to {location(program, step)} on which splits and joins differ"
            return
        for pc in flow.successors(body, step):
            if pc not in depths:
                depths[pc] = after
                waiting.append(pc)
            elif depths[pc] != after:
                where = location(program, body.steps[pc])
                yield f"{name} has two paths to {where}, inside a split and outside it"
                return


def inspect_program(program: Program, *, has_atomics: bool = False) -> list[str]:
    """Return the complaints about a program, one sentence each.

    `has_atomics`: the cores that run it have atomic instructions.

    - A function that threads run (a launch starts it, or a parallel block or such a function
      calls it) stores relative to the stack pointer. Stacks of threads are 8 KB apart, so every
      such store takes as many accesses as there are threads. Functions that run in one thread may
      do so: `main`, and those that only `main` calls, by name or by address. So may the runtime.
    - Threads use a value that only those have which were active before (`crossing_values`).
    - Threads call compiler arithmetic that branches on its operands.
    - Splits and joins of a function do not pair.
    - Words are not instructions of the cores: compressed or atomic instructions, or data.
    - Parts of the file are unusual or cannot be read, or the compiler has warned.
    """
    bodies = bodies_of(program)
    complaints = [*unpaired_splits(program), *odd_words(program, has_atomics)]
    complaints += crossing_values(program)
    for body in bodies.values():
        complaints += helpers(program, body.function.name, parallel_block(body))
    for body in task_functions(program, bodies):
        complaints += helpers(program, body.function.name, list(body.steps.values()))
    return complaints + inspect_speed(program) + program.remarks


def inspect_speed(program: Program) -> list[str]:
    """Return those complaints about a program whose code is right, but slow: its spills."""
    tasks = task_functions(program, bodies_of(program))
    return [complaint for body in tasks for complaint in spills(program, body)]
