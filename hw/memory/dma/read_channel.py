"""Read side of one AXI master of the DMA: bursts, beats, and lines for shared memory."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.merge import Merge
from ...lib.streams import Queue
from .byte_aligner import ByteAligner
from .layouts import dma_line, dma_plan, dma_segment

__all__ = ["ReadChannel", "burst_request", "request_burst"]

#: Layout of a burst: address of its first beat, and beats - 1.
burst_request = data.StructLayout({"address": 32, "length": 8})


def request_burst(burst: data.View, dram: Value, count: Value, beat_bytes: int):
    """Return assignments that make `burst` cover `count` bytes from `dram`, in whole beats."""
    width = exact_log2(beat_bytes)
    return [
        burst.address.eq(Cat(Const(0, width), dram[width:])),
        burst.length.eq((dram[:width] + count - 1)[width:]),
    ]


class ReadChannel(SharedBlock):
    """Read channel: reads the segments of all contexts round-robin, and realigns their beats.

    Each segment is one burst, requested 1 cycle after it was accepted, one per cycle, while fewer
    than `config.dma.outstanding` bursts are in flight. Beats return in order and leave as lines
    in the cycle they arrive. A beat is refused only while `line` is, or while a misaligned
    segment outputs its additional line. Zero segments keep their place in the order, without a
    burst.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    segment_0, segment_1, … : In(stream.Signature(dma_segment(config)))
        From each context.
    address : Out(stream.Signature(burst_request))
    beat : In(stream.Signature(StructLayout({"data": …, "error": 1})))
    line : Out(stream.Signature(dma_line(config)))
    failed : Out(config.dma.contexts)
        A beat with an error arrived for this context, one bit per context.
    waits : Out(1)
        A burst stalls.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        beat = data.StructLayout({"data": config.axi.data_width, "error": 1})
        segments = {
            f"segment_{k}": In(stream.Signature(dma_segment(config)))
            for k in range(config.dma.contexts)
        }
        super().__init__(
            segments
            | {
                "address": Out(stream.Signature(burst_request)),
                "beat": In(stream.Signature(beat)),
                "line": Out(stream.Signature(dma_line(config))),
                "failed": Out(config.dma.contexts),
                "waits": Out(1),
            }
        )

    def build(self, platform):
        m = Module()
        config = self.config
        size = config.axi.beat_bytes
        m.submodules.merge = merge = Merge(dma_segment(config), config.dma.contexts)
        for k in range(config.dma.contexts):
            connect(m, flipped(getattr(self, f"segment_{k}")), merge.i[k])
        # The byte aligner holds one more plan.
        m.submodules.flight = flight = Queue(dma_plan(config), config.dma.outstanding - 1)
        m.submodules.byte_aligner = byte_aligner = ByteAligner(config)
        connect(m, flight.o, byte_aligner.plan)
        connect(m, byte_aligner.o, flipped(self.line))

        merged: Any = stream.Signature(merge.o.payload.shape()).flip().create()
        connect(m, merge.o, merged)
        segment, plan = merged.payload.payload, flight.i.payload
        is_needed = Signal()
        m.d.comb += [
            is_needed.eq(merged.valid & ~segment.zero),
            *request_burst(self.address.payload, segment.dram, segment.bytes, size),
            self.address.valid.eq(is_needed & flight.i.ready),
            flight.i.valid.eq(merged.valid & (segment.zero | self.address.ready)),
            merged.ready.eq(flight.i.ready & (segment.zero | self.address.ready)),
            plan.offset.eq(segment.dram),
            plan.address.eq(segment.local),
            plan.bytes.eq(segment.bytes),
            plan.zero.eq(segment.zero),
            plan.owner.eq(merged.payload.source),
            self.waits.eq(is_needed & ~merged.ready),
        ]
        m.d.comb += [
            byte_aligner.i.payload.eq(self.beat.payload.data),
            byte_aligner.i.valid.eq(self.beat.valid),
            self.beat.ready.eq(byte_aligner.i.ready),
        ]
        fails = self.beat.valid & self.beat.ready & self.beat.payload.error
        for k in range(config.dma.contexts):
            m.d.comb += self.failed[k].eq(fails & (byte_aligner.owner == k))
        return m
