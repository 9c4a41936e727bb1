"""Write side of one AXI master of the DMA, from shared memory or a matrix unit to DRAM."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.shared_memory import WideReadSignature
from ...lib.streams import Queue
from .byte_aligner import ByteAligner
from .layouts import dma_line, dma_plan, dma_segment
from .read_ahead_buffer import ReadAheadBuffer, lines_ahead
from .read_channel import burst_request, request_burst

__all__ = ["WRITES_IN_FLIGHT", "WriteChannel"]


#: Write bursts that may await their response. Bursts of one beat need more than reads do.
WRITES_IN_FLIGHT = 256
#: Beats queued for the bus. With cores a multiplexer accepts a burst's data 2 cycles after its
#: address, and bursts of one beat may be issued every cycle.
BEATS_AHEAD, BEATS_AHEAD_OF_MULTIPLEXER = 2, 4


class WriteChannel(SharedBlock):
    """Write channel: writes a segment of shared memory as a burst, or a line as one beat.

    Segments and lines are never valid at the same time. Each is accepted only with room for its
    address and while fewer than `WRITES_IN_FLIGHT` bursts await their response. Throughput is one
    beat per cycle if both sides have equal alignment, with one more step per segment otherwise.
    The address of a burst leaves 1 cycle after the segment was accepted, its first beat
    `read_latency` + 4 cycles after. A line leaves after 1 cycle. Only the bytes of the segment or
    line have their strobe set. Segments of a REFILL leave at `fill` line by line, without a burst.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    segment : In(stream.Signature(dma_segment(config)))
    line : In(stream.Signature(dma_line(config)))
    read : Out(WideReadSignature(config.shared, config.axi.beat_bytes))
    address : Out(stream.Signature(burst_request))
    beat : Out(stream.Signature(StructLayout({"data": …, "mask": …, "last": 1})))
    responded : In(1)
        A write response arrives.
    refills : In(1)
        The segments belong to a REFILL.
    fill : Out(stream.Signature(dma_line(config)))
        Both members only with `config.fills`.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        size = config.axi.beat_bytes
        self.beat_layout = data.StructLayout({"data": 8 * size, "mask": size, "last": 1})
        super().__init__({
            "segment": In(stream.Signature(dma_segment(config))),
            "line": In(stream.Signature(dma_line(config))),
            "read": Out(WideReadSignature(config.shared, size)),
            "address": Out(stream.Signature(burst_request)),
            "beat": Out(stream.Signature(self.beat_layout)),
            "responded": In(1),
            **(
                {"refills": In(1), "fill": Out(stream.Signature(dma_line(config)))}
                if config.fills
                else {}
            ),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        size = config.axi.beat_bytes
        m.submodules.addresses = addresses = Queue(burst_request, 4)
        ahead = BEATS_AHEAD_OF_MULTIPLEXER if config.is_multiplexed else BEATS_AHEAD
        m.submodules.beats = beats = Queue(self.beat_layout, ahead)
        m.submodules.plans = plans = Queue(dma_plan(config), lines_ahead(config))
        m.submodules.reader = reader = ReadAheadBuffer(config)
        m.submodules.byte_aligner = byte_aligner = ByteAligner(config)
        connect(m, addresses.o, flipped(self.address))
        connect(m, beats.o, flipped(self.beat))
        connect(m, reader.read, flipped(self.read))
        connect(m, reader.o, byte_aligner.i)
        connect(m, plans.o, byte_aligner.plan)

        burst: Any = stream.Signature(burst_request).create()
        beat: Any = stream.Signature(self.beat_layout).create()
        connect(m, burst, addresses.i)
        connect(m, beat, beats.i)
        awaited = Signal(range(WRITES_IN_FLIGHT + 1))
        room = Signal()
        segment, line, plan = self.segment.payload, self.line.payload, plans.i.payload
        m.d.comb += [
            room.eq(burst.ready & (awaited != WRITES_IN_FLIGHT)),
            self.segment.ready.eq(room & plans.i.ready & reader.segment.ready),
            self.line.ready.eq(room & beat.ready),
            burst.valid.eq(
                (self.segment.valid & self.segment.ready) | (self.line.valid & self.line.ready)
            ),
            plans.i.valid.eq(self.segment.valid & self.segment.ready),
            reader.segment.valid.eq(self.segment.valid & self.segment.ready),
            reader.segment.payload.eq(segment),
            plan.offset.eq(segment.local),
            plan.address.eq(segment.dram),
            plan.bytes.eq(segment.bytes),
        ]
        m.d.sync += awaited.eq(awaited + (burst.valid & burst.ready) - self.responded)

        with m.If(self.line.valid):
            m.d.comb += [
                burst.payload.address.eq(line.address),
                beat.valid.eq(self.line.ready),
                Value.cast(beat.payload).eq(Cat(line.data, line.mask, line.last)),
            ]
        with m.Else():
            out = byte_aligner.o.payload
            m.d.comb += [
                *request_burst(burst.payload, segment.dram, segment.bytes, size),
                beat.valid.eq(byte_aligner.o.valid),
                Value.cast(beat.payload).eq(Cat(out.data, out.mask, out.last)),
                byte_aligner.o.ready.eq(beat.ready),
            ]
        if config.fills:
            m.d.comb += self.fill.payload.eq(byte_aligner.o.payload)
            with m.If(self.refills):
                m.d.comb += [
                    burst.valid.eq(0),
                    beat.valid.eq(0),
                    self.fill.valid.eq(byte_aligner.o.valid),
                    byte_aligner.o.ready.eq(self.fill.ready),
                ]
        return m
