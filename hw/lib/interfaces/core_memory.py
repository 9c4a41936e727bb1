"""Memory ports of a core: layouts of instruction fetches and of data accesses."""

from typing import Protocol

from amaranth.hdl import ShapeLike
from amaranth.lib import data
from amaranth.utils import ceil_log2

from ...isa.operations import AtomicOperation

__all__ = [
    "CorePorts",
    "atomic_fields",
    "data_request_layout",
    "data_response_layout",
    "fetch_request_layout",
    "fetch_response_layout",
    "fetch_tag_layout",
    "pairs",
    "warp_shape",
]


class Warps(Protocol):
    """Config of a core, or of a block that handles its warps."""

    @property
    def warps(self) -> int:
        """Warps of the core."""
        ...


class CorePorts(Warps, Protocol):
    """Config of a core or of its memory unit: parameters of the ports between them."""

    @property
    def instruction_buffer(self) -> int:
        """Decoded instructions buffered per warp."""
        ...

    @property
    def request_lanes(self) -> int:
        """Lanes of a request for data."""
        ...

    @property
    def tag_width(self) -> int:
        """Bits of the tag of a request for data."""
        ...

    @property
    def atomics(self) -> bool:
        """Whether the core has atomic instructions."""
        ...

    @property
    def owner_width(self) -> int:
        """Bits of the warp and the beat of an atomic instruction."""
        ...


def warp_shape(config: Warps) -> int:
    """Return the bits of a warp's index, at least one."""
    return max(1, ceil_log2(config.warps))


def pairs(config: CorePorts) -> int:
    """Return the capacity of a warp's buffer in pairs of instructions, a power of two."""
    return 1 << max(0, ceil_log2(config.instruction_buffer) - 1)


def fetch_tag_layout(config: CorePorts) -> data.StructLayout:
    """Return the layout of the tag of a requested pair: its warp, and its slot in the buffer."""
    return data.StructLayout({"warp": warp_shape(config), "pair": ceil_log2(pairs(config))})


def fetch_request_layout(config: CorePorts) -> data.StructLayout:
    """Return the layout of a request for the two words at ``address``, a multiple of 8."""
    return data.StructLayout({"address": 32, "tag": fetch_tag_layout(config)})


def fetch_response_layout(config: CorePorts) -> data.StructLayout:
    """Return the layout of two words, the one at the lower address in the lower half of ``data``.

    ``error`` is 1 if there is no memory at their address.
    """
    return data.StructLayout({"tag": fetch_tag_layout(config), "data": 64, "error": 1})


def atomic_fields(config: CorePorts) -> dict[str, ShapeLike]:
    """Return the fields that a memory access has besides with atomics; none without them."""
    if not config.atomics:
        return {}
    return {
        "atomic": 1,
        "operation": AtomicOperation,
        "owner": config.owner_width,
        "expected": data.ArrayLayout(32, config.request_lanes),
    }


def data_request_layout(config: CorePorts) -> data.StructLayout:
    """Return the layout of a memory access of one beat of lanes.

    ``tag`` is returned with the response. ``data`` is aligned to its byte lanes: the word at
    ``address & ~3``; ``strobes`` selects its stored bytes.

    With atomics, ``atomic`` marks a request whose lanes perform ``operation`` on the bytes of
    ``strobes``, lowest lane first; its ``is_store`` is 0. They are answered with the old words,
    those of a store-conditional with 0 if it wrote, else 1. ``data`` is the operand, ``expected``
    the value that a compare-and-swap compares, both at these bytes. ``owner`` has the beat in its
    low bits and the warp above it: with the lane it is the number of a thread.
    """
    lanes = config.request_lanes
    return data.StructLayout({
        "tag": config.tag_width,
        "is_store": 1,
        "mask": lanes,
        "address": data.ArrayLayout(32, lanes),
        "data": data.ArrayLayout(32, lanes),
        "strobes": data.ArrayLayout(4, lanes),
        **atomic_fields(config),
    })


def data_response_layout(config: CorePorts) -> data.StructLayout:
    """Return the layout of a memory response: whole words for the threads of ``mask``.

    A request may be answered in parts, and requests in any order. A store is answered when it is
    visible to all. ``error`` marks threads whose address has no memory.
    """
    lanes = config.request_lanes
    return data.StructLayout({
        "tag": config.tag_width,
        "mask": lanes,
        "error": lanes,
        "data": data.ArrayLayout(32, lanes),
    })
