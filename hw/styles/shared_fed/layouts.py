"""Layouts of the signals inside the tensor unit with operands in shared memory."""

from amaranth.lib import data

from ...config import PipelineConfig
from ...config.formats import FORMATS
from ...lib.interfaces.core_memory import warp_shape
from .config import SharedFedConfig

__all__ = [
    "HALF_LINES",
    "OPERAND_LINES",
    "SLOTS",
    "columns_layout",
    "event_layout",
    "numbers_layout",
    "product_layout",
    "step_layout",
]

#: Lines of A, and of B, each a read of shared memory. Each row of A is a line of its first half
#: and one of its second half.
OPERAND_LINES = 32
HALF_LINES = OPERAND_LINES // 2
#: Pairs of A and B that the unit buffers: one is multiplied while the next one is read.
SLOTS = 2


def product_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the fields that results and faults take from their instruction."""
    return data.StructLayout({"warp": warp_shape(config), "mask": config.threads, "pc": 32})


def step_layout(config: SharedFedConfig) -> data.StructLayout:
    """Return the layout of a step: its place in the order of a matrix product.

    Lowest first: ``row`` of C, ``group`` of its columns (as many as there are dot products), and
    ``set``, the number of the rounding step. A group of a set is a block, all 16 rows of which use
    the same numbers of B. Each product has eight blocks.
    """
    return data.StructLayout({
        "row": range(config.side),
        "group": range(config.column_groups),
        "set": range(config.sets),
    })


def numbers_layout(config: SharedFedConfig) -> data.ArrayLayout:
    """Return the layout of the numbers of A, or of B, of one dot product."""
    return data.ArrayLayout(FORMATS[config.operand].width, config.terms)


def columns_layout(config: SharedFedConfig) -> data.ArrayLayout:
    """Return the layout of the numbers of B in one block, by column."""
    return data.ArrayLayout(numbers_layout(config), config.dot_products)


def event_layout() -> data.StructLayout:
    """Return the layout of the events of a cycle, for counters.

    ``active``: a step starts. ``operand_wait``: C is there, A or B is not. ``c_wait``: A and B are
    there, C is not yet gathered.
    """
    return data.StructLayout({"active": 1, "operand_wait": 1, "c_wait": 1})
