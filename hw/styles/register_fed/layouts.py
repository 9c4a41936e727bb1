"""Layouts of the signals inside the tensor unit."""

from amaranth import *
from amaranth.lib import data
from amaranth.utils import exact_log2

from ...config import PipelineConfig
from ...lib.interfaces.core_memory import warp_shape
from ...lib.interfaces.execution_unit import REGISTER_WIDTH
from .config import RegisterFedConfig

__all__ = [
    "event_layout",
    "hmma_layout",
    "row_shape",
    "step_layout",
]


def row_shape(threads: int) -> data.ArrayLayout:
    """Return the shape of a register of all threads."""
    return data.ArrayLayout(32, threads)


def hmma_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the fields that results take from their instruction.

    ``group`` is the number of the destination group.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "pc": 32,
        "group": REGISTER_WIDTH - exact_log2(RegisterFedConfig.of(config.tensor).registers),
    })


def step_layout(config: RegisterFedConfig) -> data.StructLayout:
    """Return the layout of a step: its place in the order of a matrix product.

    Lowest first: ``part`` of a register (each as many lanes as there are dot-product units),
    ``register`` of the accumulators, and ``set``, the number of the rounding step.
    """
    return data.StructLayout({
        "part": range(config.parts),
        "register": range(config.registers),
        "set": range(config.sets),
    })


def event_layout() -> data.StructLayout:
    """Return the layout of the events of a cycle: ``active``, a step starts."""
    return data.StructLayout({"active": 1})
