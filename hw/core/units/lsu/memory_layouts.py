"""Layouts inside the load-store unit."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from ....config import PipelineConfig
from ....isa.operations import Port
from ....lib.interfaces.core_memory import warp_shape
from ....lib.interfaces.execution_unit import REGISTER_WIDTH
from ....lib.interfaces.memory_fault import MemoryFault

__all__ = [
    "access_layout",
    "arrival_layout",
    "beat_width",
    "beats",
    "opening_layout",
    "part_layout",
    "row_layout",
    "rows",
    "slot_shape",
    "slots",
    "suspect_layout",
]


def beats(config: PipelineConfig) -> int:
    """Return the number of requests for one instruction of all threads."""
    return config.threads // config.lanes(Port.MEMORY)


def beat_width(config: PipelineConfig) -> int:
    """Return the bits of a request's index in its instruction, the upper part of its tag."""
    return ceil_log2(beats(config))


def slots(config: PipelineConfig) -> int:
    """Return the number of loads and stores that may be in flight."""
    return config.accesses


def slot_shape(config: PipelineConfig) -> int:
    """Return the bits of a slot's index, at least one."""
    return max(1, ceil_log2(slots(config)))


def rows(config: PipelineConfig) -> int:
    """Return the number of tags, gaps included."""
    return slots(config) << beat_width(config)


def access_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the fields of an access's result, without its values."""
    return data.StructLayout({
        "warp": warp_shape(config),
        "mask": config.threads,
        "pc": 32,
        "rd": REGISTER_WIDTH,
        "writes": 1,
    })


def arrival_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the register that a loaded value will be written to."""
    return data.StructLayout({"warp": warp_shape(config), "rd": REGISTER_WIDTH})


def opening_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of an access that is about to be requested: slot and description."""
    return data.StructLayout({
        "slot": slot_shape(config),
        "access": access_layout(config),
        "operation": 3,
    })


def row_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the addresses of one request."""
    lanes = config.lanes(Port.MEMORY)
    return data.StructLayout({
        "tag": config.tag_width,
        "addresses": data.ArrayLayout(32, lanes),
    })


def part_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of an answered part of an access.

    ``threads`` marks the threads with valid ``values``. ``whole``: the part covers the access.
    ``completes``: with this part the access has its result.
    """
    return data.StructLayout({
        "slot": slot_shape(config),
        "access": access_layout(config),
        "threads": config.threads,
        "whole": 1,
        "completes": 1,
        "values": data.ArrayLayout(32, config.threads),
    })


def suspect_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a fault before its address is selected among the threads."""
    return data.StructLayout({
        "warp": warp_shape(config),
        "pc": 32,
        "mask": config.threads,
        "kind": MemoryFault,
        "addresses": data.ArrayLayout(32, config.threads),
    })
