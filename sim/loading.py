"""Programs into memory: built, placed with what they may touch, ready to run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..hw.config import PRESETS, ClusterConfig
from ..hw.errors import UserError
from ..kernels.compile import compile_program
from ..kernels.program import Program
from .iss.machine import Iss
from .places import PAGE, PROGRAM, Places, Region

__all__ = [
    "SCHEDULES",
    "SOURCE_SUFFIXES",
    "Loaded",
    "Progress",
    "SimtOptions",
    "build",
    "load",
    "program_regions",
    "require_cores",
]

SCHEDULES = ("in_turn", "random")
SOURCE_SUFFIXES = (".c", ".cpp", ".cc", ".cxx", ".S", ".elf")
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


def require_cores(name: str, preset: str, config: ClusterConfig):
    """Refuse a machine that has nothing to run a program on."""
    if not config.cores:
        *others, last = sorted(known for known, machine in PRESETS.items() if machine.cores)
        choice = f"{', '.join(others)} or {last}"
        raise UserError(f"{name} needs cores, and {preset} has none; choose {choice}")


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
