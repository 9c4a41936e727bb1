"""Layouts of the signals inside the tensor unit."""

from amaranth import *
from amaranth.lib import data

from ....config import PipelineConfig
from ....isa.operations import PORTS, Port
from ....lib.interfaces.core_memory import warp_shape

__all__ = [
    "BUFFERS",
    "LANES",
    "REGISTERS",
    "STEPS",
    "hmma_layout",
    "row_shape",
    "step_layout",
]

#: Threads of a warp, and words of a register.
LANES = 8
#: Registers of each fragment.
REGISTERS = 8
#: Cycles of a matrix product.
STEPS = 32
#: Sets of fragments in staging, one for each credit: one in use, one that is gathered meanwhile.
BUFFERS = PORTS[Port.TENSOR].credits or 0
assert BUFFERS == 2, "staging alternates between two buffers"


def row_shape() -> data.ArrayLayout:
    """Return the shape of a register of all threads."""
    return data.ArrayLayout(32, LANES)


def hmma_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the fields that results take from their instruction.

    ``group`` is the number of the destination group.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "pc": 32,
        "group": 3,
    })


def step_layout(sets: int) -> data.StructLayout:
    """Return the layout of a step: its place in the order of a matrix product.

    Lowest first: ``part`` of a register (each as many lanes as there are dot-product units),
    ``register`` of the accumulators, and ``set``, the number of the rounding step.
    """
    return data.StructLayout({
        "part": range(STEPS // (REGISTERS * sets)),
        "register": range(REGISTERS),
        "set": range(sets),
    })
