"""Ports of the DMA engine."""

from typing import Any

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config import DmaBlockConfig
from ...isa.memory_map import DMA, numbered
from ...lib.axi import Axi4Signature
from ...lib.interfaces.progress import progress_layout
from ...lib.interfaces.shared_memory import (
    WideReadSignature,
    WideWriteSignature,
    dma_descriptor,
    dma_done,
    fill_row,
)
from ...lib.register_bus import RegisterSignature
from ...lib.streams import ResponseSignature

__all__ = ["dma_events", "dma_members"]


def dma_events(config: DmaBlockConfig) -> data.StructLayout:
    """Return the layout of a cycle's events: beats moved, bursts stalled, descriptors completed."""
    names = ("read_beats", "write_beats", "read_wait", "write_wait")
    channels = [f"{name}_{c}" for c in range(config.axi.masters) for name in names]
    return data.StructLayout(dict.fromkeys([*channels, "descriptors"], 1))


def dma_members(config: DmaBlockConfig) -> dict[str, Any]:
    """Return the members of a `Dma`; those of matrix units only in a cluster that has some."""
    axi = config.axi
    bus = Axi4Signature(address_width=32, data_width=axi.data_width, id_width=axi.id_width)
    units = len(config.drain_bytes)
    members: dict[str, Any] = {
        "registers": In(RegisterSignature(8)).array(config.ports),
        "axi": Out(bus).array(axi.masters),
        "read": Out(WideReadSignature(config.shared, axi.beat_bytes)).array(axi.masters),
        "write": Out(WideWriteSignature(config.shared, axi.beat_bytes)).array(axi.masters),
        "busy": Out(1),
        "error": Out(1),
        "events": Out(dma_events(config)),
    }
    if config.is_multiplexed:
        members["progress"] = Out(progress_layout(DMA)).array(config.ports)
    if units:
        descriptor = In(stream.Signature(dma_descriptor(config.shared)))
        members |= {
            "descriptor": descriptor.array(units),
            "done": Out(ResponseSignature(dma_done)).array(units),
            "loading": Out(1),
            **{
                numbered("drain", n): In(stream.Signature(8 * size))
                for n, size in enumerate(config.drain_bytes)
            },
            **{
                numbered("fill", n): Out(stream.Signature(fill_row(config.shared, size)))
                for n, size in enumerate(config.fill_bytes)
                if size
            },
        }
    return members
