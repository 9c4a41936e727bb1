"""Layouts of the signals inside the tensor unit."""

from amaranth import *
from amaranth.lib import data
from amaranth.utils import exact_log2

from ...config import PipelineConfig
from ...config.tensor import TensorConfig
from ...isa.operations import PORTS, Port
from ...lib.interfaces.core_memory import warp_shape
from ...lib.interfaces.execution_unit import REGISTER_WIDTH

__all__ = [
    "BUFFERS",
    "hmma_layout",
    "row_shape",
    "step_layout",
]

#: Sets of fragments in staging, one for each credit: one in use, one that is gathered meanwhile.
BUFFERS = PORTS[Port.TENSOR].credits or 0
assert BUFFERS == 2, "staging alternates between two buffers"


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
        "group": REGISTER_WIDTH - exact_log2(config.tensor_config.registers),
    })


def step_layout(config: TensorConfig) -> data.StructLayout:
    """Return the layout of a step: its place in the order of a matrix product.

    Lowest first: ``part`` of a register (each as many lanes as there are dot-product units),
    ``register`` of the accumulators, and ``set``, the number of the rounding step.
    """
    return data.StructLayout({
        "part": range(config.parts),
        "register": range(config.registers),
        "set": range(config.sets),
    })
