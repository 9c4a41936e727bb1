"""What is wrong with a compiled program before it runs: spills, unbalanced splits, odd words."""

from collections.abc import Iterator

from .bodies import Body, Step, bodies_of, parallel_block, references, steps, task_functions
from .program import Program

__all__ = ["inspect_program"]

ATOMIC_OPCODE = 0x2F
#: The compiler's helpers that the library has in a form for threads that differ.
SAFE_HELPERS = ("__extendsfdf2",)


def place(program: Program, step: Step) -> str:
    """Return how a message names an instruction's place."""
    line = program.line_of(step.pc)
    return f"{line} ({step.pc:#x})" if line else f"{step.pc:#x}"


def odd_words(program: Program) -> Iterator[str]:
    """Yield a complaint for the first word of a section that is no instruction of the cores."""
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
    found = [step for step in body.steps.values() if step.stores_to_stack]
    if found:
        yield (
            f"{body.function.name}, which every thread runs, stores to its stack in {len(found)} "
            f"instructions, first at {place(program, found[0])}: let it keep less, and inline "
            "what it calls"
        )


def slot(step: Step) -> tuple[bool, int, int]:
    """Return which register a load or store moves, and where relative to the stack pointer."""
    if step.stores_to_stack:
        return step.name == "fsw", step.field("rs2"), step.immediate("s")
    return step.name == "flw", step.field("rd"), step.immediate("i")


def block_spills(program: Program, body: Body) -> Iterator[str]:
    """Yield a complaint if a parallel block uses the stack.

    Only one of its threads has the frame of the function that the block is in: the others would
    write into their neighbours' stacks, and read what they never wrote.
    """
    block = parallel_block(body)
    saved = {slot(step) for step in body.steps.values() if step.stores_to_stack}
    saved -= {slot(step) for step in block if step.stores_to_stack}
    # The way around the block, which nobody takes, restores what the function saved.
    found = [
        step
        for step in block
        if step.stores_to_stack or (step.loads_from_stack and slot(step) not in saved)
    ]
    if found:
        yield (
            f"the parallel block in {body.function.name} uses the stack in {len(found)} "
            f"instructions, first at {place(program, found[0])}: let it keep less, and nothing "
            "from before it"
        )


def helpers(program: Program, name: str, some: list[Step]) -> Iterator[str]:
    """Yield a complaint for each function of the compiler's that threads call."""
    for address in sorted(references(some)[0]):
        helper = program.function_of(address) or ""
        if address in program.runtime and helper.startswith("__") and helper not in SAFE_HELPERS:
            yield (
                f"{name}, which every thread runs, calls {helper}, which branches by value: use "
                "float instead of double, and no division of 64-bit integers"
            )


def divergence(program: Program, body: Body) -> Iterator[str]:
    """Yield a complaint if splits and joins of a function do not pair on every way through it."""
    name = body.function.name
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
            yield f"{name} has a way to {place(program, step)} on which splits and joins differ"
            return
        for pc in body.successors(step):
            if pc not in depths:
                depths[pc] = after
                waiting.append(pc)
            elif depths[pc] != after:
                where = place(program, body.steps[pc])
                yield f"{name} has two ways to {where}, inside a split and outside it"
                return


def inspect_program(program: Program) -> list[str]:
    """Return what is wrong with a program, a sentence each.

    - A function that threads run (its address is taken, a parallel block calls it, or such a
      function does) stores relative to the stack pointer: stacks of threads lie 8 KB apart, so
      that every such store is as many accesses as there are threads. What only main calls may do
      so, and what the library does.
    - The parallel block of a function uses the stack.
    - Threads call arithmetic of the compiler's that branches by value.
    - Splits and joins of a function do not pair.
    - Words that are no instructions of the cores: compressed and atomic ones, and data.
    """
    bodies = bodies_of(program)
    complaints = list(odd_words(program))
    for body in bodies.values():
        complaints += divergence(program, body)
        complaints += block_spills(program, body)
        complaints += helpers(program, body.function.name, parallel_block(body))
    for body in task_functions(program, bodies):
        complaints += spills(program, body)
        complaints += helpers(program, body.function.name, list(body.steps.values()))
    return complaints
