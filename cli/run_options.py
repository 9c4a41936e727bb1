"""Options of ``spica run``: declaration, and the request that they stand for."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from ..sim.run.request.request import Request
from .files import parsed_dumps
from .options import WHOLE, Flag, JsonOption, SetOption

__all__ = ["Options", "PointOptions"]

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

    size: Annotated[str | None, SIZES] = None
    m: Annotated[int | None, SIZES, WHOLE, Parameter(name="-m")] = None
    n: Annotated[int | None, SIZES, WHOLE, Parameter(name="-n")] = None
    k: Annotated[int | None, SIZES, WHOLE, Parameter(name="-k")] = None
    c: Annotated[str | None, SIZES, Parameter(name="--c")] = None
    keys: Annotated[int | None, SIZES, WHOLE] = None
    heads: Annotated[int | None, SIZES, WHOLE] = None
    kv_heads: Annotated[int | None, SIZES, WHOLE] = None
    batch: Annotated[int | None, SIZES, WHOLE] = None
    causal: Annotated[bool | None, SIZES, Parameter(negative=())] = None
    scale: Annotated[float | None, SIZES] = None
    engine: Annotated[str, ENGINE] = "verilator"
    driver: Annotated[str | None, ENGINE] = None
    dram_bandwidth: Annotated[int | None, MEMORY, WHOLE] = None
    dram_latency: Annotated[int | None, MEMORY, WHOLE] = None
    memory_latency: Annotated[int | None, MEMORY, WHOLE] = None
    memory_jitter: Annotated[int | None, MEMORY, WHOLE] = None
    memory_stall: Annotated[float | None, MEMORY] = None
    data: Annotated[str | None, SIZES] = None
    arrange: Annotated[str | None, SIZES] = None
    seed: Annotated[int, SIZES, WHOLE] = 1
    gating: Annotated[str | None, ENGINE] = None
    build: Annotated[str | None, ENGINE] = None
    max_cycles: Annotated[int | None, ENGINE, WHOLE] = None
    lockstep: Annotated[bool | None, ENGINE] = None
    races: Annotated[str | None, ENGINE] = None
    optimize: Annotated[int | None, PROGRAM, WHOLE] = None
    includes: Annotated[tuple[Path, ...], PROGRAM, Repeated, Parameter(name="-I")] = ()
    defines: Annotated[tuple[str, ...], PROGRAM, Repeated, Parameter(name="-D")] = ()
    schedule: Annotated[str | None, ENGINE] = None
    check: Annotated[str | None, ENGINE] = None
    max_instructions: Annotated[int | None, ENGINE, WHOLE] = None
    allow_spills: Annotated[Flag, PROGRAM] = False
    stack_bytes: Annotated[int | None, PROGRAM, WHOLE] = None
    allow_region: Annotated[tuple[str, ...], PROGRAM, Repeated] = ()
    settings: Annotated[SetOption, MACHINE] = ()

    def request(self, kernel: str, *files: str) -> Request:
        """Return the request of a kernel or a program with these options."""
        shared = {option.name for option in fields(Request)}
        values = {name: value for name, value in vars(self).items() if name in shared}
        return Request(**values | self.parsed, kernel=kernel, files=files)

    @property
    def parsed(self) -> dict[str, Any]:
        """Values of a request that are not those of an option of the same name."""
        return {}


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
    arg: Annotated[tuple[str, ...], PROGRAM, Repeated] = ()
    profile: Annotated[bool | None, OUTPUT, Parameter(negative=())] = None
    trace: Annotated[Path | None, OUTPUT] = None
    energy: Annotated[bool | None, ENERGY, Parameter(negative=())] = None
    energy_gates: Annotated[bool | None, ENERGY, Parameter(negative=())] = None
    liberty: Annotated[Path | None, ENERGY] = None
    sram_table: Annotated[Path | None, ENERGY] = None
    clock: Annotated[float | None, ENERGY] = None
    energy_windows: Annotated[str | None, ENERGY] = None
    dram_energy: Annotated[float | None, ENERGY] = None
    trace_window: Annotated[str | None, OUTPUT] = None
    save: Annotated[Path | None, SAVED] = None
    save_at: Annotated[int | None, SAVED, WHOLE] = None
    force: Annotated[Flag, SAVED] = False
    restore: Annotated[Path | None, SAVED] = None
    dump: Annotated[tuple[str, ...], OUTPUT, Repeated] = ()
    json: Annotated[JsonOption, OUTPUT] = None

    @property
    def parsed(self) -> dict[str, Any]:
        """Names of buffers and ranges of DRAM to return after the run."""
        return {"dump": tuple(name for name, _ in parsed_dumps(self.dump))}
