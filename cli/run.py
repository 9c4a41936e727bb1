"""``spica run``: one kernel or program on one machine, checked and reported."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..hw.base.errors import UserError
from ..hw.config import ClusterConfig
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
from .options import JsonOption, SetOption, choose, configured
from .programs import is_file_name, is_waveform, run_cores
from .saving import command_of, saved_to
from .sizes import chosen_sizes, require_at_least

__all__ = ["run"]

OTHER = "choose --engine verilator or amaranth"
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
    allow_spills: Annotated[bool, Parameter(negative=())] = False,
    allow_region: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    trace: Path | None = None,
    trace_window: str | None = None,
    save: Path | None = None,
    save_at: int | None = None,
    force: Annotated[bool, Parameter(negative=())] = False,
    restore: Path | None = None,
    settings: SetOption = (),
    json: JsonOption = None,
) -> int:
    """Run a kernel or a program of your own, check it, and report what it took.

    Exit code 0 if every value is right, or the program's own exit code is 0; 1 if not, or if the
    machine faults or hangs.

    Parameters
    ----------
    kernel
        A kernel of `spica list`, or a file of C, C++ or assembly, or an ELF file.
    files
        More files of the same program.
    preset
        A preset of `spica list`; programs for cores need one with cores.
    size
        Sizes in the order of the kernel's dimensions, 64x32x16, or one number for all of them.
    m
        The dimension of this name; of gemm, rows of A and C.
    n
        The dimension of this name; of gemm, columns of B and C.
    k
        The dimension of this name; of gemm, columns of A, rows of B.
    c
        Format of C: fp32, or the narrower fp16 or bf16 where the operands have one (the default);
        int32 for int8 operands. gemm only.
    engine
        An engine of `spica list`.
    driver
        Who commands the matrix unit for gemm: a program on the cores, as where there are some, or
        the host.
    dram_bandwidth
        Bytes per cycle that DRAM gives and takes, 64 if not given. Programs for cores then run on
        the whole cluster, as they do where it has a matrix unit.
    dram_latency
        Cycles of a round trip to DRAM, 100 if not given; otherwise as --dram-bandwidth.
    memory_latency
        Cycles that a simple memory takes to answer cores, 1 if not given. Programs then run on the
        cores alone, as they do where there is no matrix unit.
    memory_jitter
        Cycles more that chance may add.
    memory_stall
        Share of cycles, from 0 to below 1, in which memory takes no request.
    data
        Operands of gemm: random (the default), integers (small, so that sums are exact) or extreme
        (NaN, infinities, subnormals, signed zeros among them).
    seed
        Of the operands, of random gating, of a random schedule and of memory.
    gating
        Clocks of idle blocks: gated (the default), ungated or random. Changes speed alone.
    max_cycles
        Cycles after which the run counts as endless.
    lockstep
        Check every instruction of the cores against the instruction-set model as it retires, as
        is done if not said otherwise.
    optimize
        Optimization of the compiler of programs, 0 to 3; 3 if not given.
    schedule
        Which warp goes next on iss: each round_robin (the default), or a random one.
    max_instructions
        Instructions of warps after which a run on iss counts as endless; 1,000,000,000 if not
        given.
    allow_spills
        Call a kernel right whose compiled code breaks the rules, as by values kept on the stack.
    allow_region
        DRAM that a program may touch besides its own, as address:bytes; may be repeated.
    trace
        Write a trace to this file: a waveform (.vcd), a timeline to look at (.html) or one for
        Perfetto (.json), of gemm with what every engine does; and of cores a pipeline log for
        Konata (.kanata), or every instruction with what it wrote (.log).
    trace_window
        Cycles to trace, as first:end, without the end; all if not given.
    save
        Save the run to this new file, for `spica resume`: in the cycle of --save-at on its way, or
        at --max-cycles, where it then ends with exit code 0 and no verdict. Verilator only.
    save_at
        The cycle in which the run is saved.
    force
        Replace what is at --save.
    restore
        Go on from this saved run, which must be one of the same kernel, preset and options.

    """
    command = command_of(locals())
    if not is_file_name(kernel):
        choose("kernel", kernel, kernel_names())
    choose("engine", engine, ENGINES)
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
        choose("driver", driver, DRIVERS)
    on_cores = kernel in EXACT_KERNELS and is_on_cores(preset, config, driver)
    if kernel == HOST_KERNEL and not on_cores:
        if engine == MODEL:
            raise UserError(f"{kernel} is commanded by a host, which {engine} has none of; {OTHER}")
        refuse(f"{kernel} on {engine}", {**of_cores, **of_model, **of_programs}, files)
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
        refuse(f"{kernel}, whose devices are those of the whole cluster", of_memory, ())
    elif kernel in EXACT_KERNELS:
        raise UserError(
            f"{kernel} needs cores and a matrix unit, and {preset} has not both, or a driver that "
            "is the host, which cannot finish C"
        )
    else:
        others |= of_gemm
    refuse(f"{kernel} on {engine}", {**others, **sized}, () if own else files)
    options = SimtOptions(
        engine=engine,
        seed=seed,
        memory=memory_of(seed, of_dram, of_memory),
        allow_spills=allow_spills,
        allowed_regions=tuple(parsed_region(text) for text in allow_region),
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
    """Return whether a program on the cores commands the matrix unit."""
    able = bool(config.cores and config.matrix)
    if driver == "cores" and not able:
        raise UserError(f"--driver cores needs cores and a matrix unit, and {preset} has not both")
    return able and driver != "host"


def refuse(what: str, options: Mapping[str, object], files: Sequence[str]):
    """Raise if an option is given that means nothing here, or a file beside a kernel."""
    for option, value in options.items():
        if value is not None:
            raise UserError(f"{option} must be left out: it means nothing to {what}")
    if files:
        raise UserError(f"a kernel must be named alone, not with {files[0]}")
