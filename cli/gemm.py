"""Runs of the host-driven kernel, from checked options to the exit code."""

import dataclasses
from contextlib import nullcontext
from pathlib import Path

from ..hw.base.errors import MachineError, UserError
from ..hw.config import ClusterConfig
from ..hw.config.arithmetic import ARITHMETIC
from ..hw.config.rtl_support import require_rtl
from ..kernels.gemm.data import KINDS
from ..sim.engine.verilator_engine import GATINGS
from ..sim.run.command_run import RunOptions, run_kernel
from ..sim.trace import OVERVIEW_SUFFIXES
from .files import Draft
from .options import JsonOutput, choose
from .progress import ProgressDisplay
from .results import deliver, deliver_failure
from .sizes import require_at_least

__all__ = [
    "DIMENSIONS",
    "HOST_KERNEL",
    "is_overview",
    "keep",
    "parsed_window",
    "require_choices",
    "run_gemm",
]

HOST_KERNEL = "gemm"
DIMENSIONS = ("m", "n", "k")
TRACES = (".vcd", *OVERVIEW_SUFFIXES)
C_FORMATS = tuple(dict.fromkeys(f for kind in ARITHMETIC.values() for f in kind.c_formats))


def require_choices(c_format: str | None, data: str | None):
    """Raise unless the format of C and the kind of operands are known."""
    if data is not None:
        choose("--data", data, KINDS)
    if c_format is not None:
        choose("--c", c_format, C_FORMATS)


def require_sound(options: RunOptions):
    """Raise unless every option has a valid value."""
    choose("--gating", options.gating, GATINGS)
    if options.trace is not None:
        choose("suffix of --trace", Path(options.trace).suffix, TRACES)
    require_choices(options.c_format, options.data)
    require_at_least(1, {"--dram-bandwidth": int(options.dram_bandwidth)})
    require_at_least(1, {"--dram-latency": options.dram_latency})
    require_at_least(1, {"--max-cycles": options.max_cycles})


def run_gemm(
    preset: str,
    config: ClusterConfig,
    sizes: dict[str, int],
    options: RunOptions,
    json: str | None,
) -> int:
    """Run one product and report the result; return the exit code."""
    require_rtl(config)
    trace = None if options.trace is None else Path(options.trace)
    with JsonOutput(json) as output, Draft(trace) if trace else nullcontext() as waveform:
        options = dataclasses.replace(options, trace=None if waveform is None else waveform.draft)
        m, n, k = (sizes[name] for name in DIMENSIONS)
        try:
            with ProgressDisplay() as progress:
                result = run_kernel(HOST_KERNEL, preset, config, m, n, k, options, progress)
        except MachineError as error:
            keep(waveform)  # the cycles before the fault are the ones to look at
            deliver_failure(error, output)
            raise
        keep(waveform)
        return deliver(result, output)


def is_overview(trace: Path | None) -> bool:
    """Return whether a trace is a timeline of the whole cluster."""
    return trace is not None and trace.suffix in OVERVIEW_SUFFIXES


def parsed_window(
    window: str | None, trace: Path | None, engine: str, *, waveform: bool = True
) -> tuple[int, int] | None:
    """Return the first cycle of ``--trace-window`` and the cycle after the last."""
    if window is None:
        return None
    if trace is None:
        raise UserError("--trace-window needs --trace")
    if waveform and engine != "verilator":
        raise UserError(
            f"--trace-window needs --engine verilator; engine {engine} traces every cycle"
        )
    first, _, end = window.partition(":")
    if not (first.isdecimal() and end.isdecimal() and int(first) < int(end)):
        raise UserError(f"--trace-window must be first:end with first below end, not {window!r}")
    return int(first), int(end)


def keep(trace: Draft | None):
    """Rename a trace to its place, if it was written."""
    if trace is not None and trace.draft.stat().st_size:
        trace.commit()
