"""What flows between the boxes of the front end, and between it and the rest of the core."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from ..config import CoreConfig
from ..lib.interfaces.core_memory import warp_shape
from .layouts import decoded_layout

__all__ = [
    "entry_layout",
    "head_layout",
    "position_width",
    "redirect_layout",
]


def position_width(config: CoreConfig) -> int:
    """Bits of a word's number that tell the next to be taken from the next to be fetched."""
    return ceil_log2(config.instruction_buffer + 2)


def redirect_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of where a warp goes on; ``pc`` is a multiple of 4."""
    return data.StructLayout({"warp": warp_shape(config), "pc": 32})


def entry_layout() -> data.StructLayout:
    """Layout of a decoded instruction in a buffer: without its pc, which its place tells."""
    fields = {name: field.shape for name, field in decoded_layout()}
    del fields["pc"]
    return data.StructLayout(fields)


def head_layout() -> data.StructLayout:
    """Layout of the next instruction of a warp, if it is there."""
    return data.StructLayout({"valid": 1, "instruction": decoded_layout()})
