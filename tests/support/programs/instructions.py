"""Programs that execute every computing instruction with corner-case operands.

Every thread has its own operands. Each instruction runs with all combinations of equal registers,
float instructions also in every rounding mode.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import product

from spica.hw.config import MachineConfig
from spica.hw.isa.assembly import ROUNDING_NAMES
from spica.hw.isa.instructions import INSTRUCTIONS, Instruction
from spica.hw.isa.operations import Unit
from spica.sim.iss.program_bench import END, START
from support.programs.corner_operands import FLOAT_CLASSES, INTEGERS, float_operand, integer_operand
from support.programs.placed_program import PlacedProgram

__all__ = ["COMPUTING", "arithmetic_program", "names_of"]

#: Operands, a plane of words for each: two integers, three floats.
TABLE, PLANE_BYTES = 0x8010_0000, 0x1_0000
POINTERS = {"a0": "s1", "a1": "s2", "fa0": "s3", "fa1": "s4", "fa2": "s5"}
SOURCES = {"rs1": "a0", "rs2": "a1", "fs1": "fa0", "fs2": "fa1", "fs3": "fa2"}
TARGETS = {"rd": "t0", "fd": "ft0"}
COPIES = {"rd": "t1", "fd": "ft1"}
IMMEDIATES = {
    "i": ("-2048", "-1", "0", "1", "2047"),
    "u": ("0", "1", str(0x8_0000), str(0xF_FFFF)),
    "shamt": ("0", "1", "15", "31"),
    "rm": tuple(mode for mode in ROUNDING_NAMES if not mode.isdigit()),
}
MODES = len(IMMEDIATES["rm"]) - 1
#: Dividend and divisor, or factors: overflow, zero, the largest signed and unsigned numbers.
BORDERS = tuple(product((0x8000_0000, 0xFFFF_FFFF, 0x7FFF_FFFF, 0, 1), repeat=2))


def names_of(*units: Unit) -> tuple[str, ...]:
    """Return the names of the instructions of these units."""
    return tuple(name for name, instruction in INSTRUCTIONS.items() if instruction.unit in units)


#: Instructions that compute, without branches and memory accesses.
COMPUTING = names_of(*(
    Unit.INT,
    Unit.MULTIPLY,
    Unit.DIVIDE,
    Unit.FP32,
    Unit.FP32_DIVIDE,
    Unit.SFU,
    Unit.EXCHANGE,
))


def text_of(instruction: Instruction, registers: dict[str, str], immediates: Iterable[str]) -> str:
    """Return an instruction with its operands in assembly."""
    numbers = iter(immediates)
    operands = (
        registers[operand] if operand in registers else next(numbers)
        for operand in instruction.operands
    )
    return f"{instruction.name} {', '.join(operands)}"


def copied(register: str, source: str) -> str:
    """Return a copy of a register of either file."""
    move = "fmv.s" if source[0] == "f" else "mv"
    return f"{move} {register}, {source}"


def coincidences(instruction: Instruction) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Return all combinations of equal registers: preceding copies, and the registers."""
    registers = {**SOURCES, **TARGETS}
    sources = [operand for operand in instruction.operands if operand in SOURCES]
    yield [], registers
    for target in (operand for operand in instruction.operands if operand in TARGETS):
        for source in (operand for operand in sources if operand[0] == target[0]):
            copy = COPIES[target]
            yield [copied(copy, SOURCES[source])], {**registers, source: copy, target: copy}
        if target == "rd":
            yield [], {**registers, "rd": "zero"}
    if len(sources) > 1 and len({operand[0] for operand in sources}) == 1:
        first = SOURCES[sources[0]]
        yield [], {**registers, **dict.fromkeys(sources, first)}
        swapped = (SOURCES[operand] for operand in reversed(sources))
        yield [], {**registers, **dict(zip(sources, swapped, strict=True))}
    for source in (operand for operand in sources if operand[0] == "r"):
        yield [], {**registers, source: "zero"}


def forms(instruction: Instruction, rng: random.Random, reads_flags: bool) -> Iterator[str]:
    """Return lines that execute an instruction in all forms."""
    choices = [IMMEDIATES[operand] for operand in instruction.operands if operand in IMMEDIATES]
    for number, (before, registers) in enumerate(coincidences(instruction)):
        # All immediates with distinct registers, a random one with others.
        every = list(product(*choices))
        for immediates in every if number == 0 else [rng.choice(every)]:
            yield from before
            yield text_of(instruction, registers, immediates)
            if reads_flags and instruction.unit in (Unit.FP32, Unit.FP32_DIVIDE):
                yield "csrrwi t2, fflags, 0"


def planes(rng: random.Random, rows: int) -> list[list[int]]:
    """Return the operands: pairs of integers and triples of floats, corner cases first."""
    integers, floats = (list(product(values, repeat=2)) for values in (INTEGERS, FLOAT_CLASSES))
    rng.shuffle(integers)
    rng.shuffle(floats)
    integers[:0] = BORDERS
    cases = []
    for row in range(rows):
        a, b = integers[row] if row < len(integers) else (integer_operand(rng),) * 2
        x, y = floats[row] if row < len(floats) else (float_operand(rng), float_operand(rng))
        z = rng.choice(FLOAT_CLASSES) if rng.getrandbits(1) else float_operand(rng)
        cases.append([a, b, x, y, z])
    return [list(plane) for plane in zip(*cases, strict=True)]


def arithmetic_program(
    config: MachineConfig,
    names: Iterable[str] = COMPUTING,
    *,
    rounds: int = 8,
    seed: int = 1,
    reads_flags: bool = False,
) -> PlacedProgram:
    """Return a program that executes instructions on `rounds` operands in each thread.

    The dynamic rounding mode changes in each round. With `reads_flags`, flags are read and cleared
    after each float instruction.
    """
    core = config.core
    assert core is not None
    rng = random.Random(seed)
    threads = core.warps * core.threads
    lines = [START, "li gp, 4", "csrr t0, warp_id", "csrr t1, num_threads", "mul t0, t0, t1"]
    lines += ["csrr t1, thread_id", "add t0, t0, t1", "slli t0, t0, 2"]
    for plane, pointer in enumerate(POINTERS.values()):
        lines += [f"li {pointer}, {TABLE + plane * PLANE_BYTES}", f"add {pointer}, {pointer}, t0"]
    lines += [f"li s0, {rounds}", "li s6, 0", "csrwi fflags, 0", "loop: csrw frm, s6"]
    for register, pointer in POINTERS.items():
        lines.append(f"{'flw' if register[0] == 'f' else 'lw'} {register}, 0({pointer})")
        lines += [f"li t0, {4 * threads}", f"add {pointer}, {pointer}, t0"]
    for name in names:
        lines += forms(INSTRUCTIONS[name], rng, reads_flags)
    lines += ["csrr t0, fflags", "addi s6, s6, 1", f"li t0, {MODES}", "bne s6, t0, keep"]
    lines += ["li s6, 0", "keep: addi s0, s0, -1", "beqz s0, end", "j loop", f"end: {END.strip()}"]
    words = planes(rng, rounds * threads)
    data = tuple(
        (TABLE + number * PLANE_BYTES, b"".join(word.to_bytes(4, "little") for word in plane))
        for number, plane in enumerate(words)
    )
    assert 4 * rounds * threads <= PLANE_BYTES, "operands must fit into their planes"
    return PlacedProgram("\n".join(lines), data, ((TABLE, len(words) * PLANE_BYTES),))
