"""What flows between the parts of the DMA: requests, jobs, segments, lines, completions."""

from amaranth.lib import data
from amaranth.utils import ceil_log2, exact_log2

from ..config import ClusterConfig
from .ports import Direction, dma_job

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


def owner_width(config: ClusterConfig) -> int:
    """Bits that name who waits for a line: a load context, or the results of the matrix unit."""
    return ceil_log2(config.dma.contexts + 1)


def port_width(config: ClusterConfig) -> int:
    """Bits that name the port of a job; none where there is one port."""
    return ceil_log2(config.dma_ports)


def dma_request(config: ClusterConfig) -> data.StructLayout:
    """Layout of a job before it is checked: local fields in full, and whether the host asks."""
    members = {name: field.shape for name, field in dma_job(config.shared)}
    return data.StructLayout(members | dict.fromkeys(LOCAL_FIELDS, 32) | {"host": 1})


def dma_work(config: ClusterConfig) -> data.StructLayout:
    """Layout of a checked job and the port it came to; a refused one only completes."""
    return data.StructLayout({
        "job": dma_job(config.shared),
        "host": 1,
        "refused": 1,
        "port": port_width(config),
    })


def dma_segment(config: ClusterConfig) -> data.StructLayout:
    """Layout of a piece of a row that lies within one interleaved block of DRAM.

    A `zero` segment is filled in shared memory without a read; its `dram` only says which
    channel does it.
    """
    return data.StructLayout({
        "dram": 32,
        "local": config.shared.address_width,
        "bytes": ceil_log2(config.axi.interleave_bytes + 1),
        "zero": 1,
    })


def dma_plan(config: ClusterConfig) -> data.StructLayout:
    """Layout of one realignment: bytes that start at `offset` in a beat and end up at `address`."""
    return data.StructLayout({
        "offset": exact_log2(config.axi.beat_bytes),
        "address": 32,
        "bytes": ceil_log2(config.axi.interleave_bytes + 1),
        "zero": 1,
        "owner": owner_width(config),
    })


def dma_line(config: ClusterConfig) -> data.StructLayout:
    """Layout of a masked write of one beat; `last` ends what its owner waits for."""
    size = config.axi.beat_bytes
    return data.StructLayout({
        "address": 32,
        "data": 8 * size,
        "mask": size,
        "owner": owner_width(config),
        "last": 1,
    })


def dma_retired(config: ClusterConfig) -> data.StructLayout:
    """Layout of a completed job on its way to the one who asked."""
    return data.StructLayout({
        "tag": 4,
        "direction": Direction,
        "host": 1,
        "failed": 1,
        "refused": 1,
        "port": port_width(config),
    })
