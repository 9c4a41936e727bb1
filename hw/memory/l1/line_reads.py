"""Line reads of an L1 cache: requests missing lines from memory."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue, ResponseSignature
from .mshr_config import MshrConfig
from .signatures import allocation_layout, line_read_layout

__all__ = ["LineReads"]


class LineReads(SharedBlock):
    """Line reads: requests the line of each allocated MSHR, in order, 1 cycle later.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    i : In(ResponseSignature(allocation_layout(config)))
        There is room for every MSHR.
    o : Out(stream.Signature(line_read_layout(config)))
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__({
            "i": In(ResponseSignature(allocation_layout(config))),
            "o": Out(stream.Signature(line_read_layout(config))),
        })

    def build(self, platform):
        m = Module()
        config, allocation = self.config, self.i.payload
        first = C(0, exact_log2(config.beats))
        m.submodules.reads = reads = Queue(line_read_layout(config), config.cache.mshrs)
        m.d.comb += [
            reads.i.valid.eq(self.i.valid),
            reads.i.payload.id.eq(allocation.entry),
            reads.i.payload.beat.eq(Cat(first, allocation.line)),
        ]
        connect(m, reads.o, flipped(self.o))
        return m
