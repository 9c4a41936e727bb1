"""``spica run``: one kernel on one machine, checked and reported."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..hw.arithmetic import ARITHMETIC
from ..hw.errors import MachineError, UserError
from ..kernels.gemm.data import KINDS
from ..sim.report import report
from ..sim.run import RunOptions, run_kernel
from ..sim.verilator_engine import GATINGS
from .catalog import ENGINES, kernel_names
from .files import Draft
from .options import JsonOption, JsonOutput, SetOption, choose, configured
from .progress import ProgressDisplay

__all__ = ["run"]

WRONG = 1
C_FORMATS = tuple(dict.fromkeys(f for kind in ARITHMETIC.values() for f in kind.c_formats))


def run(
    kernel: str,
    /,
    *,
    preset: str,
    size: int | None = None,
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
    trace: Path | None = None,
    trace_window: str | None = None,
    settings: SetOption = (),
    json: JsonOption = None,
) -> int:
    """Run a kernel, check every value of its result, and report its cycles and where they went.

    Exit code 0 if every value is right, 1 if one is wrong or the machine faults or hangs.

    Parameters
    ----------
    kernel
        A kernel of `spica list`.
    preset
        A preset of `spica list`.
    size
        M, N and K at once.
    m
        Rows of A and C.
    n
        Columns of B and C.
    k
        Columns of A, rows of B.
    c
        Format of C: fp32, or the narrower fp16 or bf16 where the operands have one (the default);
        int32 for int8 operands.
    engine
        An engine of `spica list`.
    dram_bandwidth
        Bytes per cycle that DRAM gives and takes.
    dram_latency
        Cycles of a round trip to DRAM.
    data
        Operands: random, integers (small, so that sums are exact) or extreme (NaN, infinities,
        subnormals, signed zeros among them).
    seed
        Of the operands and of random gating.
    gating
        Clocks of idle blocks: gated, ungated or random. Changes speed alone.
    max_cycles
        Cycles after which the run counts as hung.
    trace
        Write a waveform (VCD) to this file.
    trace_window
        Cycles to trace, as first:end, without the end; all if not given.

    """
    choose("kernel", kernel, kernel_names())
    choose("engine", engine, ENGINES)
    choose("kind of data", data, KINDS)
    choose("gating", gating, GATINGS)
    if c is not None:
        choose("format of C", c, C_FORMATS)
    config = configured(preset, settings)
    m, n, k = extents(size, m, n, k)
    require_at_least(0, {"--seed": seed})
    require_at_least(1, {"--dram-bandwidth": dram_bandwidth, "--dram-latency": dram_latency})
    require_at_least(1, {"--max-cycles": max_cycles})
    window = parsed_window(trace_window, trace, engine)
    with JsonOutput(json) as output, Draft(trace) if trace else nullcontext() as waveform:
        options = RunOptions(
            engine=engine,
            dram_bandwidth=dram_bandwidth,
            dram_latency=dram_latency,
            data=data,
            seed=seed,
            gating=gating,
            c_format=c,
            max_cycles=max_cycles,
            trace=None if waveform is None else waveform.draft,
            trace_window=window,
        )
        try:
            with ProgressDisplay() as progress:
                result = run_kernel(kernel, preset, config, m, n, k, options, progress)
        except MachineError:
            keep(waveform)  # what was recorded before the fault is what one looks at
            raise
        keep(waveform)
        if output.write(result):
            print(report(result), end="")
    return 0 if result["check"]["verdict"] == "right" else WRONG


def extents(size: int | None, m: int | None, n: int | None, k: int | None) -> tuple[int, int, int]:
    """Return M, N and K from ``--size`` or the three of them."""
    given = {"-m": m, "-n": n, "-k": k}
    missing = [option for option, value in given.items() if value is None]
    if size is not None:
        if len(missing) < len(given):
            raise UserError("sizes must be given either by --size or by -m, -n and -k, not by both")
        given = {"--size": size}
        m = n = k = size
    elif missing:
        raise UserError(
            f"sizes must be given by --size or by -m, -n and -k; {missing[0]} is missing"
        )
    require_at_least(1, given)
    assert m is not None and n is not None and k is not None
    return m, n, k


def require_at_least(least: int, options: Mapping[str, int | None]):
    """Raise if an option that is given is below `least`."""
    for option, value in options.items():
        if value is not None and value < least:
            raise UserError(f"{option} must be {least} or more, not {value}")


def parsed_window(window: str | None, trace: Path | None, engine: str) -> tuple[int, int] | None:
    """Return the first cycle of ``--trace-window`` and the one after its last."""
    if window is None:
        return None
    if trace is None:
        raise UserError("--trace-window needs --trace, the file to write to")
    if engine != "verilator":
        raise UserError(f"--trace-window needs --engine verilator; {engine} traces every cycle")
    first, _, end = window.partition(":")
    if not (first.isdecimal() and end.isdecimal() and int(first) < int(end)):
        raise UserError(f"--trace-window must be first:end, two rising cycles, not {window!r}")
    return int(first), int(end)


def keep(waveform: Draft | None):
    """Give a waveform its name, if the engine wrote one."""
    if waveform is not None and waveform.draft.stat().st_size:
        waveform.commit()
