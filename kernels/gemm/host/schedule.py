"""Host schedule of a matrix product: the command list for a host-driven cluster."""

from bisect import bisect_right

from ....hw.config import MachineConfig
from ...commands import Host
from ...rocc import Rocc
from ..problem import GemmProblem, ceil_div
from ..target import systolic_unit
from .plan import Load, Plan, Step, plan

__all__ = ["schedule"]


def schedule(
    config: MachineConfig,
    problem: GemmProblem,
    host: Host | None = None,
    steps: Plan | None = None,
) -> Host:
    """Return the host whose commands compute `problem`.

    Loads run ahead as far as slots are free. At most two computes are in flight. The store of a
    tile of C is queued behind its last compute, so the next compute follows without a gap. The
    registers of a compute are written while its operands load: one write then starts it. The host
    reads the clock after it commands the first compute and after the last compute is done.

    Parameters
    ----------
    config : MachineConfig
        The machine, with a matrix unit.
    problem : GemmProblem
        The product and its DRAM layout.
    host : Host or None
        A driver that continues after earlier commands; None for a machine just reset.
    steps : Plan or None
        The tile plan; None for the best one.

    """
    return Schedule(config, problem, steps or plan(config, problem), host or Host()).emit()


class Schedule:
    """Translation of a plan into host commands."""

    def __init__(self, config: MachineConfig, problem: GemmProblem, steps: Plan, host: Host):
        self.config = config
        self.matrix = systolic_unit(config)
        self.problem = problem
        self.plan = steps
        self.host = host
        self.rocc = Rocc(host)
        # Jobs of earlier products are done: the counts of this one start here.
        self.first_load, self.first_compute = host.loads, host.computes
        self.computes_known = 0
        self.loads_known = 0
        self.loads_issued = 0
        self.load_steps = [load.step for load in steps.loads]

    def emit(self) -> Host:
        """Append all commands."""
        for index, step in enumerate(self.plan.steps):
            self.load_until(index)
            if index == 0:
                self.configure()
            self.compute(index, step)
            if index == 0:
                self.host.mark()
            if step.last:
                self.store(step)
            self.load_ahead()
        self.await_computes(len(self.plan.steps))
        self.host.mark()
        self.host.wait_idle()
        return self.host

    def configure(self):
        """Set the parameters common to all tiles of C."""
        self.rocc.result_pitch(self.problem.c_pitch)
        # Reset sets the factor to 1.
        if self.problem.scale is not None or self.first_compute:
            self.rocc.result_scale(self.problem.scale)

    def load_until(self, index: int):
        """Issue the loads that step `index` needs, as soon as their slots are free."""
        while (load := self.next_load()) and load.step <= index:
            self.issue(load)

    def load_ahead(self):
        """Issue loads of later steps whose slots are known to be free.

        At most as many as the DMA can queue: a full queue would stall the host and delay the next
        compute.
        """
        dma = self.config.dma
        assert dma is not None  # matrix units need one
        while (load := self.next_load()) and load.after <= self.computes_known:
            if self.loads_issued - self.loads_known >= dma.queue:
                break
            self.issue(load)

    def next_load(self) -> Load | None:
        loads = self.plan.loads
        return loads[self.loads_issued] if self.loads_issued < len(loads) else None

    def issue(self, load: Load):
        """Issue one load once its slot is free; ragged tiles are padded with zeros."""
        problem, matrix = self.problem, self.matrix
        self.await_computes(load.after)
        size = problem.element_bytes(load.matrix)
        columns, block_bytes = (
            (matrix.rows, matrix.a_bytes)
            if load.matrix == "a"
            else (matrix.columns, matrix.b_bytes)
        )
        base = getattr(problem, f"{load.matrix}_base")
        pitch = getattr(problem, f"{load.matrix}_pitch")
        row_bytes = ceil_div(load.columns, columns) * block_bytes
        # Rows of A are rows of C and need no padding; rows of B are product indices.
        rows = load.rows if load.matrix == "a" else ceil_div(load.rows, matrix.rows) * matrix.rows
        ragged = row_bytes != load.columns * size or rows != load.rows
        self.host.load(
            dram=base + (load.row * pitch + load.column) * size,
            dram_pitch=pitch * size,
            local=load.address,
            local_pitch=row_bytes,
            rows=load.rows,
            size=load.columns * size,
            fill_rows=rows if ragged else 0,
            fill_size=row_bytes if ragged else 0,
        )
        self.loads_issued += 1

    def compute(self, index: int, step: Step):
        """Prepare compute `index`, wait for its operands and a free place in flight, start it."""
        matrix, units = self.matrix, (self.matrix.rows, self.matrix.columns, self.matrix.rows)
        sizes = (step.m, step.n, step.depth)
        i, j, k = (ceil_div(size, unit) for size, unit in zip(sizes, units, strict=True))
        pads = (i * units[0] - step.m, j * units[1] - step.n, k * units[2] - step.depth)
        b_end = step.b_address + k * matrix.rows * j * matrix.b_bytes
        self.rocc.bounds((i, j, k), pads)
        self.rocc.operands_at(step.a_address // matrix.a_bytes, b_end // matrix.b_bytes)
        self.rocc.prepare_compute(accumulate=step.k > 0)
        self.await_loads(bisect_right(self.load_steps, index))
        self.await_computes(index - 1)
        self.rocc.compute(accumulate=step.k > 0)

    def store(self, step: Step):
        """Queue the store of the tile of C that `step` completes."""
        problem = self.problem
        offset = step.i * problem.c_pitch + step.j
        self.rocc.result_at(problem.c_base + offset * problem.element_bytes("c"))
        wide = problem.c_format == self.matrix.accumulator_format.name
        self.rocc.store(wide=wide, relu=problem.relu)

    def await_loads(self, count: int):
        """Wait until the first `count` loads of the plan are done; they complete in order."""
        if count > self.loads_known:
            self.host.wait_loads(self.first_load + count)
            self.loads_known = count

    def await_computes(self, count: int):
        """Wait until the first `count` computes of the plan are done."""
        if count > self.computes_known:
            self.host.wait_computes(self.first_compute + count)
            self.computes_known = count
