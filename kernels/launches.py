"""Launches in a compiled program, and the functions that many threads run."""

from collections.abc import Iterator

from ..hw.isa.assembly import INTEGER_NAMES
from ..hw.isa.encoding import RegisterClass
from ..hw.isa.instructions import INSTRUCTIONS
from .bodies import Body, Step, parallel_block, references
from .program import Program

__all__ = ["task_functions"]

#: Functions that start threads with the function in a1: of the runtime, and of Vortex v2 and Virgo.
LAUNCHES = (
    *("spica_run_warps", "spica_spawn_tasks", "spica_run_block"),
    *("vx_spawn_kernel", "vx_spawn_tasks"),
)
ENTRY = INTEGER_NAMES.index("a1")


def task_functions(program: Program, bodies: dict[int, Body]) -> list[Body]:
    """Return the user's functions that many threads run.

    They are the functions that launches start and parallel blocks call, and everything these
    refer to. If the function of a launch is not a constant, they are all functions whose address
    the program holds, except `main`. Other functions that `main` calls run in one thread.
    """
    waiting = [
        address for body in bodies.values() for address in references(parallel_block(body))[0]
    ]
    started = [entry for body in bodies.values() for entry in entries(program, body)]
    waiting += [entry for entry in started if entry is not None]
    if None in started:
        pointers = words_of_data(program)
        pointers.update(*(references(body.steps.values())[1] for body in bodies.values()))
        pointers.discard(program.symbols.get("main", 0))
        waiting += pointers
    reached: dict[int, Body] = {}
    while waiting:
        address = waiting.pop()
        if address in bodies and address not in reached:
            reached[address] = bodies[address]
            calls, addresses = references(bodies[address].steps.values())
            waiting += [*calls, *addresses]
    return [reached[address] for address in sorted(reached)]


def entries(program: Program, body: Body) -> Iterator[int | None]:
    """Yield the function that each launch in a body starts; None if it is not a constant."""
    joined = {pc for step in body.steps.values() for pc in body.successors(step)[1:]}
    constants: dict[int, int] = {}
    for step in body.steps.values():
        if step.pc in joined:
            constants.clear()
        if step.name == "vx_wspawn":
            yield constants.get(step.field("rs2"))
        target = target_of(step, constants)
        if (target is not None) and (program.function_of(target) or "").startswith(LAUNCHES):
            yield constants.get(ENTRY)
        follow(step, constants, target)


def target_of(step: Step, constants: dict[int, int]) -> int | None:
    """Return the target of a call, or of a jump to another function; None for other steps."""
    if step.name == "jal":
        return step.pc + step.immediate("j")
    if step.name == "jalr" and step.field("rs1") in constants:
        return constants[step.field("rs1")] + step.immediate("i") & 0xFFFF_FFFF
    return None


def follow(step: Step, constants: dict[int, int], target: int | None) -> None:
    """Update the known values of integer registers by one instruction."""
    value = None
    if step.name in ("lui", "auipc"):
        base = step.pc if step.name == "auipc" else 0
        value = base + (step.immediate("u") << 12) & 0xFFFF_FFFF
    elif step.name == "addi" and step.field("rs1") in constants:
        value = constants[step.field("rs1")] + step.immediate("i") & 0xFFFF_FFFF
    if target is not None or step.name == "jalr":
        constants.clear()
    elif step.name and INSTRUCTIONS[step.name].writes is RegisterClass.INTEGER:
        constants.pop(step.field("rd"), None)
        if value is not None:
            constants[step.field("rd")] = value


def words_of_data(program: Program) -> set[int]:
    """Return every word outside the text; function pointers are among them.

    Constructors do not count: they run before `main`, in one thread.
    """
    symbols = program.symbols
    left_out = [range(address, address + len(data)) for address, data in program.text]
    left_out.append(range(symbols.get("__init_array_start", 0), symbols.get("__init_array_end", 0)))
    left_out.append(program.bss)
    return {
        int.from_bytes(data[offset : offset + 4], "little")
        for address, data in program.segments
        for offset in range(0, len(data) - 3, 4)
        if not any(address + offset in part for part in left_out)
    }
