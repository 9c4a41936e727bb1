"""Benchmark of votes and shuffles: cycles per instruction, and between dependent ones, by shape."""

from collections.abc import Iterator
from dataclasses import replace

from spica.base.progress import Progress
from spica.cli.options import new_table
from spica.hw.config import CoreConfig, MachineConfig
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import Port, Unit
from spica.hw.isa.program import assemble_program
from spica.hw.presets import PRESETS
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import END, START
from spica.sim.machine.program_machine import ProgramMachine

from .target import Target

__all__ = ["measure", "tables"]

WARPS = 8
#: Threads of a warp and integer lanes.
SHAPES = ((4, 4), (8, 8), (8, 2), (32, 8), (32, 32))
OPERATIONS = tuple(name for name, one in INSTRUCTIONS.items() if one.unit is Unit.EXCHANGE)
#: A sum stands for the other instructions of the lanes.
REFERENCE = "add"
#: Lines of two programs, of which the difference counts.
LENGTHS = (240, 720)
LIMIT = 1_000_000
#: Cycles of a beat at most, with room for the first and the last instruction.
MOST_PER_BEAT = 1.03


def program_of(name: str, length: int, *, dependent: bool) -> bytes:
    """Return a program in which every warp, or the first one alone, executes an instruction."""
    kind = "f" if INSTRUCTIONS[name].operands[0] == "fd" else "x"
    registers = [10 if dependent else 16 + k % 16 for k in range(length)]
    lines = [f"{name} {kind}{d}, {kind}{10 if dependent else 9}, x8" for d in registers]
    start = "li t0, -1\nvx_tmc t0\n" if dependent else START
    return assemble_program("\n".join([start, "li x8, 1", *lines, END])).data


def cycles_of(machine: ProgramMachine, name: str, *, dependent: bool) -> float:
    """Return the cycles of an instruction of a warp in the steady state."""
    runs = []
    for length in LENGTHS:
        code = program_of(name, length, dependent=dependent)
        machine.write(ENTRY, code)
        machine.allow(ENTRY, len(code))
        outcome = machine.run(LIMIT)
        if outcome.stop is not StopReason.DONE:
            raise SystemExit(f"{name} must run to its end: {outcome}")
        runs.append(outcome.cycles)
    lines = (LENGTHS[1] - LENGTHS[0]) * (1 if dependent else WARPS)
    return (runs[1] - runs[0]) / lines


def config_of(threads: int, lanes: int) -> MachineConfig:
    """Return a machine with a core of this shape."""
    core = CoreConfig(warps=WARPS, threads=threads, integer_lanes=lanes)
    return replace(PRESETS["core"], core=core)


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after every shape."""
    shapes: list[dict] = []
    for threads, lanes in SHAPES[:2] if quick else SHAPES:
        config = config_of(threads, lanes)
        progress(f"{threads} threads on {lanes} lanes", 0, 0)
        with ProgramMachine(config, memory=CoreMemoryConfig()) as machine:
            figures = {
                name: {
                    "cycles": cycles_of(machine, name, dependent=False),
                    "dependent_cycles": cycles_of(machine, name, dependent=True),
                }
                for name in (REFERENCE, *OPERATIONS)
            }
        assert config.core is not None
        beats = threads // config.core.lanes(Port.INT)
        shapes.append({"threads": threads, "lanes": lanes, "beats": beats, "operations": figures})
        yield {"warps": WARPS, "shapes": shapes, "targets": targets(shapes)}


def targets(shapes: list[dict]) -> list[dict]:
    """Return the targets: no cycle is lost between the beats of successive instructions."""
    return [
        Target(
            name=f"cycles of {name}, {shape['threads']} threads on {shape['lanes']} lanes",
            value=figures["cycles"],
            limit=shape["beats"] * MOST_PER_BEAT,
            at_least=False,
        ).as_dict()
        for shape in shapes
        for name, figures in shape["operations"].items()
    ]


def tables(result: dict) -> Iterator:
    """Yield the tables of the result."""
    shapes = result["shapes"]
    heads = [f"{shape['threads']} on {shape['lanes']}" for shape in shapes]
    for key, title in (
        ("cycles", f"Cycles per instruction of a warp, {result['warps']} warps, threads on lanes"),
        ("dependent_cycles", "Cycles between dependent instructions, one warp"),
    ):
        table = new_table(title, "instruction", numbers=heads)
        for name in shapes[0]["operations"]:
            table.add_row(name, *(f"{shape['operations'][name][key]:.2f}" for shape in shapes))
        yield table
