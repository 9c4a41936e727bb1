"""Run a kernel on a machine: place its data, command it, check every value, account for cycles."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...hw.base.errors import MachineError, UserError
from ...hw.cluster.counters import counter_table
from ...hw.config import ClusterConfig
from ...hw.config.arithmetic import ARITHMETIC
from ...hw.isa.memory_map import CORES, CORES_BASE
from ...kernels.commands import Host
from ...kernels.gemm.data import operands
from ...kernels.gemm.plan import Plan, plan
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.reference import reference
from ...kernels.gemm.schedule import schedule
from ..engine.versions import versions
from ..golden.matrix.gemm import gemm, slab
from ..harness.dram import DramConfig, traffic
from ..harness.error_registers import describe_faults, fault_registers
from ..machine.cluster_machine import observed_cluster
from ..machine.command_machine import Execution, Machine
from ..machine.pausable_machine import PausableMachine, UnfinishedError
from ..machine.saving import NOTHING, UNFINISHED, Saving
from ..report.cycle_account import account
from ..trace import OVERVIEW_SUFFIXES
from .overview_recording import Overview
from .result_check import Check, check

__all__ = ["RunOptions", "run_gemm", "run_kernel"]

NO_LIMIT = 1 << 40
#: Among those who ask the L2 cache; it allocates lines for the DMA only if told so.
DMA_SOURCE = 0


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a kernel is run.

    Parameters
    ----------
    engine : str
        ``verilator`` or ``amaranth``.
    dram_bandwidth : float
        Bytes per cycle that DRAM gives and takes.
    dram_latency : int
        Cycles of a round trip to DRAM.
    seed : int
        Of the operands, and of random gating.
    data : str
        Kind of operands: ``random``, ``integers`` or ``extreme``.
    operands : tuple of ndarray or None
        A and B, as `kernels.elements` holds them, in place of data of that kind.
    c_format : str or None
        Format of C; None for the narrow one of the operands.
    max_cycles : int or None
        Cycles after which the run counts as hung.
    gating : str
        ``gated``, ``ungated`` or ``random``.
    trace : path or None
        Where to write a trace: with a suffix of `OVERVIEW_SUFFIXES` what every engine did, else a
        waveform.
    trace_window : tuple of int or None
        First cycle of the trace, and the one after its last.
    saving : Saving
        When the run is saved, and what it goes on from.

    """

    engine: str = "verilator"
    dram_bandwidth: float = 64
    dram_latency: int = 100
    seed: int = 1
    data: str = "random"
    operands: tuple[np.ndarray, np.ndarray] | None = None
    c_format: str | None = None
    max_cycles: int | None = None
    gating: str = "gated"
    trace: str | PathLike | None = None
    trace_window: tuple[int, int] | None = None
    saving: Saving = NOTHING

    @property
    def dram(self) -> DramConfig:
        """Timing of DRAM."""
        return DramConfig(bytes_per_cycle=float(self.dram_bandwidth), latency=self.dram_latency)

    @property
    def waveform(self) -> str | None:
        """Where to write a waveform, if one is wanted."""
        return None if self.trace is None or self.overview else str(self.trace)

    @property
    def overview(self) -> Path | None:
        """Where to write what every engine did, if that is wanted."""
        path = None if self.trace is None else Path(self.trace)
        return path if path and path.suffix in OVERVIEW_SUFFIXES else None


class Runs(Protocol):
    """What a kernel needs of a `Machine`."""

    def write(self, address: int, array: np.ndarray | bytes) -> None: ...
    def read(self, address: int, nbytes: int) -> np.ndarray: ...
    def execute(self, commands: np.ndarray, max_cycles: int = ...) -> Execution: ...


def run_kernel(
    kernel: str,
    preset: str,
    config: ClusterConfig,
    m: int,
    n: int,
    k: int,
    options: RunOptions | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    results: dict[str, np.ndarray] | None = None,
) -> dict:
    """Build the machine, run the kernel, check its result; return the result for a file.

    Parameters
    ----------
    kernel : str
        ``gemm``.
    preset : str
        Name of the machine.
    config : ClusterConfig
        The preset's config, or a change of it.
    m, n, k : int
        Sizes of the product.
    options : RunOptions or None
        How to run it; None for the defaults.
    progress : callable or None
        Told what is being done, pieces done, pieces in all.
    results : dict or None
        Given C by its name.

    """
    options = options or RunOptions()
    if kernel != "gemm":
        raise UserError(f"kernel must be gemm, not {kernel!r}")
    if config.matrix is None:
        raise UserError(f"gemm needs a matrix unit, and {preset} has none")
    limit = options.max_cycles or NO_LIMIT
    options.saving.require_sound(options.engine, options.trace is not None, limit)
    problem, steps = pose(config, m, n, k, options)
    given = {"preset": preset, "kernel": kernel, "size": {"m": m, "n": n, "k": k}}
    tell = progress or (lambda sentence, done, total: None)
    with Machine(
        config,
        name=preset,
        engine=options.engine,
        dram=options.dram,
        gating=options.gating,
        seed=options.seed,
        vcd=options.waveform,
        window=options.trace_window,
        progress=progress,
        kind=observed_cluster if options.overview else None,
    ) as machine:
        tell(f"running {kernel} {m} x {n} x {k}", 0, 0)
        title = f"{kernel} {m} x {n} x {k} on {preset}"
        with drawn(machine, config, title, options):
            runs = checkpointed(machine, options, given)
            try:
                execution, found, counters, marks = run_gemm(runs, config, problem, steps, options)
            except UnfinishedError:
                return given | {"check": {"verdict": UNFINISHED}}
        if results is not None:
            results["c"] = problem.result(machine.read(*problem.c_region))[0]
    result = {
        **given,
        "engine": options.engine,
        "formats": {"operands": problem.operand, "c": problem.c_format},
        "data": options.data,
        "seed": options.seed,
    }
    result |= account(config, problem, execution, counters, marks)
    return result | {
        "check": found.as_dict(),
        "memory": dataclasses.asdict(options.dram) | moved(execution, problem, steps),
        "tiling": dataclasses.asdict(steps.tiling),
        "counters": counters,
        "simulated_cycles_per_second": execution.cycles_per_second,
        "gating": options.gating,
        "clocked_cycles": execution.clocked,
        "versions": versions(),
        "config": dataclasses.asdict(config.resolved),
    }


