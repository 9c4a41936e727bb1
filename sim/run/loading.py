"""Build of programs, and the memory regions that they may access."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...hw.base.errors import UserError
from ...hw.config import PRESETS, ClusterConfig
from ...kernels.compile import compile_program
from ...kernels.program import Program
from ..harness.core_memory import CoreMemoryConfig
from ..harness.dram import DramConfig
from ..machine.memory_layout import PAGE, PROGRAM, MemoryLayout, Region
from ..machine.saving import NOTHING, Saving

__all__ = [
    "MODEL",
    "SCHEDULES",
    "SOURCE_SUFFIXES",
    "Progress",
    "SimtOptions",
    "build",
    "memory_layout_of",
    "program_regions",
    "require_cores",
    "with_memory",
]

#: Engine of the instruction-set model.
MODEL = "iss"
SCHEDULES = ("round_robin", "random")
SOURCE_SUFFIXES = (".c", ".cpp", ".cc", ".cxx", ".S", ".elf")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class SimtOptions:
    """Options of building and running a program.

    Parameters
    ----------
    engine : str
        ``verilator`` or ``amaranth`` for the RTL, ``iss`` for the instruction-set model.
    optimize : int
        Optimization level of the program's compiler, 0 to 3.
    schedule : str
        Warp schedule of the model: ``round_robin`` (round-robin) or ``random``.
    seed : int
        Seed of the data, of a random schedule, of random stalls and of random gating.
    max_instructions : int
        Limit of warp instructions of a run on the model.
    max_cycles : int
        Limit of cycles of a run on the RTL.
    memory : CoreMemoryConfig or DramConfig or None
        Memory of the RTL: a simple memory at the ports of cores alone, or DRAM behind the AXI
        masters of the whole cluster. None selects DRAM if the machine has matrix units.
    lockstep : bool
        Whether the model checks every instruction of the RTL.
    model_optimize : int
        Optimization level of the RTL's C++ model, 0 to 3: a lower level builds faster and runs
        slower.
    gating : str
        Clock gating of idle cores: ``gated``, ``ungated`` or ``random``.
    trace : Path or None
        Trace file of the RTL, with one of the suffixes of `TRACES`.
    trace_window : tuple of int or None
        First cycle of the trace and the cycle after its last.
    allow_spills : bool
        Whether a kernel may keep values on its stack for want of registers.
    allow_regions : tuple of (int, int)
        Address and bytes of further DRAM that the program may access.
    saving : Saving
        Checkpoint to write, and checkpoint to resume.

    """

    engine: str = "iss"
    optimize: int = 3
    schedule: str = "round_robin"
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
    allow_regions: tuple[tuple[int, int], ...] = ()
    saving: Saving = NOTHING


def with_memory(config: ClusterConfig, options: SimtOptions) -> SimtOptions:
    """Return the options with a memory; None becomes the default of the machine."""
    if options.memory is not None:
        return options
    memory = DramConfig() if config.matrices else CoreMemoryConfig(seed=options.seed)
    return replace(options, memory=memory)


def require_cores(name: str, preset: str, config: ClusterConfig):
    """Raise `UserError` if the machine has no cores."""
    if not config.cores:
        *others, last = sorted(known for known, machine in PRESETS.items() if machine.cores)
        choice = f"{', '.join(others)} or {last}"
        raise UserError(f"{name} needs cores; {preset} has none: choose {choice}")


def build(
    paths: Sequence[Path], config: ClusterConfig, options: SimtOptions, progress: Progress | None
) -> Program:
    """Return the program that is compiled from source files, or loaded from an ELF file."""
    for path in paths:
        if path.suffix not in SOURCE_SUFFIXES:
            known = ", ".join(SOURCE_SUFFIXES)
            raise UserError(f"a program file must end in {known}, not {path}")
        if not path.is_file():
            raise UserError(f"the program file {path} does not exist")
    binaries = [path for path in paths if path.suffix == ".elf"]
    if binaries and len(paths) > 1:
        raise UserError(
            f"an ELF file must be the only program file; {binaries[0]} is one of {len(paths)}"
        )
    if binaries:
        return Program.load(binaries[0])

    def tell(sentence: str):
        if progress is not None:
            progress(sentence, 0, 0)

    return Program.load(
        compile_program(list(paths), config, optimize=options.optimize, progress=tell)
    )


def memory_layout_of(
    config: ClusterConfig, program: Program, buffers: Iterable[Region], options: SimtOptions
) -> MemoryLayout:
    """Return where everything lies that a program may touch."""
    more = [Region("allowed memory", *region) for region in options.allow_regions]
    return MemoryLayout(config, [*program_regions(program), *buffers, *more], program.symbols)


def program_regions(program: Program) -> list[Region]:
    """Return the regions of a program; segments closer than a page are merged.

    Start-up code clears whole rows of words, which may include the gap after a segment.
    """
    spans: list[list[int]] = []
    for address, data in sorted(program.segments, key=lambda segment: segment[0]):
        if spans and address - spans[-1][1] < PAGE:
            spans[-1][1] = max(spans[-1][1], address + len(data))
        else:
            spans.append([address, address + len(data)])
    return [Region(PROGRAM, first, end - first) for first, end in spans]
