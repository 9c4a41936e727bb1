"""Programs into memory: built, placed with what they may touch, ready to run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...hw.base.errors import UserError
from ...hw.config import PRESETS, ClusterConfig
from ...kernels.compile import compile_program
from ...kernels.program import Program
from ..harness.core_memory import CoreMemoryConfig
from ..harness.dram import DramConfig
from ..machine.memory_layout import PAGE, PROGRAM, Places, Region
from ..machine.saving import NOTHING, Saving

__all__ = [
    "SCHEDULES",
    "SOURCE_SUFFIXES",
    "Progress",
    "SimtOptions",
    "build",
    "places_of",
    "program_regions",
    "require_cores",
    "with_memory",
]

SCHEDULES = ("in_turn", "random")
SOURCE_SUFFIXES = (".c", ".cpp", ".cc", ".cxx", ".S", ".elf")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class SimtOptions:
    """How a program is built and run.

    Parameters
    ----------
    engine : str
        ``verilator`` or ``amaranth`` for the gateware, ``iss`` for the instruction-set model.
    optimize : int
        Of the compiler, 0 to 3.
    schedule : str
        Which warp goes next on the model: each ``in_turn``, or a ``random`` one.
    seed : int
        Of the data, of a random schedule, of random stalls and of random gating.
    max_instructions : int
        Instructions of warps after which a run on the model counts as endless.
    max_cycles : int
        Cycles after which a run of the gateware does.
    memory : CoreMemoryConfig or DramConfig or None
        What is behind the gateware: a simple memory at the ports of cores that are alone, or DRAM
        behind the AXI masters of the whole cluster. None: DRAM where there are matrix units.
    lockstep : bool
        Whether the model checks every instruction of the gateware.
    model_optimize : int
        Of the C++ of the gateware, 0 to 3: less is built sooner and runs slower.
    gating : str
        ``gated``, ``ungated`` or ``random``: clocks of idle cores.
    trace : Path or None
        Where to write a trace of the gateware, with one of the suffixes of `TRACES`.
    trace_window : tuple of int or None
        First cycle of the trace, and the one after its last.
    allow_spills : bool
        Whether a kernel may keep values on its stack for want of registers.
    allow : tuple of (int, int)
        Address and bytes of DRAM that the program may touch besides its own.
    saving : Saving
        When the run is saved, and what it goes on from.

    """

    engine: str = "iss"
    optimize: int = 3
    schedule: str = "in_turn"
    seed: int = 1
    max_instructions: int = 1_000_000_000
    max_cycles: int = 1_000_000_000
    memory: CoreMemoryConfig | DramConfig | None = None
    lockstep: bool = True
    model_optimize: int = 2
    gating: str = "gated"
    trace: Path | None = None
    trace_window: tuple[int, int] | None = None
    allow_spills: bool = False
    allow: tuple[tuple[int, int], ...] = ()
    saving: Saving = NOTHING


def with_memory(config: ClusterConfig, options: SimtOptions) -> SimtOptions:
    """Return the options with a memory, chosen by what the machine has if none was."""
    if options.memory is not None:
        return options
    memory = DramConfig() if config.matrices else CoreMemoryConfig(seed=options.seed)
    return replace(options, memory=memory)


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


def places_of(
    config: ClusterConfig, program: Program, buffers: Iterable[Region], options: SimtOptions
) -> Places:
    """Return where everything lies that a program may touch."""
    more = [Region("memory that was allowed", *region) for region in options.allow]
    return Places(config, [*program_regions(program), *buffers, *more], program.symbols)


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
