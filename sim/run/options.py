"""Options of a run: engine, memory, limits, traces and checkpoints; of programs also the build."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from ...hw.config import MachineConfig
from ..harness.core_memory import CoreMemoryConfig
from ..harness.dram import DramConfig
from ..machine.saving import NOTHING, Saving
from ..trace import OVERVIEW_SUFFIXES, TRACE_SUFFIXES

__all__ = [
    "BUILDS",
    "CHECKS",
    "CLUSTER_TRACES",
    "ENGINES",
    "MODEL",
    "RACES",
    "SCHEDULES",
    "TRACES",
    "UNCHECKED",
    "WAVEFORM",
    "RunOptions",
    "SimtOptions",
    "with_memory",
]

#: Engine of the instruction-set model.
MODEL = "iss"
#: Engines, and what each is.
ENGINES = {
    "verilator": "RTL compiled to C++; the default",
    "amaranth": "RTL on Amaranth's simulator; slow, for small presets",
    MODEL: "instruction-set model; fastest, no cycles, only programs on the cores",
}
BUILDS = ("quick", "fast")
SCHEDULES = ("round_robin", "random")
#: Checks of accesses on the model.
UNCHECKED = "none"
CHECKS = ("all", "races", "memory", UNCHECKED)
RACES = ("report", "ignore")
WAVEFORM = ".vcd"
#: Suffixes of the traces of a cluster commanded by a host, and of a machine that runs programs.
CLUSTER_TRACES = (WAVEFORM, *OVERVIEW_SUFFIXES)
TRACES = tuple(dict.fromkeys((WAVEFORM, *TRACE_SUFFIXES, *OVERVIEW_SUFFIXES)))


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run on the RTL.

    Parameters
    ----------
    engine : str
        ``verilator`` or ``amaranth``.
    memory : CoreMemoryConfig or DramConfig or None
        Memory of the RTL: a simple memory at the ports of cores alone, or DRAM behind the AXI
        masters of the whole cluster. None selects DRAM if the machine has matrix units or tensor
        units.
    seed : int
        Seed of the data, of a random schedule, of random stalls and of random gating.
    max_cycles : int
        Limit of cycles of a run on the RTL, after which it fails.
    model_optimize : int
        Optimization level of the RTL's C++ model, 0 to 3: a lower level builds faster and runs
        slower.
    build : str or None
        Choice of the Verilated model: ``quick`` for the one that is built faster after a change,
        ``fast`` for the one that runs faster; None chooses by the expected length of the run.
    gating : str
        Clock gating of idle blocks: ``gated``, ``ungated`` or ``random``.
    trace : Path or None
        Trace file of the RTL, with one of the suffixes of `TRACES`.
    trace_window : tuple of int or None
        First cycle of the trace and the cycle after its last.
    trace_samples : tuple of (int, int)
        Windows of waveforms of the parts of a composed model instead of `trace_window`, each like
        it, in ascending order. `trace` is then a folder.
    saving : Saving
        Checkpoint to write, and checkpoint to resume.

    """

    engine: str = "verilator"
    memory: CoreMemoryConfig | DramConfig | None = None
    seed: int = 1
    max_cycles: int = 1 << 40
    model_optimize: int = 2
    build: str | None = None
    gating: str = "gated"
    trace: Path | None = None
    trace_window: tuple[int, int] | None = None
    trace_samples: tuple[tuple[int, int], ...] = ()
    saving: Saving = NOTHING

    @property
    def waveform(self) -> str | None:
        """File of the waveform, or None."""
        others = (*TRACE_SUFFIXES, *OVERVIEW_SUFFIXES)
        has_waveform = self.trace is not None and self.trace.suffix not in others
        return str(self.trace) if has_waveform else None

    @property
    def waveform_windows(self) -> tuple[tuple[int, int], ...]:
        """Windows of the waveform; empty for all cycles."""
        return self.trace_samples or (() if self.trace_window is None else (self.trace_window,))

    @property
    def overview(self) -> Path | None:
        """File of the timeline of the cluster, or None."""
        has_overview = self.trace is not None and self.trace.suffix in OVERVIEW_SUFFIXES
        return self.trace if has_overview else None


@dataclass(frozen=True, kw_only=True)
class SimtOptions(RunOptions):
    """Options of building and running a program on the cores.

    Parameters
    ----------
    engine : str
        ``verilator`` or ``amaranth`` for the RTL, ``iss`` for the instruction-set model.
    max_cycles : int
        Limit of cycles of a run on the RTL.
    max_instructions : int
        Limit of warp instructions of a run on the model.
    optimize : int
        Optimization level of the program's compiler, 0 to 3.
    includes : tuple of Path
        Further folders of headers of the program.
    defines : tuple of str
        Macros of the program, as ``NAME`` or ``NAME=VALUE``.
    dumps : tuple of str
        Buffers, or ranges of DRAM as ``address:bytes``, to return after the run.
    schedule : str
        Warp schedule of the model, one of `SCHEDULES`.
    check : str or None
        Checks of accesses on the model, one of `CHECKS`: two conflicting accesses without an order
        (``races``), accesses between variables and reads of what nothing wrote (``memory``). On the
        RTL, a run on the model with these checks comes first. None for all of an own program, and
        none of a kernel.
    lockstep : bool
        Whether the model checks every instruction of the RTL.
    races : str
        ``report`` a load that missed a store for want of a fence as a difference in lockstep, or
        ``ignore`` and count it: the model takes over the value of the core.
    profile : bool
        Whether the result of a run on the RTL has the time of warps by source line.
    allow_spills : bool
        Whether a kernel may keep values on its stack for want of registers.
    stack_bytes : int or None
        Bytes of each thread's stack; None for the runtime's, or for a program from elsewhere with
        stacks of its own.
    allow_regions : tuple of (int, int)
        Address and bytes of further DRAM that the program may access.

    """

    engine: str = MODEL
    max_cycles: int = 1_000_000_000
    max_instructions: int = 1_000_000_000
    optimize: int = 3
    includes: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    dumps: tuple[str, ...] = ()
    schedule: str = "round_robin"
    check: str | None = None
    lockstep: bool = True
    races: str = "report"
    profile: bool = False
    allow_spills: bool = False
    stack_bytes: int | None = None
    allow_regions: tuple[tuple[int, int], ...] = ()


Options = TypeVar("Options", bound=RunOptions)


def with_memory(config: MachineConfig, options: Options) -> Options:
    """Return the options with a memory; None becomes the default of the machine."""
    if options.memory is not None:
        return options
    memory = DramConfig() if config.has_product_units else CoreMemoryConfig(seed=options.seed)
    return replace(options, memory=memory)
