"""Queue of the walks over an operand, each held until the loads of its operation have ended."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....config import MatrixUnitConfig
from ....emit.component import Component
from ....lib.streams import Queue
from ..tracker import SLOTS
from .walk import fetch_walk, tile_walk

__all__ = ["QUEUED_WORK", "WalkQueue"]

#: Operations whose walks, or whose work, can be queued.
QUEUED_WORK = 4


class WalkQueue(Component):
    """Walk queue: walks leave in order, none before the loads of its operation have ended.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    i : In(stream.Signature(tile_walk(config)))
    loading : In(8)
        Slots with unfinished loads.
    o : Out(stream.Signature(fetch_walk(config)))
    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(tile_walk(config))),
            "loading": In(SLOTS),
            "o": Out(stream.Signature(fetch_walk(config))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(tile_walk(self.config), QUEUED_WORK)
        connect(m, flipped(self.i), queue.i)
        m.d.comb += [
            self.o.valid.eq(queue.o.valid & ~self.loading.bit_select(queue.o.p.slot, 1)),
            self.o.payload.eq(queue.o.p.walk),
            queue.o.ready.eq(self.o.ready),
        ]
        return m
