"""Ends of the parts of operations: completed descriptors, and computes whose rows are written."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.component import Component
from ...lib.interfaces.shared_memory import Direction, dma_done
from ...lib.streams import Queue, ResponseSignature
from .tracker import SLOT_WIDTH

__all__ = ["ComputeEnds", "DescriptorEnds"]


class DescriptorEnds(Component):
    """Descriptor ends: the unit's completed descriptors, by the part of the operation.

    Parameters
    ----------
    loads_d : bool
        Whether there are loads of D.

    Members
    -------
    done : In(ResponseSignature(dma_done))
        Completions; those with even tags belong to other units.
    loaded, stored : Out(ResponseSignature(3))
        A load or a store of this slot has ended.
    d_done : Out(1)
        A descriptor of D has completed, if there are any.
    failed : Out(1)
        A descriptor ended with an error.
    """

    def __init__(self, *, loads_d: bool):
        self.loads_d = loads_d
        super().__init__({
            "done": In(ResponseSignature(dma_done)),
            "loaded": Out(ResponseSignature(SLOT_WIDTH)),
            "stored": Out(ResponseSignature(SLOT_WIDTH)),
            **({"d_done": Out(1)} if loads_d else {}),
            "failed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        done = self.done.payload
        is_own = self.done.valid & done.tag[0]
        is_store = (done.direction == Direction.DRAIN) | (done.direction == Direction.SPILL)
        m.d.comb += [
            self.failed.eq(is_own & done.error),
            self.loaded.valid.eq(is_own & (done.direction == Direction.LOAD)),
            self.loaded.payload.eq(done.tag[1:]),
            self.stored.valid.eq(is_own & is_store),
            self.stored.payload.eq(done.tag[1:]),
        ]
        if self.loads_d:
            is_d = (done.direction == Direction.FILL) | (done.direction == Direction.REFILL)
            m.d.comb += self.d_done.eq(is_own & is_d)
        return m


class ComputeEnds(Component):
    """Compute ends: a compute ends when its last row is written, a fixed time after its offer.

    Parameters
    ----------
    write_latency : int
        Cycles from the offer of a row to the write of its sums.

    Members
    -------
    last_row : In(ResponseSignature(3))
        The last row of the compute of this slot is offered.
    computed : Out(ResponseSignature(3))
        Its sums are written.
    """

    def __init__(self, write_latency: int):
        self.write_latency = write_latency
        super().__init__({
            "last_row": In(ResponseSignature(SLOT_WIDTH)),
            "computed": Out(ResponseSignature(SLOT_WIDTH)),
        })

    def elaborate(self, platform):
        m = Module()
        written = Signal(self.write_latency)
        m.d.sync += written.eq(Cat(self.last_row.valid, written))
        m.submodules.computing = computing = Queue(SLOT_WIDTH, 1 << SLOT_WIDTH)
        m.d.comb += [
            computing.i.valid.eq(self.last_row.valid),
            computing.i.payload.eq(self.last_row.payload),
            computing.o.ready.eq(self.computed.valid),
            self.computed.valid.eq(written[-1]),
            self.computed.payload.eq(computing.o.payload),
        ]
        return m
