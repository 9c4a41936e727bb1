"""Memory ports of a core: layouts of instruction fetches and of data accesses."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from ...config import CoreConfig
from ...core.operations import Port

__all__ = [
    "data_request_layout",
    "data_response_layout",
    "fetch_request_layout",
    "fetch_response_layout",
    "fetch_tag_layout",
    "pairs",
    "warp_shape",
]


def warp_shape(config: CoreConfig) -> int:
    """Bits of a warp's number, at least one."""
    return max(1, ceil_log2(config.warps))


def pairs(config: CoreConfig) -> int:
    """Return how many pairs of instructions a warp's buffer has room for, a power of two."""
    return 1 << max(0, ceil_log2(config.instruction_buffer) - 1)


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


def data_request_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a memory access of up to as many threads as the port has lanes.

    ``tag`` comes back with the response. ``data`` is aligned to its byte lanes: the word at
    ``address & ~3``, of which ``strobes`` are stored.
    """
    lanes = config.lanes(Port.MEMORY.name)
    return data.StructLayout({
        "tag": config.tag_width,
        "is_store": 1,
        "mask": lanes,
        "address": data.ArrayLayout(32, lanes),
        "data": data.ArrayLayout(32, lanes),
        "strobes": data.ArrayLayout(4, lanes),
    })


def data_response_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of what memory answers: whole words for the threads of ``mask``.

    A request may be answered in parts, in any order among requests; a store is answered too, when
    it is seen by all. ``error`` tells the threads whose address is no memory.
    """
    lanes = config.lanes(Port.MEMORY.name)
    return data.StructLayout({
        "tag": config.tag_width,
        "mask": lanes,
        "error": lanes,
        "data": data.ArrayLayout(32, lanes),
    })
