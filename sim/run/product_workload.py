"""Products commanded by a host, as workloads."""

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...hw.config.arithmetic import ARITHMETIC
from ...kernels.gemm.data import operands
from ...kernels.gemm.host.plan import Plan, plan
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.target import systolic_unit
from ..harness.cluster_harness import observed_cluster
from ..harness.dram import DramConfig, traffic
from ..machine.command_machine import CommandMachine
from ..machine.machine import bytes_of
from ..machine.saving import data_digest
from ..report.result import (
    check_section,
    memory_section,
    region_section,
    speed_section,
    traffic_section,
)
from ..report.utilization import account_units
from .model_choice import Work, composed
from .options import RunOptions
from .overview_recording import drawn
from .product_run import Operands, ProductRun
from .workload import Console

__all__ = ["ProductWorkload", "pose"]


class ProductExecutor:
    """Executor of a product; its interface is that of `workload.Executor`.

    Parameters
    ----------
    run : ProductRun
        Run on a machine after reset.
    options : RunOptions
        Options of the run.
    title : str
        Title of the timeline of the cluster.

    """

    def __init__(self, run: ProductRun, options: RunOptions, title: str):
        self.run, self.options, self.title = run, options, title

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run to the end and check C; return False if the run was saved at its limit instead."""
        run, machine = self.run, self.run.machine
        if progress is not None:
            progress(sentence, 0, 0)
        with drawn(machine, run.config, self.options, self.title):
            machine.begin(run.commands)
            limit = self.options.max_cycles
            if not self.options.saving.drive(machine, arguments, limit, machine.advance):
                return False
            run.finish(machine.execution())
        return True

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        run, execution, problem = self.run, self.run.execution, self.run.problem
        dram, elapsed, region = self.options.memory, execution.elapsed, None
        assert isinstance(dram, DramConfig)
        whole, measured = (
            traffic(execution.channels, cycles, dram.bytes_per_cycle)
            for cycles in (execution.cycles, elapsed)
        )
        planned = run.steps.loaded_elements * problem.element_bytes("a")
        if execution.first_command is not None and execution.last_response is not None:
            region = region_section(
                execution.first_command,
                execution.last_response,
                begin_event="first_command",
                end_event="last_write_response",
            )
        phases = first_and_last(run.marks, elapsed, run.machine.access_cycles)
        units = account_units(
            run.config, [problem.macs], {0: elapsed}, run.counters, rest="idle", known=phases
        )
        return units | {
            "cycles": elapsed,
            "run_cycles": execution.cycles,
            "region": region,
            "memory": memory_section(dram, traffic_section(whole, measured, planned)),
            "counters": run.counters,
            "speed": speed_section(
                model=run.machine.verilated, cycles_per_second=execution.cycles_per_second
            ),
            "clocked_cycles": execution.clocked,
        }


@dataclass(kw_only=True)
class ProductWorkload:
    """Product on the matrix unit, commanded by a host.

    Parameters
    ----------
    m, n, k : int
        Sizes of the product.
    data : str
        Kind of operands: ``random``, ``integers`` or ``extreme``.
    given : tuple of ndarray or None
        A and B, as `kernels.elements` holds them, instead of data of that kind.
    c_format : str or None
        Format of C; None for the narrow one of the operands.

    """

    m: int
    n: int
    k: int
    data: str = "random"
    given: Operands | None = None
    c_format: str | None = None

    driver = "host"
    kernel = "gemm"

    @property
    def subject(self) -> dict[str, Any]:
        """Kernel with its sizes, by the keys of a result."""
        return {"kernel": self.kernel, "sizes": {"m": self.m, "n": self.n, "k": self.k}}

    @property
    def name(self) -> str:
        """Kernel with its sizes."""
        return f"{self.kernel} {self.m} x {self.n} x {self.k}"

    def sentence(self, preset: str) -> str:
        """Return the run in words."""
        return f"running {self.name}"

    def pose(self, preset: str, config: MachineConfig, options: RunOptions) -> dict[str, Any]:
        """Place the problem and plan it; raise `UserError` if the machine cannot compute it."""
        systolic_unit(config, "gemm")
        self.problem, self.steps = pose(config, self.m, self.n, self.k, self.c_format)
        operand = self.problem.operand
        return {
            "data": "given" if self.given else self.data,
            "formats": {"a": operand, "b": operand, "c": self.problem.c_format},
            "gating": options.gating,
        }

    @contextmanager
    def prepare(
        self,
        preset: str,
        config: MachineConfig,
        options: RunOptions,
        console: Console | None,
        progress: Progress | None,
    ) -> Iterator[ProductExecutor]:
        """Provide the machine with the operands in its memory."""
        assert isinstance(options.memory, DramConfig)
        with CommandMachine(
            config,
            name=preset.partition(",")[0],  # without settings: the name of a module
            engine=options.engine,
            memory=options.memory,
            gating=options.gating,
            seed=options.seed,
            optimize=options.model_optimize,
            composed=composed(config, options, Work(0, [self.problem.macs])),
            vcd=options.waveform,
            windows=options.waveform_windows,
            progress=progress,
            kind=observed_cluster if options.overview else None,
        ) as machine:
            given = self.given or operands(self.problem, self.data, options.seed)
            is_extreme = self.data == "extreme" and self.given is None
            run = ProductRun(
                machine, config, self.problem, self.steps, given, permits_overflow=is_extreme
            )
            yield ProductExecutor(run, options, f"{self.name} on {preset}")

    def inputs(self, executor: ProductExecutor, options: RunOptions) -> dict[str, Any]:
        """Return hashes of the inputs that a resumed run must share with the saved one."""
        run = executor.run
        pieces = [
            piece
            for address, data in run.image
            for piece in (address.to_bytes(8, "little"), bytes_of(data))
        ]
        return {"commands": data_digest([run.commands.tobytes()]), "data": data_digest(pieces)}

    def check(
        self, executor: ProductExecutor, options: RunOptions, done: dict[str, Any]
    ) -> tuple[dict[str, Any], Mapping[str, np.ndarray]]:
        """Return check, operations and tiling, and C."""
        run = executor.run
        buffers = {"c": run.c_check.as_dict()}
        return {
            "check": check_section(run.c_check.verdict, buffers=buffers),
            "operations": 2 * self.problem.macs,
            "tiling": dataclasses.asdict(self.steps.tiling),
        }, {"c": run.c}


def first_and_last(marks: list[int], elapsed: int, access_cycles: int) -> dict[str, float]:
    """Return the cycles before the first and after the last compute, by their activities.

    Parameters
    ----------
    marks : list of int
        Clock one access before the first command, one access after the first compute was
        commanded, and when the last compute was seen to be done; 32 bits.
    elapsed : int
        Cycles from the first command to the last write response.
    access_cycles : int
        Cycles of a host access.

    """
    commanded, done = ((mark - marks[0]) & 0xFFFF_FFFF for mark in marks[1:])
    return {
        "first_load": commanded - 2 * access_cycles,
        # The last tile may be stored before the host sees that it is computed.
        "last_store": max(0, elapsed - (done - access_cycles)),
    }


def pose(
    config: MachineConfig, m: int, n: int, k: int, c_format: str | None = None
) -> tuple[GemmProblem, Plan]:
    """Return the placed problem and its plan; raise `UserError` if there is none."""
    operand = systolic_unit(config).operand
    c_format = c_format or ARITHMETIC[operand].narrow
    try:
        problem = GemmProblem.placed(m=m, n=n, k=k, operand=operand, c_format=c_format)
        return problem, plan(config, problem)
    except (ValueError, TypeError) as error:
        raise UserError(f"gemm {m} x {n} x {k}: {error}") from None
