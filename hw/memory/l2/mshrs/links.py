"""Links between the MSHRs of an L2 slice: order of the reads of each id."""

from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect

from ....emit.shared_block import SharedBlock
from ....lib.one_hot import one_hot
from ....lib.sram import Sram
from ....lib.streams import ResponseSignature
from ..layouts import L2SliceConfig, operation_layout
from ..order_signatures import MshrOrderSignature
from ..signatures import MshrUpdateSignature
from .signatures import L2MshrSignature, SuccessorSignature

__all__ = ["L2MshrLinks"]


class L2MshrLinks(SharedBlock):
    """MSHR links: hold the successor of each MSHR, the next read of its id.

    The successor of an MSHR that is picked or answered is known 1 cycle later, and woken. There
    are two copies of the links, as an answer and a pick may read different MSHRs in one cycle.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
    stage : In(MshrUpdateSignature(config))
    entry : In(L2MshrSignature(config))
    order : Out(MshrOrderSignature(config))
    pick : In(ResponseSignature(config.mshr_width))
        MSHR whose look-up is issued.
    successor : Out(SuccessorSignature(config))
    wake : Out(config.l2.mshrs)
        Its turn is reached, or will be by the look-up of its predecessor.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "stage": In(MshrUpdateSignature(config)),
            "entry": In(L2MshrSignature(config)),
            "order": Out(MshrOrderSignature(config)),
            "pick": In(ResponseSignature(config.mshr_width)),
            "successor": Out(SuccessorSignature(config)),
            "wake": Out(config.l2.mshrs),
        })

    def build(self, platform):
        m = Module()
        follows = Signal()  # the operation becomes the successor of a read that waits
        m.d.comb += [
            self.order.take.eq(self.entry.waits),
            self.order.mshr.eq(self.entry.waiting),
            self.order.free.eq(self.stage.free),
            follows.eq(self.entry.waits & ~self.order.is_oldest),
            self.wake.eq(self.successor.one_hot | self.follow_answer(m, follows)),
        ]
        self.follow_pick(m, follows)
        return m

    def follow_pick(self, m: Module, follows: Signal):
        """Drive the successor of the MSHR picked in the last cycle."""
        mshrs, width = self.config.l2.mshrs, self.config.mshr_width
        m.submodules.behind = behind = Sram(depth=mshrs, width=width + 1)
        read: Any = ResponseSignature(width).create()
        connect(m, read, behind.read)
        order, stage, pick, is_known = self.order, self.stage, self.pick, Signal()
        successor = behind.data
        m.d.comb += [
            behind.write.mask.eq(follows | stage.free),
            behind.write.address.eq(Mux(stage.free, self.lookup.payload.mshr, order.youngest)),
            behind.write.data.eq(Cat(order.mshr, ~stage.free)),  # a freed MSHR has no successor
            read.valid.eq(pick.valid & ~(follows & (order.youngest == pick.payload))),
            read.payload.eq(pick.payload),
            self.successor.number.eq(successor[:width]),
            self.successor.one_hot.eq(
                Mux(
                    is_known & successor[width],
                    one_hot(m, successor[:width], mshrs, "behind_mshr"),
                    0,
                )
            ),
        ]
        m.d.sync += is_known.eq(read.valid)

    def follow_answer(self, m: Module, follows: Signal) -> Value:
        """Return the successor of the MSHR answered in the last cycle, one-hot."""
        mshrs, width = self.config.l2.mshrs, self.config.mshr_width
        m.submodules.behind_answered = behind = Sram(depth=mshrs, width=width)
        read: Any = ResponseSignature(width).create()
        connect(m, read, behind.read)
        is_known = Signal()
        m.d.comb += [
            behind.write.mask.eq(follows),
            behind.write.address.eq(self.order.youngest),
            behind.write.data.eq(self.order.mshr),
            read.valid.eq(self.stage.free & self.order.leads),
            read.payload.eq(self.lookup.payload.mshr),
        ]
        m.d.sync += is_known.eq(read.valid)
        return Mux(is_known, one_hot(m, behind.data, mshrs, "behind_answered_mshr"), 0)
