"""Analytic model of ``gemm`` on a matrix unit commanded by the cores."""

from collections.abc import Mapping, Sequence
from typing import Any

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.presets import PRESETS
from ....kernels.gemm.problem import GemmProblem
from ....kernels.gemm.target import systolic_unit
from ...harness.dram import DramConfig
from ..work import CORES, FINISHED, PAIR, WHAT, Counted, Traffic
from .program_steps import ProgramStep, program_steps
from .tiles import blocks_of, step_loads, step_stores
from .timeline import Timeline

__all__ = ["counted", "has_timeline", "require_described", "terms_of", "traffic_of", "unit_traffic"]

#: Core whose program cycles `program` has.
MEASURED_CORE = PRESETS["virgo"].core


def traffic_of(config: MachineConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of a product on the first matrix unit."""
    require_described(config)
    return unit_traffic(config, product, list(program_steps(config, product)))


def unit_traffic(
    config: MachineConfig, product: GemmProblem, steps: Sequence[ProgramStep]
) -> Traffic:
    """Return the exact work of the steps of a product whose C the unit stores to DRAM."""
    unit = systolic_unit(config)
    rows = weights = read = written = 0
    for step in steps:
        blocks, slabs = blocks_of(config, step)
        rows += step.m * blocks * slabs
        weights += step.depth * blocks
        read += sum(load.beats for load, _ in step_loads(config, product, step))
        if step.last:
            written += sum(sum(store.lines) for store in step_stores(config, product, step))
    return Traffic(
        active=rows,
        shared_read_bytes={"a": rows * unit.a_bytes, "b": weights * unit.b_bytes},
        dma_read_bytes=read * config.axi.beat_bytes,
        dma_written_bytes=written * config.axi.beat_bytes,
    )


def terms_of(config: MachineConfig, product: GemmProblem, memory: DramConfig) -> dict[str, int]:
    """Return the predicted cycles by term of `timeline.TERMS`; none but for the cores of `virgo`.

    The cycles of the program were measured on these cores.
    """
    if not has_timeline(config):
        return {}
    return Timeline(config, product, memory, list(program_steps(config, product))).run()


def has_timeline(config: MachineConfig) -> bool:
    """Return whether the cycles of the program were measured on the cores of a machine."""
    return bool(config.units) and config.core == MEASURED_CORE


def require_described(config: MachineConfig):
    """Raise `UserError` if the models of the array's programs do not describe the machine."""
    unit = systolic_unit(config, WHAT)
    warps = config.core.warps if config.core is not None else 0
    if warps < 2:
        raise UserError(f"{WHAT} needs cores of 2 warps or more, not {warps}")
    if unit.dataflow != "weight_stationary":
        raise UserError(f"{WHAT} needs matrix.dataflow weight_stationary, not {unit.dataflow}")


def counted(config: MachineConfig, result: Mapping[str, Any]) -> Counted:
    """Return what the counters of a run show of the unit, and in `PAIR` of the second one."""
    counters, kernel = result["counters"], result["kernel"]
    readers, active = ("a", "b"), counters["matrix_active"]
    if kernel in FINISHED:
        readers += (CORES,)
    if kernel == PAIR:
        readers += ("a1", "b1")
        active += counters["matrix1_active"]
    return Counted(readers=readers, active=active)
