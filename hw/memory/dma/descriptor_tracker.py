"""Completion tracker of a DMA descriptor."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import DmaBlockConfig
from ...emit.component import Component
from .layouts import dma_retired, dma_work
from .write_channel import WRITES_IN_FLIGHT

__all__ = ["DescriptorTracker"]


class DescriptorTracker(Component):
    """Completion tracker: holds the requester of a descriptor and counts its unfinished pieces.

    The completion is offered from the cycle after the last piece finished until it is accepted;
    for a refused descriptor from the cycle after its start.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    start : In(1)
        `work` begins.
    work : In(dma_work(config))
    walking : In(1)
        Pieces remain to be issued.
    issued : In(1)
        A piece begins.
    finished : In(config.axi.masters)
        A piece ends, one bit per channel; ignored while not `active`.
    failed : In(1)
        AXI reported an error; ignored while not `active`.
    active : Out(1)
        High from the cycle after `start` until the completion was accepted.
    done : Out(stream.Signature(dma_retired(config)))
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        super().__init__({
            "start": In(1),
            "work": In(dma_work(config)),
            "walking": In(1),
            "issued": In(1),
            "finished": In(config.axi.masters),
            "failed": In(1),
            "active": Out(1),
            "done": Out(stream.Signature(dma_retired(config))),
        })

    def elaborate(self, platform):
        m = Module()
        masters = self.config.axi.masters
        # In flight, in the segment queues and between them, with a margin.
        pieces = masters * (max(self.config.dma.outstanding, WRITES_IN_FLIGHT) + 32)
        unfinished = Signal(ceil_log2(pieces))
        finishes = sum((self.finished[c] for c in range(1, masters)), self.finished[0])
        retired = self.done.payload
        m.d.comb += self.done.valid.eq(self.active & ~self.walking & ~unfinished.any())
        with m.If(self.start):
            m.d.sync += [
                self.active.eq(1),
                retired.tag.eq(self.work.descriptor.tag),
                retired.direction.eq(self.work.descriptor.direction),
                retired.host.eq(self.work.host),
                retired.refused.eq(self.work.refused),
                retired.port.eq(self.work.port),
                retired.failed.eq(0),
            ]
        with m.Elif(self.active):
            m.d.sync += unfinished.eq(unfinished + self.issued - finishes)
            m.d.sync += retired.failed.eq(retired.failed | self.failed)
            with m.If(self.done.valid & self.done.ready):
                m.d.sync += self.active.eq(0)
        return m
