"""One write port of the DMA into shared memory, and who is waiting for what it writes."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import ClusterConfig
from ..shared_block import SharedBlock
from ..streams import Queue
from .dma_layouts import dma_line
from .merge import Merge
from .ports import WideWriteSignature

__all__ = ["WritePort"]


#: Lines that wait per load context.
LINES_AHEAD = 4


class WritePort(SharedBlock):
    """Write lines of loads and of the matrix unit in turns; say whose are done.

    The lines of each context wait in a queue of their own and go out in turns, line by line:
    two ports that meet at one bank then pass each other alternating between the banks of two
    jobs, where whole bursts in turns would keep meeting. Latency 2 cycles from a line to its
    request, one line per cycle; the lines of a context keep their order. No input depends on
    `write` combinationally.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    load, spill : In(stream.Signature(dma_line(config)))
    write : Out(WideWriteSignature(config.shared, config.axi.beat_bytes))
    finished : Out(config.dma.contexts + 1)
        Whose last line was accepted this cycle, one bit per owner.
    """

    load: stream.Interface
    spill: stream.Interface
    write: Any
    finished: Signal

    def __init__(self, config: ClusterConfig):
        self.config = config
        line = dma_line(config)
        super().__init__({
            "load": In(stream.Signature(line)),
            "spill": In(stream.Signature(line)),
            "write": Out(WideWriteSignature(config.shared, config.axi.beat_bytes)),
            "finished": Out(config.dma.contexts + 1),
        })

    def build(self, platform):
        m = Module()
        layout = dma_line(self.config)
        contexts = self.config.dma.contexts
        m.submodules.merge = merge = Merge(layout, contexts + 1)
        for k in range(contexts):
            m.submodules[f"lines_{k}"] = lines = Queue(layout, LINES_AHEAD)
            connect(m, lines.o, getattr(merge, f"i_{k}"))
            mine = self.load.payload.owner == k
            m.d.comb += [
                lines.i.payload.eq(self.load.payload),
                lines.i.valid.eq(self.load.valid & mine),
            ]
            with m.If(mine):
                m.d.comb += self.load.ready.eq(lines.i.ready)
        connect(m, flipped(self.spill), getattr(merge, f"i_{contexts}"))
        line, request = merge.o.payload.payload, self.write.request
        m.d.comb += [
            request.payload.address.eq(line.address),
            request.payload.data.eq(line.data),
            request.payload.mask.eq(line.mask),
            request.valid.eq(merge.o.valid),
            merge.o.ready.eq(request.ready),
        ]
        ends = request.valid & request.ready & line.last
        for owner in range(contexts + 1):
            m.d.comb += self.finished[owner].eq(ends & (line.owner == owner))
        return m
