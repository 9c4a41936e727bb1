"""Console of a machine: a queue of printed bytes for the host."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ..emit.component import Component
from ..lib.merge import Merge
from ..lib.streams import Queue

__all__ = ["CONSOLE_BYTES", "Console"]

#: Console bytes buffered for the host; further bytes are lost.
CONSOLE_BYTES = 256


class Console(Component):
    """Console: bytes of all cores, merged round-robin, in a queue of `CONSOLE_BYTES`.

    Bytes are accepted at any time, one per cycle, and lost if the queue is full.

    Parameters
    ----------
    cores : int

    Members
    -------
    cores : In(stream.Signature(8)).array(cores)
    o : Out(stream.Signature(8))
    lost : Out(1)
        A byte was lost.
    """

    def __init__(self, cores: int):
        self.count = cores
        super().__init__({
            "cores": In(stream.Signature(8)).array(cores),
            "o": Out(stream.Signature(8)),
            "lost": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge = merge = Merge(8, self.count)
        m.submodules.text = text = Queue(8, CONSOLE_BYTES)
        for core, i in zip(self.cores, merge.i, strict=True):
            connect(m, flipped(core), i)
        connect(m, text.o, flipped(self.o))
        m.d.comb += [
            merge.o.ready.eq(1),
            text.i.valid.eq(merge.o.valid),
            text.i.payload.eq(merge.o.payload.payload),
        ]
        m.d.sync += self.lost.eq(self.lost | (merge.o.valid & ~text.i.ready))
        return m
