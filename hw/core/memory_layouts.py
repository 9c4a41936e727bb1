"""What flows inside the load/store unit, and what it reports of accesses that cannot be."""

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from ..config import CoreConfig
from ..lib.interfaces.core_memory import warp_shape
from .layouts import REGISTER_WIDTH
from .operations import Port

__all__ = [
    "MemoryFault",
    "access_layout",
    "beat_width",
    "beats",
    "memory_fault_layout",
    "opening_layout",
    "part_layout",
    "row_layout",
    "rows",
    "slot_shape",
    "slots",
    "suspect_layout",
]


class MemoryFault(enum.IntEnum, shape=2):
    """Why an access cannot be."""

    MISALIGNED = 0  #: the address is no multiple of the size
    UNADDRESSABLE = 1  #: the address is below all memory
    REFUSED = 2  #: memory answered that there is none at the address


def beats(config: CoreConfig) -> int:
    """Return the requests that one instruction of all threads takes."""
    return config.threads // config.lanes(Port.MEMORY.name)


def beat_width(config: CoreConfig) -> int:
    """Bits of a request's number in its instruction, the upper part of its tag."""
    return ceil_log2(beats(config))


def slots(config: CoreConfig) -> int:
    """Return the loads and stores that may be under way."""
    return config.accesses


def slot_shape(config: CoreConfig) -> int:
    """Bits of a slot's number, at least one."""
    return max(1, ceil_log2(slots(config)))


def rows(config: CoreConfig) -> int:
    """Return how many tags there are, counting gaps."""
    return slots(config) << beat_width(config)


def access_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of what an access's result needs besides its values."""
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "pc": 32,
        "rd": REGISTER_WIDTH,
        "writes": 1,
    })


def opening_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an access that is about to be requested: its slot, and what is known of it."""
    return data.StructLayout({
        "slot": slot_shape(config),
        "access": access_layout(config),
        "operation": 3,
    })


def row_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of the addresses of one request."""
    lanes = config.lanes(Port.MEMORY.name)
    return data.StructLayout({
        "tag": config.tag_width,
        "addresses": data.ArrayLayout(32, lanes),
    })


def part_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a part of an access that has been answered.

    ``threads`` are those whose ``values`` these are. ``whole``: they are all of the access.
    ``completes``: the access has a result now.
    """
    return data.StructLayout({
        "slot": slot_shape(config),
        "access": access_layout(config),
        "threads": config.threads,
        "whole": 1,
        "completes": 1,
        "values": data.ArrayLayout(32, config.threads),
    })


def suspect_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a fault before one address of all has been chosen."""
    return data.StructLayout({
        "warp": warp_shape(config),
        "pc": 32,
        "mask": config.threads,
        "kind": MemoryFault,
        "addresses": data.ArrayLayout(32, config.threads),
    })


def memory_fault_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a fault: the threads at fault, and the address of the lowest of them."""
    return data.StructLayout({
        "warp": warp_shape(config),
        "pc": 32,
        "mask": config.threads,
        "kind": MemoryFault,
        "address": 32,
    })
