"""Record layouts between the parts of the DMA."""

from amaranth.lib import data
from amaranth.utils import ceil_log2, exact_log2

from ...config import DmaBlockConfig
from ...lib.interfaces.shared_memory import Direction, dma_descriptor

__all__ = [
    "dma_line",
    "dma_plan",
    "dma_request",
    "dma_retired",
    "dma_segment",
    "dma_work",
    "owner_width",
    "port_width",
]

LOCAL_FIELDS = ("local", "local_pitch")


def owner_width(config: DmaBlockConfig) -> int:
    """Return the bits of a beat's owner: a load context, or the matrix unit's results."""
    return ceil_log2(config.dma.contexts + 1)


def port_width(config: DmaBlockConfig) -> int:
    """Return the bits of a descriptor port's number; 0 with one port."""
    return ceil_log2(config.ports)


def dma_request(config: DmaBlockConfig) -> data.StructLayout:
    """Return the layout of an unchecked descriptor: local fields in full, and its source."""
    members = {name: field.shape for name, field in dma_descriptor(config.shared)}
    return data.StructLayout(members | dict.fromkeys(LOCAL_FIELDS, 32) | {"host": 1})


def dma_work(config: DmaBlockConfig) -> data.StructLayout:
    """Return the layout of a checked descriptor and its port; a refused one only completes."""
    return data.StructLayout({
        "descriptor": dma_descriptor(config.shared),
        "host": 1,
        "refused": 1,
        "port": port_width(config),
    })


def dma_segment(config: DmaBlockConfig) -> data.StructLayout:
    """Return the layout of a segment: a piece of a row within one interleave block of DRAM.

    A `zero` segment is filled in shared memory without a read; its `dram` only selects the
    channel.
    """
    return data.StructLayout({
        "dram": 32,
        "local": config.shared.address_width,
        "bytes": ceil_log2(config.axi.interleave_bytes + 1),
        "zero": 1,
    })


def dma_plan(config: DmaBlockConfig) -> data.StructLayout:
    """Return the layout of a realignment: bytes from `offset` in a beat go to `address`."""
    return data.StructLayout({
        "offset": exact_log2(config.axi.beat_bytes),
        "address": 32,
        "bytes": ceil_log2(config.axi.interleave_bytes + 1),
        "zero": 1,
        "owner": owner_width(config),
    })


def dma_line(config: DmaBlockConfig) -> data.StructLayout:
    """Return the layout of a masked write of one beat; `last` completes its owner's work."""
    size = config.axi.beat_bytes
    return data.StructLayout({
        "address": 32,
        "data": 8 * size,
        "mask": size,
        "owner": owner_width(config),
        "last": 1,
    })


def dma_retired(config: DmaBlockConfig) -> data.StructLayout:
    """Return the layout of a completed descriptor, on its way to the requester."""
    return data.StructLayout({
        "tag": 4,
        "direction": Direction,
        "host": 1,
        "failed": 1,
        "refused": 1,
        "port": port_width(config),
    })
