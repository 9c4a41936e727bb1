"""Run programs on SIMT cores: place them and their data, execute, check, account."""

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..hw.address_map import ARGUMENTS
from ..hw.config import PRESETS, ClusterConfig
from ..hw.errors import UserError
from ..kernels.compile import compile_program
from ..kernels.inspection import inspect_program
from ..kernels.kernel import Kernel, Problem
from ..kernels.program import Program
from .buffers import BufferCheck, check_buffer
from .iss.machine import Iss
from .iss.outcome import Outcome, Stop
from .mistakes import ProgramError, explain
from .places import ARGUMENTS_BYTES, PAGE, PROGRAM, Places, Region, core_of, place_buffers
from .versions import versions

__all__ = ["SCHEDULES", "SOURCE_SUFFIXES", "SimtOptions", "run_program", "run_simt"]

SCHEDULES = ("in_turn", "random")
SOURCE_SUFFIXES = (".c", ".cpp", ".cc", ".cxx", ".S", ".elf")
#: Instructions between two chances to interrupt or to show progress.
CHUNK = 2_000_000

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class SimtOptions:
    """How a program is built and run.

    Parameters
    ----------
    optimize : int
        Of the compiler, 0 to 3.
    schedule : str
        Which warp goes next: each ``in_turn``, or a ``random`` one.
    seed : int
        Of the data and of a random schedule.
    max_instructions : int
        Instructions of warps after which the run counts as endless.
    allow_spills : bool
        Whether a kernel may keep values on its stack for want of registers.
    allow : tuple of (int, int)
        Address and bytes of DRAM that the program may touch besides its own.

    """

    optimize: int = 3
    schedule: str = "in_turn"
    seed: int = 1
    max_instructions: int = 1_000_000_000
    allow_spills: bool = False
    allow: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A program in memory, and where everything is."""

    iss: Iss
    program: Program
    places: Places


def run_simt(
    kernel: Kernel,
    preset: str,
    config: ClusterConfig,
    sizes: dict[str, int],
    options: SimtOptions | None = None,
    *,
    console: Callable[[bytes], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Build a kernel, run it on the instruction-set model and check every buffer.

    Return the result for a file. Raise `ProgramError` if the program does not come to its end.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    preset : str
        Name of the machine.
    config : ClusterConfig
        The preset's config, or a change of it.
    sizes : dict
        The kernel's dimensions.
    options : SimtOptions or None
        How to run it; None for the defaults.
    console : callable or None
        Given what the program prints, as it does.
    progress : callable or None
        Told what is being done, pieces done, pieces in all.

    """
    options = options or SimtOptions()
    require_cores(kernel.name, preset, config)
    problem = pose(kernel, sizes, options.seed)
    program = build(kernel.sources, config, options, progress)
    buffers = place_buffers(
        {name: buffer.data.nbytes for name, buffer in problem.buffers.items()}, config
    )
    loaded = load(config, program, buffers.values(), options, console)
    for name, buffer in problem.buffers.items():
        loaded.iss.write(buffers[name].address, np.ascontiguousarray(buffer.data).tobytes())
    loaded.iss.write(ARGUMENTS, argument_words(problem, buffers).tobytes())
    outcome = execute(loaded, options, f"running {kernel.name}", progress)
    checks = [
        check_buffer(name, buffer, loaded.iss.read(buffers[name].address, buffer.data.nbytes))
        for name, buffer in problem.buffers.items()
    ]
    complaints = inspect_program(program)
    head = {"preset": preset, "kernel": kernel.name, "sizes": sizes}
    per_instruction = problem.operations / max(1, outcome.instructions)
    return {
        **head,
        **account(loaded, outcome, options),
        "operations": problem.operations,
        "operations_per_instruction": per_instruction,
        "complaints": complaints,
        "check": verdict(outcome, checks, [] if options.allow_spills else complaints),
    }