def checkpointed(machine: Machine, options: RunOptions, given: dict[str, Any]) -> Runs:
    """Return the machine, or one that saves and restores its run if that is wanted."""
    if not options.saving.is_wanted:
        return machine
    arguments = {"seed": options.seed, "spica": versions()["spica"]}
    return PausableMachine(machine, options.saving, given | arguments)


@contextmanager
def drawn(
    machine: Machine, config: ClusterConfig, title: str, options: RunOptions
) -> Iterator[None]:
    """Record what every engine does meanwhile, and write it down however it ends."""
    if options.overview is None:
        yield
        return
    overview = Overview(machine, config, options.trace_window)
    try:
        yield
    finally:
        overview.write(options.overview, title)


def pose(config: ClusterConfig, m, n, k, options: RunOptions) -> tuple[GemmProblem, Plan]:
    """Return the problem in its place and its plan, or say why there is none."""
    assert config.matrix is not None
    operand = config.matrix.operand
    c_format = options.c_format or ARITHMETIC[operand].narrow
    try:
        problem = GemmProblem.placed(m=m, n=n, k=k, operand=operand, c_format=c_format)
        return problem, plan(config, problem)
    except (ValueError, TypeError) as error:
        raise UserError(f"gemm {m} x {n} x {k}: {error}") from None


def run_gemm(
    machine: Runs, config: ClusterConfig, problem: GemmProblem, steps: Plan, options: RunOptions
) -> tuple[Execution, Check, dict[str, int], list[int]]:
    """Run one product on a machine just reset.

    Return the execution, the check, the counters, and the clock before the first command, after
    the first compute was commanded, and when the last compute was done. Raise `MachineError` if an
    error register says that something went wrong.
    """
    assert config.matrix is not None
    a, b = options.operands or operands(problem, options.data, options.seed)
    for address, data in problem.image(a, b):
        machine.write(address, data)
    host = Host()
    host.mark()
    schedule(config, problem, host, steps)
    if config.cores and DMA_SOURCE not in config.l2.no_allocate_sources:
        flush = CORES_BASE + CORES["flush"].offset
        host.commands.write(flush, 1)
        host.commands.wait_equal(flush, 0)
    table = counter_table(config)
    for counter in table:
        host.commands.read(counter.address)
        host.commands.read(counter.address + 4)
    registers = fault_registers(config)
    for address in registers.values():
        host.commands.read(address)
    execution = machine.execute(host.commands.array(), options.max_cycles or NO_LIMIT)
    marks, words, errors = split(execution.reads, 3, 2 * len(table), len(registers))
    if faults := describe_faults(dict(zip(registers, errors, strict=True))):
        raise MachineError(f"the machine is done, but {faults}")
    values = zip(words[::2], words[1::2], strict=True)
    counters = {
        counter.name: low | high << 32 for counter, (low, high) in zip(table, values, strict=True)
    }
    c, touched = problem.result(machine.read(*problem.c_region))
    depth = steps.tiling.k
    expected = gemm(config.matrix, problem, a, b, depth)
    wide = reference(problem, a, b, slab(config.matrix, depth))
    found = check(c, expected, *wide, form=problem.c_format, touched=touched)
    return execution, found, counters, marks


def split(values: np.ndarray, *counts: int) -> list[list[int]]:
    """Return `values` in consecutive groups of so many each."""
    assert len(values) == sum(counts)
    return [part.tolist() for part in np.split(values, np.cumsum(counts)[:-1])]


def moved(execution: Execution, problem: GemmProblem, steps: Plan) -> dict:
    """Return what moved between DRAM and the machine, and what the plan meant to move."""
    return traffic(execution.channels, execution.elapsed) | {
        "planned_read_bytes": steps.loaded_elements * problem.element_bytes("a"),
        "row_hits": sum(channel.row_hits for channel in execution.channels),
        "row_misses": sum(channel.row_misses for channel in execution.channels),
    }
