"""``spica run``: one kernel or program on one machine, checked and reported."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..hw.address_map import DRAM_BASE, DRAM_END
from ..hw.errors import UserError
from ..sim.loading import SimtOptions
from ..sim.run import RunOptions
from .catalog import CORES_ENGINE, ENGINES, kernel_names
from .gemm import DIMENSIONS, HOST_KERNEL, parsed_window, require_sound, run_gemm
from .options import JsonOption, SetOption, choose, configured
from .programs import is_file_name, run_cores
from .sizes import chosen_sizes, require_at_least

__all__ = ["run"]

OTHER = "choose --engine verilator or amaranth"


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
    dram_bandwidth: int = 64,
    dram_latency: int = 100,
    data: str = "random",
    seed: int = 1,
    gating: str = "gated",
    max_cycles: int | None = None,
    optimize: int = 3,
    schedule: str = "in_turn",
    max_instructions: int | None = None,
    allow_spills: Annotated[bool, Parameter(negative=())] = False,
    allow: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    trace: Path | None = None,
    trace_window: str | None = None,
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
        An engine of `spica list`; programs for cores run on iss.
    dram_bandwidth
        Bytes per cycle that DRAM gives and takes; on engines with cycles.
    dram_latency
        Cycles of a round trip to DRAM; on engines with cycles.
    data
        Operands of gemm: random, integers (small, so that sums are exact) or extreme (NaN,
        infinities, subnormals, signed zeros among them).
    seed
        Of the operands, of random gating and of a random schedule.
    gating
        Clocks of idle blocks: gated, ungated or random. Changes speed alone.
    max_cycles
        Cycles after which the run counts as hung.
    optimize
        Optimization of the compiler of programs, 0 to 3.
    schedule
        Which warp goes next on iss: each in_turn, or a random one.
    max_instructions
        Instructions of warps after which a run on iss counts as endless; 1,000,000,000 if not
        given.
    allow_spills
        Call a kernel right whose compiled code breaks the rules, as by values kept on the stack.
    allow
        DRAM that a program may touch besides its own, as address:bytes; may be repeated.
    trace
        Write a waveform (VCD) to this file.
    trace_window
        Cycles to trace, as first:end, without the end; all if not given.

    """
    if not is_file_name(kernel):
        choose("kernel", kernel, kernel_names())
    choose("engine", engine, ENGINES)
    config = configured(preset, settings)
    require_at_least(0, {"--seed": seed})
    single = {"m": m, "n": n, "k": k}
    if kernel == HOST_KERNEL:
        if engine == CORES_ENGINE:
            raise UserError(f"{kernel} is commanded by a host, which {engine} has none of; {OTHER}")
        refuse(f"{kernel} on {engine}", {"--max-instructions": max_instructions}, files)
        options = RunOptions(
            engine=engine,
            dram_bandwidth=dram_bandwidth,
            dram_latency=dram_latency,
            data=data,
            seed=seed,
            gating=gating,
            c_format=c,
            max_cycles=max_cycles,
            trace=trace,
            trace_window=parsed_window(trace_window, trace, engine),
        )
        require_sound(options)
        return run_gemm(preset, config, chosen_sizes(DIMENSIONS, size, single), options, json)
    if engine != CORES_ENGINE:
        raise UserError(
            f"{kernel} runs on cores, which {engine} does not have yet; "
            f"choose --engine {CORES_ENGINE}"
        )
    own = is_file_name(kernel)
    cycles = {"--trace": trace, "--trace-window": trace_window, "--max-cycles": max_cycles}
    sized = {"--size": size, "-m": m, "-n": n, "-k": k} if own else {}
    refuse(f"{kernel} on {engine}", {**cycles, **sized, "--c": c}, () if own else files)
    limit = SimtOptions.max_instructions if max_instructions is None else max_instructions
    return run_cores(
        [kernel, *files],
        preset,
        config,
        lambda dimensions: chosen_sizes(dimensions, size, single),
        SimtOptions(
            optimize=optimize,
            schedule=schedule,
            seed=seed,
            max_instructions=limit,
            allow_spills=allow_spills,
            allow=tuple(parsed_region(text) for text in allow),
        ),
        json,
    )


def parsed_region(text: str) -> tuple[int, int]:
    """Return address and bytes of ``--allow``."""
    try:
        address, nbytes = (int(part, 0) for part in text.split(":"))
    except ValueError:
        raise UserError(f"--allow must be address:bytes, not {text!r}") from None
    if not (DRAM_BASE <= address < address + nbytes <= DRAM_END):
        raise UserError(f"--allow must lie within {DRAM_BASE:#x} to {DRAM_END:#x}, not {text}")
    return address, nbytes


def refuse(what: str, options: Mapping[str, object], files: Sequence[str]):
    """Raise if an option is given that means nothing here, or a file beside a kernel."""
    for option, value in options.items():
        if value is not None:
            raise UserError(f"{option} must be left out: it means nothing to {what}")
    if files:
        raise UserError(f"a kernel must be named alone, not with {files[0]}")