def run_program(
    paths: Sequence[Path],
    preset: str,
    config: ClusterConfig,
    options: SimtOptions | None = None,
    *,
    console: Callable[[bytes], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run a user's own program, from sources or from one ELF file; arguments as of `run_simt`.

    Return the result for a file, with the program's exit code. What the inspection complains of is
    part of it and no failure.
    """
    options = options or SimtOptions()
    require_cores(paths[0].name, preset, config)
    program = build(paths, config, options, progress)
    loaded = load(config, program, [], options, console)
    outcome = execute(loaded, options, f"running {paths[0].name}", progress)
    return {
        "preset": preset,
        "program": [str(path) for path in paths],
        **account(loaded, outcome, options),
        "complaints": inspect_program(program),
        "check": {"verdict": "wrong" if outcome.exit_code else "right"},
    }


def require_cores(name: str, preset: str, config: ClusterConfig):
    """Refuse a machine that has nothing to run a program on."""
    if not config.cores:
        *others, last = sorted(known for known, machine in PRESETS.items() if machine.cores)
        choice = f"{', '.join(others)} or {last}"
        raise UserError(f"{name} needs cores, and {preset} has none; choose {choice}")


def pose(kernel: Kernel, sizes: dict[str, int], seed: int) -> Problem:
    """Return the problem, or say why there is none of these sizes."""
    try:
        return kernel.problem(sizes, seed)
    except ValueError as error:
        given = " x ".join(map(str, sizes.values()))
        raise UserError(f"{kernel.name} {given}: {error}") from None


def build(
    paths: Sequence[Path], config: ClusterConfig, options: SimtOptions, progress: Progress | None
) -> Program:
    """Return the program of some sources, or that of an ELF file."""
    for path in paths:
        if path.suffix not in SOURCE_SUFFIXES:
            known = ", ".join(SOURCE_SUFFIXES)
            raise UserError(f"a program must be files that end in {known}, not {path}")
        if not path.is_file():
            raise UserError(f"a program must exist, and there is no file {path}")
    binaries = [path for path in paths if path.suffix == ".elf"]
    if binaries and len(paths) > 1:
        raise UserError(f"an ELF file must stand alone, and {binaries[0]} is one of {len(paths)}")
    if binaries:
        return Program.load(binaries[0])

    def tell(sentence: str):
        if progress is not None:
            progress(sentence, 0, 0)

    return Program.load(
        compile_program(list(paths), config, optimize=options.optimize, progress=tell)
    )


def load(
    config: ClusterConfig,
    program: Program,
    buffers: Iterable[Region],
    options: SimtOptions,
    console: Callable[[bytes], None] | None,
) -> Loaded:
    """Return a machine with the program in its memory, and only that and its data allowed."""
    more = [Region("memory that was allowed", *region) for region in options.allow]
    places = Places(config, [*program_regions(program), *buffers, *more], program.symbols)
    iss = Iss(config, schedule=options.schedule, seed=options.seed)
    iss.on_console = console
    for region in places.dram:
        iss.allow(region.address, region.nbytes)
    for address, data in program.segments:
        iss.write(address, data)
    iss.reset(program.entry)
    return Loaded(iss=iss, program=program, places=places)


def program_regions(program: Program) -> list[Region]:
    """Return where a program lies: its segments, those that adjoin but for their alignment as one.

    Start-up code clears whole rows of words, and may do so in the gap behind a segment.
    """
    spans: list[list[int]] = []
    for address, data in sorted(program.segments, key=lambda segment: segment[0]):
        if spans and address - spans[-1][1] < PAGE:
            spans[-1][1] = max(spans[-1][1], address + len(data))
        else:
            spans.append([address, address + len(data)])
    return [Region(PROGRAM, first, end - first) for first, end in spans]


def argument_words(problem: Problem, buffers: dict[str, Region]) -> np.ndarray:
    """Return what stands at `ARGUMENTS`."""
    words = []
    for argument in problem.arguments:
        if isinstance(argument, str):
            words.append(buffers[argument].address)
        elif isinstance(argument, float):
            words.append(int(np.float32(argument).view(np.uint32)))
        else:
            words.append(int(argument) & 0xFFFF_FFFF)
    assert 4 * len(words) <= ARGUMENTS_BYTES, "arguments must fit a page"
    return np.array(words, dtype=np.uint32)


def execute(
    loaded: Loaded, options: SimtOptions, sentence: str, progress: Progress | None
) -> Outcome:
    """Run to the end and return the outcome of the whole; raise `ProgramError` at any other end."""
    instructions, began = 0, time.perf_counter()
    while True:
        left = options.max_instructions - instructions
        outcome = loaded.iss.run(min(CHUNK, left))
        instructions += outcome.instructions
        if outcome.stop is not Stop.LIMIT or instructions >= options.max_instructions:
            break
        if progress is not None:
            progress(f"{sentence}, millions of instructions", instructions // 1_000_000, 0)
    whole = dataclasses.replace(
        outcome, instructions=instructions, seconds=time.perf_counter() - began
    )
    if whole.stop is not Stop.DONE:
        raise ProgramError(explain(loaded.iss, loaded.program, loaded.places, whole))
    return whole


def account(loaded: Loaded, outcome: Outcome, options: SimtOptions) -> dict[str, Any]:
    """Return what a run did and how it was made, for a result file."""
    config, counts = loaded.places.config, loaded.iss.statistics
    slots = counts.instructions * core_of(config).threads
    return {
        "engine": "iss",
        "optimize": options.optimize,
        "schedule": options.schedule,
        "seed": options.seed,
        "exit_code": outcome.exit_code,
        "instructions": {"warp": counts.instructions, "thread": counts.thread_instructions},
        "lanes_used_percent": 100 * counts.thread_instructions / max(1, slots),
        "instructions_by_unit": {unit.value: count for unit, count in counts.units.items()},
        "instructions_by_core": list(counts.core_instructions),
        "loads": counts.loads,
        "stores": counts.stores,
        "divergent_splits": counts.divergent_splits,
        "barriers": counts.barriers,
        "console": loaded.iss.console.decode(errors="replace"),
        "simulated_instructions_per_second": outcome.instructions / max(outcome.seconds, 1e-9),
        "versions": versions(),
        "config": dataclasses.asdict(config.resolved),
    }


def verdict(outcome: Outcome, checks: list[BufferCheck], complaints: list[str]) -> dict[str, Any]:
    """Return the verdict on a kernel: its buffers, its exit code, its code."""
    right = not (outcome.exit_code or complaints or any(check.wrong for check in checks))
    return {
        "verdict": "right" if right else "wrong",
        "exit_code": outcome.exit_code,
        "complaints": complaints,
        "buffers": {check.name: dataclasses.asdict(check) for check in checks},
    }
