"""``spica run``: run of one kernel or program on one machine, with check and report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..hw.base.errors import UserError
from ..hw.config import PRESETS, ClusterConfig
from ..sim.run.command_run import RunOptions
from ..sim.run.exact_kernels import EXACT_KERNELS
from ..sim.run.loading import SimtOptions
from .catalog import ENGINES, MODEL, kernel_names
from .gemm import (
    DIMENSIONS,
    HOST_KERNEL,
    is_overview,
    parsed_window,
    require_choices,
    require_sound,
    run_gemm,
)
from .memory import given, memory_of, parsed_region
from .options import Flag, JsonOption, SetOption, choose, configured
from .programs import is_file_name, is_waveform, run_cores
from .saving import command_of, saved_to
from .sizes import chosen_sizes, require_at_least

__all__ = ["run"]

DRIVERS = ("cores", "host")


def run(
    kernel: str,
    /,
    *files: str,
    preset: str,
    size: str | None = None,
    m: Annotated[int | None, Parameter(name="-m")] = None,
    n: Annotated[int | None, Parameter(name="-n")] = None,
    k: Annotated[int | None, Parameter(name="-k")] = None,
    c: Annotated[str | None, Parameter(name="--c")] = None,
    engine: str = "verilator",
    driver: str | None = None,
    dram_bandwidth: int | None = None,
    dram_latency: int | None = None,
    memory_latency: int | None = None,
    memory_jitter: int | None = None,
    memory_stall: float | None = None,
    data: str | None = None,
    seed: int = 1,
    gating: str | None = None,
    max_cycles: int | None = None,
    lockstep: bool | None = None,
    optimize: int | None = None,
    schedule: str | None = None,
    max_instructions: int | None = None,
    allow_spills: Flag = False,
    allow_region: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    trace: Path | None = None,
    trace_window: str | None = None,
    save: Path | None = None,
    save_at: int | None = None,
    force: Flag = False,
    restore: Path | None = None,
    settings: SetOption = (),
    json: JsonOption = None,
) -> int:
    """Run a kernel or a program, check it, and report cycles, utilisation and losses.

    Exit code 0 if the check passes, or if the program's own exit code is 0; otherwise 1, also if
    the machine faults or hangs.

    Parameters
    ----------
    kernel
        Kernel of `spica list`, or a file: C, C++, assembly or ELF.
    files
        Further files of the same program.
    preset
        Preset of `spica list`; programs on the cores need a preset with cores.
    size
        Sizes in the order of the kernel's dimensions, as in 64x32x16, or one number for all.
    m
        Size of dimension m; of gemm: rows of A and C.
    n
        Size of dimension n; of gemm: columns of B and C.
    k
        Size of dimension k; of gemm: columns of A, rows of B.
    c
        Format of C of gemm: fp32, or fp16 or bf16 for operands of 16 bits or fewer (default: the
        narrow one); int32 for int8 operands.
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
        infinities, subnormals and signed zeros).
    seed
        Seed of operands, random gating, random schedule and memory.
    gating
        Clock gating of idle blocks: gated (default), ungated or random. It changes simulation speed
        only.
    max_cycles
        Limit of cycles, after which the run fails.
    lockstep
        Compare every retired instruction with the instruction-set model; on by default.
    optimize
        Optimization level of the compiler of programs, 0 to 3; default: 3.
    schedule
        Warp schedule of engine iss: round_robin (default) or random.
    max_instructions
        Limit of warp instructions on engine iss, after which the run fails; default: 1,000,000,000.
    allow_spills
        Pass a kernel although its compiled code breaks the rules, for example by spills to the
        stack.
    allow_region
        Further DRAM that a program may access, as address:bytes; may be repeated.
    trace
        Trace file, by suffix: waveform (.vcd), timeline of the cluster (.html, .svg, or .json for
        Perfetto), and of cores pipeline log for Konata (.kanata) or instruction log (.log).
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
    command = command_of(locals())
    if not is_file_name(kernel):
        choose("kernel", kernel, kernel_names())
    choose("--engine", engine, ENGINES)
    config = configured(preset, settings)
    require_at_least(0, {"--seed": seed})
    single = {"m": m, "n": n, "k": k}
    of_dram = {"--dram-bandwidth": dram_bandwidth, "--dram-latency": dram_latency}
    of_gemm = {"--data": data, "--c": c, "--driver": driver}
    of_rtl = {
        "--trace": trace,
        "--trace-window": trace_window,
        "--max-cycles": max_cycles,
        "--gating": gating,
    }
    of_memory = {
        "--memory-latency": memory_latency,
        "--memory-jitter": memory_jitter,
        "--memory-stall": memory_stall,
    }
    of_cores = {**of_memory, "--lockstep": lockstep}
    of_model = {"--max-instructions": max_instructions, "--schedule": schedule}
    of_programs = {"--optimize": optimize, "--allow-region": allow_region or None}
    if driver is not None:
        choose("--driver", driver, DRIVERS)
    on_cores = kernel in EXACT_KERNELS and is_on_cores(preset, config, driver)
    if kernel == HOST_KERNEL and not on_cores:
        if engine == MODEL:
            raise UserError(
                f"{kernel} driven by a host does not run on engine {engine}; choose --engine "
                "verilator or amaranth"
            )
        refuse(f"{kernel} driven by a host", {**of_cores, **of_model, **of_programs}, files)
        options = RunOptions(
            engine=engine,
            seed=seed,
            max_cycles=max_cycles,
            trace=trace,
            trace_window=parsed_window(
                trace_window, trace, engine, waveform=not is_overview(trace)
            ),
            **given(
                dram_bandwidth=dram_bandwidth,
                dram_latency=dram_latency,
                data=data,
                gating=gating,
                c_format=c,
            ),
        )
        require_sound(options)
        sizes = chosen_sizes(DIMENSIONS, size, single)
        with saved_to(save, save_at, force, max_cycles, command, restore) as saving:
            return run_gemm(preset, config, sizes, replace(options, saving=saving), json)
    own = is_file_name(kernel)
    sized = {"--size": size, "-m": m, "-n": n, "-k": k} if own else {}
    others = {**of_rtl, **of_cores, **of_dram} if engine == MODEL else of_model
    if on_cores:
        require_choices(c_format=c, data=data)
        refuse(f"{kernel}, which runs on the whole cluster with DRAM", of_memory, ())
    elif kernel in EXACT_KERNELS:
        require_matrix_cores(kernel, preset, config)
        raise UserError(f"{kernel} needs --driver cores: the host cannot finish C")
    else:
        others |= of_gemm
    refuse(f"{kernel} on engine {engine}", {**others, **sized}, () if own else files)
    options = SimtOptions(
        engine=engine,
        seed=seed,
        memory=memory_of(seed, of_dram, of_memory),
        allow_spills=allow_spills,
        allow_regions=tuple(parsed_region(text) for text in allow_region),
        trace=trace,
        trace_window=parsed_window(trace_window, trace, engine, waveform=is_waveform(trace)),
        **given(
            optimize=optimize,
            schedule=schedule,
            max_instructions=max_instructions,
            max_cycles=max_cycles,
            lockstep=lockstep,
            gating=gating,
        ),
    )
    exact = EXACT_KERNELS[kernel](config, **given(c_format=c, data=data)) if on_cores else None
    with saved_to(save, save_at, force, max_cycles, command, restore) as saving:
        return run_cores(
            [kernel, *files],
            preset,
            config,
            lambda dimensions: chosen_sizes(dimensions, size, single),
            replace(options, saving=saving),
            json,
            exact,
        )


def is_on_cores(preset: str, config: ClusterConfig, driver: str | None) -> bool:
    """Return whether a program on the cores drives the matrix unit."""
    if driver == "cores":
        require_matrix_cores("--driver cores", preset, config)
    return bool(config.cores and config.matrix) and driver != "host"


def require_matrix_cores(what: str, preset: str, config: ClusterConfig):
    """Raise unless a machine has cores and a matrix unit."""
    missing = [
        name for name, part in (("cores", config.cores), ("matrix unit", config.matrix)) if not part
    ]
    if missing:
        able = [name for name, known in PRESETS.items() if known.cores and known.matrix]
        raise UserError(
            f"{what} needs cores and a matrix unit, and {preset} has no "
            f"{' and no '.join(missing)}; choose one of {', '.join(able)}"
        )


def refuse(what: str, options: Mapping[str, object], files: Sequence[str]):
    """Raise if an option is given that does not apply, or a file beside a kernel."""
    for option, value in options.items():
        if value is not None:
            raise UserError(f"{option} does not apply to {what}; leave it out")
    if files:
        raise UserError(f"a kernel runs without further files; leave out {files[0]}")
