"""Write port of the DMA into shared memory and accumulators, with completion per owner."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.shared_memory import WideWriteSignature
from ...lib.merge import Merge
from ...lib.streams import Queue
from .layouts import dma_line

__all__ = ["WritePort"]


#: Lines queued per load context.
LINES_AHEAD = 4


class WritePort(SharedBlock):
    """Write port: writes lines of loads and of the matrix unit round-robin.

    Each context has its own queue, and the queues are served line by line. Two write ports that
    conflict at a bank thus alternate between the banks of two descriptors; turns of whole bursts
    would keep conflicting. Latency 2 cycles from a line to its request, one line per cycle; lines
    of a context are in order. No input depends combinationally on `write`. Lines of a FILL go to
    `fill` instead, unchanged.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    load, spill : In(stream.Signature(dma_line(config)))
    write : Out(WideWriteSignature(config.shared, config.axi.beat_bytes))
    fills : In(config.dma.contexts)
        The context executes a FILL.
    fill : Out(stream.Signature(dma_line(config)))
        Both members only with `config.fills`.
    finished : Out(config.dma.contexts + 1)
        The owner's last line was accepted in this cycle, one bit per owner.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        line = dma_line(config)
        super().__init__({
            "load": In(stream.Signature(line)),
            "spill": In(stream.Signature(line)),
            "write": Out(WideWriteSignature(config.shared, config.axi.beat_bytes)),
            **(
                {"fills": In(config.dma.contexts), "fill": Out(stream.Signature(line))}
                if config.fills
                else {}
            ),
            "finished": Out(config.dma.contexts + 1),
        })

    def build(self, platform):
        m = Module()
        layout = dma_line(self.config)
        contexts = self.config.dma.contexts
        m.submodules.merge = merge = Merge(layout, contexts + 1)
        for k in range(contexts):
            m.submodules[f"lines_{k}"] = lines = Queue(layout, LINES_AHEAD)
            connect(m, lines.o, merge.i[k])
            is_own = self.load.payload.owner == k
            m.d.comb += [
                lines.i.payload.eq(self.load.payload),
                lines.i.valid.eq(self.load.valid & is_own),
            ]
            with m.If(is_own):
                m.d.comb += self.load.ready.eq(lines.i.ready)
        connect(m, flipped(self.spill), merge.i[contexts])
        merged: Any = stream.Signature(merge.o.payload.shape()).flip().create()
        connect(m, merge.o, merged)
        line, request = merged.payload.payload, self.write.request
        m.d.comb += [
            request.payload.address.eq(line.address),
            request.payload.data.eq(line.data),
            request.payload.mask.eq(line.mask),
            request.valid.eq(merged.valid),
            merged.ready.eq(request.ready),
        ]
        if self.config.fills:
            fills = Signal()
            m.d.comb += [fills.eq(self.fills.bit_select(line.owner, 1)), self.fill.payload.eq(line)]
            with m.If(fills):
                m.d.comb += [
                    request.valid.eq(0),
                    self.fill.valid.eq(merged.valid),
                    merged.ready.eq(self.fill.ready),
                ]
        ends = merged.valid & merged.ready & line.last
        for owner in range(contexts + 1):
            m.d.comb += self.finished[owner].eq(ends & (line.owner == owner))
        return m
