"""Runs of products commanded by a host: data, commands, check of every value, result."""

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
from ..machine.saving import NOTHING, Saving
from ..report.result import (
    check_section,
    complete,
    memory_section,
    new_result,
    record_failure,
    saved,
    speed_section,
    traffic_section,
)
from ..report.utilization import account_host
from ..trace import OVERVIEW_SUFFIXES
from .overview_recording import Overview
from .result_check import Check, check

__all__ = ["RunOptions", "run_gemm", "run_kernel"]

NO_LIMIT = 1 << 40
#: The DMA among the requesters of the L2, which allocates lines for it only by config.
DMA_SOURCE = 0


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a host-driven run.

    Parameters
    ----------
    engine : str
        ``verilator`` or ``amaranth``.
    dram_bandwidth : float
        Bandwidth of DRAM in bytes per cycle.
    dram_latency : int
        Latency of DRAM in cycles.
    seed : int
        Seed of the operands and of random gating.
    data : str
        Kind of operands: ``random``, ``integers`` or ``extreme``.
    operands : tuple of ndarray or None
        A and B, as `kernels.elements` holds them, instead of data of that kind.
    c_format : str or None
        Format of C; None for the narrow one of the operands.
    max_cycles : int or None
        Limit of cycles, after which the run fails.
    gating : str
        ``gated``, ``ungated`` or ``random``.
    trace : path or None
        Trace file: a timeline of the cluster with a suffix of `OVERVIEW_SUFFIXES`, otherwise a
        waveform.
    trace_window : tuple of int or None
        First cycle of the trace, and the cycle after its last.
    saving : Saving
        Cycle at which the run is saved, and the saved run that it continues.

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
        """File of the waveform, or None."""
        return None if self.trace is None or self.overview else str(self.trace)

    @property
    def overview(self) -> Path | None:
        """File of the timeline of the cluster, or None."""
        path = None if self.trace is None else Path(self.trace)
        return path if path and path.suffix in OVERVIEW_SUFFIXES else None


class Runs(Protocol):
    """Part of the interface of `Machine` that a host-driven run uses."""

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
    """Build the machine, run the kernel and check C; return the result for a file.

    Parameters
    ----------
    kernel : str
        ``gemm``.
    preset : str
        Name of the machine.
    config : ClusterConfig
        Config of the machine.
    m, n, k : int
        Sizes of the product.
    options : RunOptions or None
        Options of the run; None for the defaults.
    progress : callable or None
        Called with the stage, the steps done and all steps.
    results : dict or None
        Filled with C, by its name.

    """
    options = options or RunOptions()
    if kernel != "gemm":
        raise UserError(f"kernel must be gemm, not {kernel!r}")
    if config.matrix is None:
        raise UserError(f"gemm needs a matrix unit, and {preset} has none")
    limit = options.max_cycles or NO_LIMIT
    options.saving.require_sound(options.engine, options.trace is not None, limit)
    problem, steps = pose(config, m, n, k, options)
    sizes = {"m": m, "n": n, "k": k}
    result = new_result(
        preset=preset,
        config=config,
        engine=options.engine,
        driver="host",
        seed=options.seed,
        kernel=kernel,
        sizes=sizes,
        options={
            "data": "given" if options.operands else options.data,
            "formats": {"a": problem.operand, "b": problem.operand, "c": problem.c_format},
            "gating": options.gating,
        },
        memory=memory_section(options.dram),
    )
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
        given = {"preset": preset, "kernel": kernel, "sizes": sizes}
        with drawn(machine, config, title, options), record_failure(result):
            runs = checkpointed(machine, options, given)
            try:
                execution, found, counters, marks = run_gemm(runs, config, problem, steps, options)
            except UnfinishedError:
                return saved(result)
        if results is not None:
            results["c"] = problem.result(machine.read(*problem.c_region))[0]
    return complete(
        result,
        **account_host(config, problem, execution, counters, marks),
        check=check_section(found.verdict, buffers={"c": found.as_dict()}),
        operations=2 * problem.macs,
        memory=memory_section(options.dram, moved(execution, problem, steps, options.dram)),
        tiling=dataclasses.asdict(steps.tiling),
        counters=counters,
        speed=speed_section(cycles_per_second=execution.cycles_per_second),
        clocked_cycles=execution.clocked,
    )


def checkpointed(machine: Machine, options: RunOptions, given: dict[str, Any]) -> Runs:
    """Return the machine, wrapped for saving and restoring if the options request it."""
    if not options.saving.is_wanted:
        return machine
    arguments = {"seed": options.seed, "spica": versions()["spica"]}
    return PausableMachine(machine, options.saving, given | arguments)


@contextmanager
def drawn(
    machine: Machine, config: ClusterConfig, title: str, options: RunOptions
) -> Iterator[None]:
    """Record the timeline of the cluster, and write it at every end of the run."""
    if options.overview is None:
        yield
        return
    overview = Overview(machine, config, options.trace_window)
    try:
        yield
    finally:
        overview.write(options.overview, title)


def pose(config: ClusterConfig, m, n, k, options: RunOptions) -> tuple[GemmProblem, Plan]:
    """Return the placed problem and its plan; raise `UserError` if there is none."""
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
    """Run one product on a machine after reset.

    Return the execution, the check, the counters, and the clock before the first command, after
    the first compute was commanded, and when the last compute was done. Raise `MachineError` if an
    error register is set.
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
    """Return `values` in consecutive groups of `counts` elements."""
    assert len(values) == sum(counts)
    return [part.tolist() for part in np.split(values, np.cumsum(counts)[:-1])]


def moved(
    execution: Execution, problem: GemmProblem, steps: Plan, dram: DramConfig
) -> dict[str, Any]:
    """Return the traffic between DRAM and the machine, and the bytes that the plan reads."""
    run, region = (
        traffic(execution.channels, cycles, dram.bytes_per_cycle)
        for cycles in (execution.cycles, execution.elapsed)
    )
    return traffic_section(run, region, steps.loaded_elements * problem.element_bytes("a"))
