"""Options of ``spica run``: declaration, applicability, and the options of a run they stand for."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Group, Parameter

from ..hw.base.errors import UserError
from ..hw.config.arithmetic import ARITHMETIC
from ..kernels.gemm.data import KINDS
from ..kernels.gemm.styles import ARRANGEMENTS
from ..sim.engine.verilator_engine import GATINGS
from ..sim.run.dumps import parsed_range
from ..sim.run.options import (
    BUILDS,
    CHECKS,
    CLUSTER_TRACES,
    RACES,
    SCHEDULES,
    TRACES,
    RunOptions,
    SimtOptions,
)
from ..sim.trace import OVERVIEW_SUFFIXES, TRACE_SUFFIXES
from .files import parsed_dumps
from .memory import memory_of
from .options import WHOLE, Flag, JsonOption, SetOption, choose
from .sizes import require_at_least

__all__ = [
    "DRIVERS",
    "Only",
    "Options",
    "PointOptions",
    "flag_of",
    "given",
    "host_options",
    "require_product_choices",
    "simt_options",
]

DRIVERS = ("cores", "host")
C_FORMATS = tuple(dict.fromkeys(f for kind in ARITHMETIC.values() for f in kind.c_formats))


#: Suffixes of traces that any engine records in a window.
DRAWN = (*TRACE_SUFFIXES, *OVERVIEW_SUFFIXES)


class Only(enum.Enum):
    """Runs to which an option is restricted; all other options apply to every run."""

    RTL = enum.auto()
    SIMPLE_MEMORY = enum.auto()
    CORES = enum.auto()
    DRAM = enum.auto()
    MODEL = enum.auto()
    PROGRAMS = enum.auto()
    MATRIX = enum.auto()
    PRODUCT = enum.auto()
    ATTENTION = enum.auto()
    KERNELS = enum.auto()
    OWN = enum.auto()


#: Option with values that may be repeated.
Repeated = Parameter(negative=(), show_default=False)


def group(place: int, name: str) -> Parameter:
    """Return the place of an option in the help."""
    return Parameter(group=Group(name, sort_key=place))


#: Groups of options in the help, in their order.
MACHINE = group(1, "Machine")
SIZES = group(2, "Sizes and data")
ENGINE = group(3, "Engine")
MEMORY = group(4, "Memory")
PROGRAM = group(5, "Programs")
OUTPUT = group(6, "Output")
SAVED = group(7, "Saved runs")
ENERGY = group(8, "Energy")


@dataclass(frozen=True, kw_only=True)
class PointOptions:
    """Options of a run that all points of a sweep share.

    Parameters
    ----------
    size
        Sizes in the order of the kernel's dimensions, as in 64x32x16, or one number for all;
        default: those of `spica list`.
    m
        Size of dimension m; of gemm: rows of A and C.
    n
        Size of dimension n; of gemm: columns of B and C.
    k
        Size of dimension k; of gemm: columns of A, rows of B.
    c
        Format of C of gemm: fp32, or fp16 or bf16 for operands of 16 bits or fewer (default: the
        narrow one); int32 for int8 operands.
    keys
        Rows of K and V of attention; default: as many as queries.
    heads
        Heads of Q of attention; default: 1.
    kv_heads
        Heads of K and V of attention, a divisor of --heads; default: as many.
    batch
        Sequences of attention, each with all heads; default: 1.
    causal
        Mask of attention: a query sees the keys up to its own place, aligned at the end.
    scale
        Factor of the scores of attention; default: 1 / sqrt(depth).
    engine
        Engine of `spica list`.
    driver
        Master of the matrix unit for gemm: cores, a program on the cores (default, if there are
        cores), or host.
    dram_bandwidth
        DRAM bandwidth in bytes per cycle; default: 64. Selects the whole cluster with DRAM, the
        default of presets with a matrix unit.
    dram_latency
        DRAM latency in cycles; default: 100. Selects the whole cluster with DRAM.
    memory_latency
        Latency of a simple memory in cycles; default: 1. Selects the cores alone, the default of
        presets without a matrix unit.
    memory_jitter
        Largest random addition to --memory-latency, in cycles.
    memory_stall
        Fraction of cycles, from 0 to below 1, in which the simple memory accepts no request.
    data
        Operands of gemm: random (default), integers (small, with exact sums) or extreme (with NaN,
        infinities, subnormals and signed zeros). Those of attention: random, large (scores of
        some hundreds), zeros (equal weights) or extreme.
    arrange
        Where gemm on tensor units arranges A and B in the order of fragments: outside the measured
        region, before the run (default), or inside it, by the cores.
    seed
        Seed of operands, random gating, random schedule and memory.
    gating
        Clock gating of idle blocks: gated (default), ungated or random. It changes simulation speed
        only.
    build
        Verilated model: quick, composed of block models, which are shared by all machines with
        equal blocks, or fast, the one that simulates faster; default: by the expected length of
        the run. Results are the same.
    max_cycles
        Limit of cycles, after which the run fails.
    lockstep
        Compare every retired instruction with the instruction-set model; on by default.
    races
        Loads that missed a store for want of a fence, found in lockstep: report (default) or
        ignore, where the model continues with the value of the RTL.
    optimize
        Optimization level of the compiler of programs, 0 to 3; default: 3.
    includes
        Further folder of headers of a program; may be repeated.
    defines
        Macro of a program, as NAME or NAME=VALUE; may be repeated.
    schedule
        Warp schedule of engine iss: round_robin (default) or random.
    check
        Checks of accesses on the instruction-set model, where a run on the RTL is preceded by one:
        races (two conflicting accesses without an order), memory (accesses between variables, and
        reads of what nothing wrote), all or none; default: all for own programs, none for kernels.
    max_instructions
        Limit of warp instructions on engine iss, after which the run fails; default: 1,000,000,000.
    allow_spills
        Pass a kernel although its compiled code breaks the rules, for example by spills to the
        stack.
    stack_bytes
        Bytes of each thread's stack; default: 8192. A program from elsewhere with stacks below
        0xff000000 is checked against this size if it is given.
    allow_region
        Further DRAM that a program may access, as address:bytes; may be repeated.

    """

    size: Annotated[str | None, SIZES, Only.KERNELS] = None
    m: Annotated[int | None, SIZES, WHOLE, Parameter(name="-m"), Only.KERNELS] = None
    n: Annotated[int | None, SIZES, WHOLE, Parameter(name="-n"), Only.KERNELS] = None
    k: Annotated[int | None, SIZES, WHOLE, Parameter(name="-k"), Only.KERNELS] = None
    c: Annotated[str | None, SIZES, Parameter(name="--c"), Only.PRODUCT] = None
    keys: Annotated[int | None, SIZES, WHOLE, Only.ATTENTION] = None
    heads: Annotated[int | None, SIZES, WHOLE, Only.ATTENTION] = None
    kv_heads: Annotated[int | None, SIZES, WHOLE, Only.ATTENTION] = None
    batch: Annotated[int | None, SIZES, WHOLE, Only.ATTENTION] = None
    causal: Annotated[bool | None, SIZES, Parameter(negative=()), Only.ATTENTION] = None
    scale: Annotated[float | None, SIZES, Only.ATTENTION] = None
    engine: Annotated[str, ENGINE] = "verilator"
    driver: Annotated[str | None, ENGINE, Only.MATRIX] = None
    dram_bandwidth: Annotated[int | None, MEMORY, WHOLE, Only.DRAM] = None
    dram_latency: Annotated[int | None, MEMORY, WHOLE, Only.DRAM] = None
    memory_latency: Annotated[int | None, MEMORY, WHOLE, Only.SIMPLE_MEMORY] = None
    memory_jitter: Annotated[int | None, MEMORY, WHOLE, Only.SIMPLE_MEMORY] = None
    memory_stall: Annotated[float | None, MEMORY, Only.SIMPLE_MEMORY] = None
    data: Annotated[str | None, SIZES, Only.MATRIX] = None
    arrange: Annotated[str | None, SIZES, Only.PRODUCT] = None
    seed: Annotated[int, SIZES, WHOLE] = 1
    gating: Annotated[str | None, ENGINE, Only.RTL] = None
    build: Annotated[str | None, ENGINE, Only.RTL] = None
    max_cycles: Annotated[int | None, ENGINE, WHOLE, Only.RTL] = None
    lockstep: Annotated[bool | None, ENGINE, Only.CORES] = None
    races: Annotated[str | None, ENGINE, Only.CORES] = None
    optimize: Annotated[int | None, PROGRAM, WHOLE, Only.PROGRAMS] = None
    includes: Annotated[
        tuple[Path, ...], PROGRAM, Repeated, Parameter(name="-I"), Only.PROGRAMS
    ] = ()
    defines: Annotated[tuple[str, ...], PROGRAM, Repeated, Parameter(name="-D"), Only.PROGRAMS] = ()
    schedule: Annotated[str | None, ENGINE, Only.MODEL] = None
    check: Annotated[str | None, ENGINE, Only.PROGRAMS] = None
    max_instructions: Annotated[int | None, ENGINE, WHOLE, Only.MODEL] = None
    allow_spills: Annotated[Flag, PROGRAM] = False
    stack_bytes: Annotated[int | None, PROGRAM, WHOLE, Only.PROGRAMS] = None
    allow_region: Annotated[tuple[str, ...], PROGRAM, Repeated, Only.PROGRAMS] = ()
    settings: Annotated[SetOption, MACHINE] = ()

    @property
    def single_sizes(self) -> dict[str, int | None]:
        """Sizes of single dimensions."""
        return {"m": self.m, "n": self.n, "k": self.k}

    @property
    def product(self) -> dict[str, Any]:
        """Given options of the data of a product or of attention, by their names in Python."""
        return given(
            data=self.data,
            c_format=self.c,
            arrangement=self.arrange,
            causal=self.causal,
            scale=self.scale,
        )

    @property
    def attention_sizes(self) -> dict[str, int]:
        """Given sizes of attention besides its dimensions; raise unless each is at least 1."""
        sizes = given(keys=self.keys, heads=self.heads, kv_heads=self.kv_heads, batch=self.batch)
        require_at_least(1, {flag_of(name): size for name, size in sizes.items()})
        return sizes

    def refuse(self, what: str, *runs: Only, instead: str = ""):
        """Raise if an option is given that is restricted to these runs; `instead` allows it."""
        advice = f"leave it out, or choose {instead}" if instead else "leave it out"
        for restriction in runs:
            for each in fields(self):
                metadata = getattr(each.type, "__metadata__", ())
                if restriction in metadata and is_given(self, each.name):
                    raise UserError(f"{flag_of(each.name)} does not apply to {what}; {advice}")


@dataclass(frozen=True, kw_only=True)
class Options(PointOptions):
    """Options of ``spica run``.

    Parameters
    ----------
    preset
        Preset of `spica list`; programs on the cores need a preset with cores. Default: virgo for
        kernels of `spica list` that multiply on a matrix unit, virgo_hetero for gemm_pair, else
        core.
    arg
        Next argument of an own program, a number or an array FILE.npy; may be repeated. An array
        is a buffer in DRAM, named by its place from 0 on, as in --dump 0=FILE.npy. For a kernel
        of the cores, ARRAY=FILE.npy replaces a generated input, and sizes follow from its shape.
    profile
        Report the time of warps by function and source line, and what they waited for.
    trace
        Trace file, by suffix: waveform (.vcd), timeline of the cluster (.html, .svg, or .json for
        Perfetto), and of cores pipeline log for Konata (.kanata) or instruction log (.log).
    dump
        Contents of a buffer or of DRAM after the run, as BUFFER=FILE.npy or ADDRESS:BYTES=FILE.npy;
        may be repeated.
    energy
        Report the energy of the run from its counters and event energies, which were fitted to
        runs with --energy-gates; no cell library is needed.
    energy_gates
        Report the energy of the run from gates: windows of the RTL, replayed on blocks mapped to
        the cells of --liberty.
    liberty
        Cell library with power tables (Liberty file) for --energy-gates.
    sram_table
        SRAM macros for --energy-gates, a CSV file with columns macro, ports, words, width,
        area_um2, read_pj, write_pj and leakage_nw; default: macros of an open 130 nm process.
    clock
        Clock frequency in MHz for power and leakage of --energy and --energy-gates; default: 100.
    energy_windows
        Windows of the run that --energy-gates samples, as count x cycles; default: 128x8.
    dram_energy
        Energy of a bit that DRAM reads or writes in pJ, for --energy and --energy-gates; default:
        no energy of DRAM.
    trace_window
        Cycles of the trace, as first:end without the end; default: all.
    save
        Save the run to this new file for `spica resume`: at cycle --save-at, after which it
        continues, or at --max-cycles, where it ends with exit code 0 and no verdict. Engine
        verilator only.
    save_at
        Cycle at which the run is saved.
    force
        Replace the file of --save.
    restore
        Continue this saved run, which must have the same kernel, preset and options.

    """

    preset: Annotated[str, MACHINE, Parameter(show_default=False)] = ""
    arg: Annotated[tuple[str, ...], PROGRAM, Repeated, Only.OWN] = ()
    profile: Annotated[bool | None, OUTPUT, Parameter(negative=()), Only.CORES] = None
    trace: Annotated[Path | None, OUTPUT, Only.RTL] = None
    energy: Annotated[bool | None, ENERGY, Parameter(negative=()), Only.RTL] = None
    energy_gates: Annotated[bool | None, ENERGY, Parameter(negative=()), Only.RTL] = None
    liberty: Annotated[Path | None, ENERGY, Only.RTL] = None
    sram_table: Annotated[Path | None, ENERGY, Only.RTL] = None
    clock: Annotated[float | None, ENERGY, Only.RTL] = None
    energy_windows: Annotated[str | None, ENERGY, Only.RTL] = None
    dram_energy: Annotated[float | None, ENERGY, Only.RTL] = None
    trace_window: Annotated[str | None, OUTPUT, Only.RTL] = None
    save: Annotated[Path | None, SAVED] = None
    save_at: Annotated[int | None, SAVED, WHOLE] = None
    force: Annotated[Flag, SAVED] = False
    restore: Annotated[Path | None, SAVED] = None
    dump: Annotated[tuple[str, ...], OUTPUT, Repeated, Only.PROGRAMS] = ()
    json: Annotated[JsonOption, OUTPUT] = None


def is_given(options: PointOptions, name: str) -> bool:
    """Return whether a restricted option is given."""
    return getattr(options, name) not in (None, ())


def flag_of(name: str) -> str:
    """Return an option as it is written on the command line."""
    short = {"m": "-m", "n": "-n", "k": "-k", "includes": "-I", "defines": "-D"}
    return short.get(name) or f"--{name.replace('_', '-')}"


def given(**options: Any) -> dict[str, Any]:
    """Return the options that are given."""
    return {name: value for name, value in options.items() if value is not None}


RunOptionsT = TypeVar("RunOptionsT", bound=RunOptions)


def run_options(kind: type[RunOptionsT], options: Options, **others: Any) -> RunOptionsT:
    """Return the options of a run: those of the same name that are given, and `others`.

    Parameters
    ----------
    kind : type
        `RunOptions` or `SimtOptions`.
    options : Options
        Options of the command line.
    **others
        Options of the run without an option of the same name.

    """
    shared = {each.name for each in fields(kind)} & {each.name for each in fields(options)}
    taken = {name: getattr(options, name) for name in shared} | {
        "memory": memory_of(
            options.seed,
            given(bytes_per_cycle=options.dram_bandwidth, latency=options.dram_latency),
            given(
                latency=options.memory_latency,
                jitter=options.memory_jitter,
                stall=options.memory_stall,
            ),
        ),
        "trace_window": parsed_window(options),
    }
    return kind(**given(**taken), **others)


def host_options(options: Options) -> RunOptions:
    """Return the options of a run that a host drives; raise unless each has a valid value."""
    found = run_options(RunOptions, options)
    require_rtl_choices(found, CLUSTER_TRACES)
    require_product_choices(options)
    return found


def simt_options(options: Options) -> SimtOptions:
    """Return the options of a run of a program; raise unless each has a valid value."""
    regions = tuple(parsed_range("--allow-region", text) for text in options.allow_region)
    dumps = tuple(name for name, _ in parsed_dumps(options.dump))
    found = run_options(SimtOptions, options, allow_regions=regions, dumps=dumps)
    choose("--schedule", found.schedule, SCHEDULES)
    if found.check is not None:
        choose("--check", found.check, CHECKS)
    choose("--races", found.races, RACES)
    if options.races is not None and not found.lockstep:
        raise UserError("--races needs lockstep; leave out --no-lockstep")
    require_rtl_choices(found, TRACES)
    if not 0 <= found.optimize <= 3:
        raise UserError(f"--optimize must be between 0 and 3, not {found.optimize}")
    require_at_least(1, {"--max-instructions": found.max_instructions})
    return found


def require_rtl_choices(options: RunOptions, traces: Sequence[str]):
    """Raise unless gating, trace and limit of cycles are valid."""
    choose("--gating", options.gating, GATINGS)
    if options.build is not None:
        choose("--build", options.build, BUILDS)
    if options.trace is not None:
        choose("suffix of --trace", options.trace.suffix, traces)
    if options.waveform and options.build == "quick":
        raise UserError("a waveform needs --build fast, not quick")
    require_at_least(1, {"--max-cycles": options.max_cycles})


def require_product_choices(options: Options, kinds: Sequence[str] = KINDS):
    """Raise unless the format of C and the kind of operands are known."""
    if options.data is not None:
        choose("--data", options.data, kinds)
    if options.c is not None:
        choose("--c", options.c, C_FORMATS)
    if options.arrange is not None:
        choose("--arrange", options.arrange, ARRANGEMENTS)


def parsed_window(options: Options) -> tuple[int, int] | None:
    """Return the first cycle of ``--trace-window`` and the cycle after the last."""
    window, trace, engine = options.trace_window, options.trace, options.engine
    if window is None:
        return None
    if trace is None:
        raise UserError("--trace-window needs --trace")
    if trace.suffix not in DRAWN and engine != "verilator":
        raise UserError(
            f"--trace-window needs --engine verilator; engine {engine} traces every cycle"
        )
    first, _, end = window.partition(":")
    if not (first.isdecimal() and end.isdecimal() and int(first) < int(end)):
        raise UserError(f"--trace-window must be first:end with first below end, not {window!r}")
    return int(first), int(end)
