"""What flows between the boxes of the front end, and between it and the rest of the core."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from ..config import CoreConfig
from .layouts import decoded_layout, warp_shape

__all__ = [
    "entry_layout",
    "fetch_request_layout",
    "fetch_response_layout",
    "fetch_tag_layout",
    "head_layout",
    "pairs",
    "position_width",
    "redirect_layout",
]


def pairs(config: CoreConfig) -> int:
    """Return how many pairs of instructions a warp's buffer has room for, a power of two."""
    return 1 << max(0, ceil_log2(config.instruction_buffer) - 1)


def position_width(config: CoreConfig) -> int:
    """Bits of a word's number that tell the next to be taken from the next to be fetched."""
    return ceil_log2(config.instruction_buffer + 2)


def fetch_tag_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of what names a pair of words under way: the warp, and its place in the buffer."""
    return data.StructLayout({"warp": warp_shape(config), "pair": ceil_log2(pairs(config))})


def fetch_request_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a request for the two words at ``address``, a multiple of 8."""
    return data.StructLayout({"address": 32, "tag": fetch_tag_layout(config)})


def fetch_response_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of two words, the one at the lower address in the lower half of ``data``.

    ``error`` tells that there is no memory at their address.
    """
    return data.StructLayout({"tag": fetch_tag_layout(config), "data": 64, "error": 1})


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
