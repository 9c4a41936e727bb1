"""Analytic model of ``gemm`` commanded by cores: cycles and bytes from config and schedule."""

import dataclasses
from dataclasses import dataclass

from ...hw.base.errors import UserError
from ...hw.config import PRESETS, ClusterConfig
from ...hw.config.arithmetic import ARITHMETIC
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.target import is_on_tensor_units, systolic_unit
from ..harness.dram import DramConfig
from ..machine.memory_layout import place_buffers
from .program_steps import program_steps
from .tiles import blocks_of, step_loads, step_stores
from .timeline import Timeline

__all__ = ["Prediction", "Traffic", "predict", "product_of", "traffic_of"]

WHAT = "the analytic model of gemm"
#: Core whose program cycles `program` has.
MEASURED_CORE = PRESETS["virgo"].core


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Exact work of a product.

    Parameters
    ----------
    active : int
        Cycles in which a row of A enters the array.
    shared_read_bytes : dict
        Bytes that the matrix unit reads from shared memory, for ``a`` and ``b``.
    dma_read_bytes, dma_written_bytes : int
        Bytes of all beats of the DMA on the AXI masters.

    """

    active: int
    shared_read_bytes: dict[str, int]
    dma_read_bytes: int
    dma_written_bytes: int


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Predicted cycles of a product, and its exact work.

    Parameters
    ----------
    cycles : int
        Cycles from the begin marker to the end marker.
    terms : dict
        Cycles by cause, as in `timeline.TERMS`; their sum is `cycles`.
    traffic : Traffic
        Exact work.

    """

    cycles: int
    terms: dict[str, int]
    traffic: Traffic


def product_of(
    config: ClusterConfig, *, m: int, n: int, k: int, c_format: str | None = None
) -> GemmProblem:
    """Return the product with the places in DRAM that a run of ``gemm`` on the cores has."""
    operand = systolic_unit(config, WHAT).operand
    c_format = c_format or ARITHMETIC[operand].narrow
    product = GemmProblem.placed(m=m, n=n, k=k, operand=operand, c_format=c_format)
    sizes = {
        name: rows * columns * product.element_bytes(name)
        for name, (rows, columns, _) in product.shapes.items()
    }
    places = place_buffers(sizes, config)
    return dataclasses.replace(
        product, **{f"{name}_base": region.address for name, region in places.items()}
    )


def traffic_of(config: ClusterConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of a product on the first matrix unit, commanded by the cores.

    Raises
    ------
    UserError
        If the model does not describe the machine.

    """
    require_described(config)
    unit, steps = systolic_unit(config), list(program_steps(config, product))
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


def predict(
    config: ClusterConfig, product: GemmProblem, memory: DramConfig | None = None
) -> Prediction:
    """Return predicted cycles and exact work of a product commanded by cores of `virgo`.

    Parameters
    ----------
    config : ClusterConfig
        The machine.
    product : GemmProblem
        The product, with its places in DRAM.
    memory : DramConfig or None
        Timing of DRAM; None for the default.

    Raises
    ------
    UserError
        If the model does not describe the machine or its memory.

    """
    memory = memory or DramConfig()
    traffic = traffic_of(config, product)
    if config.core != MEASURED_CORE:
        raise UserError(f"{WHAT} has cycles of the program only for the cores of `virgo`")
    if memory.stall or memory.jitter:
        raise UserError(
            f"{WHAT} needs DRAM without stall and jitter, not {memory.stall} and {memory.jitter}"
        )
    terms = Timeline(config, product, memory, list(program_steps(config, product))).run()
    return Prediction(cycles=sum(terms.values()), terms=terms, traffic=traffic)


def require_described(config: ClusterConfig):
    """Raise `UserError` if the model does not describe the machine."""
    if is_on_tensor_units(config):
        raise UserError(f"{WHAT} needs a matrix unit; this machine has tensor units")
    unit = systolic_unit(config, WHAT)
    warps = config.core.warps if config.core is not None else 0
    if warps < 2:
        raise UserError(f"{WHAT} needs cores of 2 warps or more, not {warps}")
    if unit.dataflow != "weight_stationary":
        raise UserError(f"{WHAT} needs matrix.dataflow weight_stationary, not {unit.dataflow}")
