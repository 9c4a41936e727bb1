"""Read-ahead buffer of the DMA for lines of shared memory."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.shared_memory import WideReadSignature
from ...lib.streams import Queue
from .layouts import dma_segment

__all__ = ["ReadAheadBuffer", "lines_ahead"]


def lines_ahead(config: DmaBlockConfig) -> int:
    """Return the lines that cover a round trip through shared memory and the queue."""
    return config.shared.read_latency + 3


class ReadAheadBuffer(SharedBlock):
    """Read-ahead buffer: reads every line of a segment in order.

    The first request is issued the cycle after the segment was accepted, then one per cycle, with
    segments back to back. A line is at `o` the cycle after its response. Lines requested and not
    yet accepted at `o` never exceed the queue, as responses cannot be refused.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    segment : In(stream.Signature(dma_segment(config)))
    read : Out(WideReadSignature(config.shared, config.axi.beat_bytes))
    o : Out(stream.Signature(8 * config.axi.beat_bytes))
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        super().__init__({
            "segment": In(stream.Signature(dma_segment(config))),
            "read": Out(WideReadSignature(config.shared, config.axi.beat_bytes)),
            "o": Out(stream.Signature(8 * config.axi.beat_bytes)),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        size = config.axi.beat_bytes
        width = exact_log2(size)
        depth = lines_ahead(config)
        m.submodules.queue = queue = Queue(8 * size, depth)
        connect(m, queue.o, flipped(self.o))

        active = Signal()
        row = Signal(config.shared.address_width - width, reset_less=True)
        rows_left = Signal(range(config.axi.burst_beats + 1), reset_less=True)
        requested = Signal(range(depth + 1))  # lines requested and not accepted at `o`
        request, response = self.read.request, self.read.response
        moves = Signal()
        m.d.comb += [
            request.valid.eq(active & (requested != depth)),
            request.payload.eq(Cat(Const(0, width), row)),
            moves.eq(request.valid & request.ready),
            self.segment.ready.eq(~active | (moves & ~rows_left.any())),
            queue.i.valid.eq(response.valid),
            queue.i.payload.eq(response.payload),
        ]
        m.d.sync += requested.eq(requested + moves - (self.o.valid & self.o.ready))
        with m.If(moves):
            m.d.sync += [row.eq(row + 1), rows_left.eq(rows_left - 1)]
        with m.If(self.segment.ready):
            segment = self.segment.payload
            m.d.sync += [
                active.eq(self.segment.valid),
                row.eq(segment.local[width:]),
                rows_left.eq((segment.local[:width] + segment.bytes - 1)[width:]),
            ]
        return m
