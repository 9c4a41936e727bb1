"""Options of a run that a request stands for; each has a valid value."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

from ....base.errors import UserError
from ....hw.config.arithmetic import ARITHMETIC
from ....kernels.gemm.data import KINDS
from ....kernels.gemm.styles import ARRANGEMENTS
from ...engine.verilator_engine import GATINGS
from ...trace import OVERVIEW_SUFFIXES, TRACE_SUFFIXES
from ..drivers import DRIVERS
from ..dumps import parsed_range
from ..exact_kernels import kernel_names
from ..loading import is_file_name
from ..options import (
    BUILDS,
    CHECKS,
    CLUSTER_TRACES,
    ENGINES,
    MODEL,
    RACES,
    SCHEDULES,
    TRACES,
    RunOptions,
    SimtOptions,
)
from .choices import choose, flag_of, given, require_at_least
from .memory import memory_of
from .request import Request

__all__ = ["host_options", "require_known_values", "require_product_choices", "simt_options"]

C_FORMATS = tuple(dict.fromkeys(f for kind in ARITHMETIC.values() for f in kind.c_formats))
#: Suffixes of traces that any engine records in a window.
DRAWN = (*TRACE_SUFFIXES, *OVERVIEW_SUFFIXES)
#: Options with names for values.
KNOWN = {
    "driver": DRIVERS,
    "gating": GATINGS,
    "build": BUILDS,
    "schedule": SCHEDULES,
    "check": CHECKS,
    "races": RACES,
}
RunOptionsT = TypeVar("RunOptionsT", bound=RunOptions)


def require_known_values(request: Request):
    """Raise unless kernel, engine and each option have values that are known for some run."""
    if not is_file_name(request.kernel):
        choose("kernel", request.kernel, kernel_names())
    choose("--engine", request.engine, ENGINES)
    require_at_least(0, {"--seed": request.seed})
    for name, known in KNOWN.items():
        if getattr(request, name) is not None:
            choose(f"--{name}", getattr(request, name), known)
    if request.optimize is not None and request.optimize not in range(4):
        raise UserError(f"--optimize must be between 0 and 3, not {request.optimize!r}")
    limits = ("max_instructions", "max_cycles")
    require_at_least(1, {flag_of(name): getattr(request, name) for name in limits})


def host_options(request: Request) -> RunOptions:
    """Return the options of a run that a host drives."""
    options = run_options(RunOptions, request)
    require_trace(request, CLUSTER_TRACES)
    require_product_choices(request)
    return options


def simt_options(request: Request) -> SimtOptions:
    """Return the options of a run of a program."""
    lockstep = request.is_lockstep_usual if request.lockstep is None else request.lockstep
    if request.races is not None and not lockstep:
        raise UserError("--races needs lockstep; leave out --no-lockstep")
    options = run_options(
        SimtOptions,
        request,
        allow_regions=tuple(parsed_range("--allow-region", text) for text in request.allow_region),
        dumps=request.dump,
        lockstep=lockstep,
    )
    require_trace(request, TRACES)
    return options


def run_options(kind: type[RunOptionsT], request: Request, **others: Any) -> RunOptionsT:
    """Return the options of a run: those of the same name that are given, and `others`."""
    shared = {option.name for option in fields(kind)} & {option.name for option in fields(request)}
    memory = request.memory or memory_of(
        request.seed,
        given(bytes_per_cycle=request.dram_bandwidth, latency=request.dram_latency),
        given(
            latency=request.memory_latency,
            jitter=request.memory_jitter,
            stall=request.memory_stall,
        ),
    )
    values = {name: getattr(request, name) for name in shared} | {
        "memory": None if request.engine == MODEL else memory,
        "trace_window": parsed_window(request),
    }
    return kind(**given(**values) | others)


def require_trace(request: Request, suffixes: Sequence[str]):
    """Raise unless the trace has one of these suffixes and a model that records it."""
    if request.trace is None:
        return
    choose("suffix of --trace", request.trace.suffix, suffixes)
    if request.trace.suffix not in DRAWN and request.build == "quick":
        raise UserError("a waveform needs --build fast, not quick")


def require_product_choices(request: Request, kinds: Sequence[str] = KINDS):
    """Raise unless the format of C, the kind of operands and their arrangement are known."""
    if request.data is not None:
        choose("--data", request.data, kinds)
    if request.c is not None:
        choose("--c", request.c, C_FORMATS)
    if request.arrange is not None:
        choose("--arrange", request.arrange, ARRANGEMENTS)


def parsed_window(request: Request) -> tuple[int, int] | None:
    """Return the first cycle of ``--trace-window`` and the cycle after the last."""
    window, trace, engine = request.trace_window, request.trace, request.engine
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
