"""Run of one product on a machine: commands of the host, counters, and check of every value."""

import numpy as np

from ...base.errors import MachineError
from ...hw.config import MachineConfig
from ...hw.isa.memory_map import CORES, CORES_BASE
from ...hw.machine.counters import counter_table
from ...kernels.commands import Host
from ...kernels.gemm.data import operands
from ...kernels.gemm.host.plan import Plan, plan
from ...kernels.gemm.host.schedule import schedule
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.reference import reference
from ...kernels.gemm.target import systolic_unit
from ..golden.matrix.gemm import slab
from ..golden.styles.registry import golden_product
from ..harness.error_registers import describe_faults, fault_registers
from ..machine.command_machine import CommandMachine
from ..machine.outcome import Execution
from .result_check import Check, check

__all__ = ["Operands", "ProductRun", "run_gemm"]

#: The DMA among the requesters of the L2, which allocates lines for it only by config.
DMA_SOURCE = 0
Operands = tuple[np.ndarray, np.ndarray]


class ProductRun:
    """Run of one product on a machine after reset.

    Parameters
    ----------
    machine : CommandMachine
        Machine after reset.
    config : MachineConfig
        Config of the machine.
    problem : GemmProblem
        Placed problem.
    steps : Plan
        Its plan.
    given : tuple of ndarray
        A and B, as `kernels.elements` holds them.
    permits_overflow : bool
        Whether operands provoke results that leave the range of their format.

    Attributes
    ----------
    commands : ndarray
        Commands of the host.
    execution : Execution
        Execution of the commands; this and the attributes below are set by `finish`.
    marks : list of int
        Clock before the first command, after the first compute was commanded, and when the last
        compute was done.
    counters : dict
        Event counters of the units.
    c : ndarray
        C.
    c_check : Check
        Check of C.

    """

    execution: Execution
    marks: list[int]
    counters: dict[str, int]
    c: np.ndarray
    c_check: Check

    def __init__(
        self,
        machine: CommandMachine,
        config: MachineConfig,
        problem: GemmProblem,
        steps: Plan,
        given: Operands,
        *,
        permits_overflow: bool = False,
    ):
        self.machine, self.config, self.problem, self.steps = machine, config, problem, steps
        self.given, self.permits_overflow = given, permits_overflow
        self.image = problem.image(*given)
        for address, data in self.image:
            machine.write(address, data)
        self.counter_table, self.registers = counter_table(config), fault_registers(config)
        self.commands = self.commands_of()

    def commands_of(self) -> np.ndarray:
        """Return the commands: the product, and reads of the counters and error registers."""
        host = Host()
        host.mark()
        schedule(self.config, self.problem, host, self.steps)
        if self.config.cores and DMA_SOURCE not in self.config.l2.no_allocate_sources:
            flush = CORES_BASE + CORES["flush"].offset
            host.commands.write(flush, 1)
            host.commands.wait_equal(flush, 0)
        for counter in self.counter_table:
            host.commands.read(counter.address)
            host.commands.read(counter.address + 4)
        for address in self.registers.values():
            host.commands.read(address)
        return host.commands.array()

    def finish(self, execution: Execution) -> None:
        """Check C; raise `MachineError` if an error register is set."""
        config, problem = self.config, self.problem
        table = self.counter_table
        marks, words, errors = split(execution.reads, 3, 2 * len(table), len(self.registers))
        if faults := describe_faults(dict(zip(self.registers, errors, strict=True))):
            raise MachineError(f"the machine is done, but {faults}")
        values = zip(words[::2], words[1::2], strict=True)
        self.counters = {
            counter.name: low | high << 32
            for counter, (low, high) in zip(table, values, strict=True)
        }
        self.execution, self.marks = execution, marks
        self.c, touched = problem.result(self.machine.read(*problem.c_region))
        depth = self.steps.tiling.k
        expected = golden_product(config, problem, *self.given, depth)
        rows, is_extreme = slab(systolic_unit(config), depth), self.permits_overflow
        wide = reference(problem, *self.given, rows, is_extreme=is_extreme)
        self.c_check = check(
            self.c,
            expected,
            *wide,
            form=problem.c_format,
            touched=touched,
            permits_overflow=is_extreme,
        )


def run_gemm(
    machine: CommandMachine,
    config: MachineConfig,
    problem: GemmProblem,
    kind: str = "random",
    seed=1,
) -> ProductRun:
    """Run one product of operands of a kind on a machine after reset; return the finished run.

    Raise `MachineError` if an error register is set.
    """
    given = operands(problem, kind, seed)
    steps = plan(config, problem)
    run = ProductRun(machine, config, problem, steps, given, permits_overflow=kind == "extreme")
    run.finish(machine.execute(run.commands))
    return run


def split(values: np.ndarray, *counts: int) -> list[list[int]]:
    """Return `values` in consecutive groups of `counts` elements."""
    assert len(values) == sum(counts)
    return [part.tolist() for part in np.split(values, np.cumsum(counts)[:-1])]
