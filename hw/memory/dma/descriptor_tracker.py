"""Completion tracker of a DMA descriptor."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import DmaBlockConfig
from ...emit.component import Component
from ...lib.streams import ResponseSignature
from .layouts import dma_retired, dma_work
from .write_channel import WRITES_IN_FLIGHT

__all__ = ["CompletionsSignature", "DescriptorTracker"]


class CompletionsSignature(wiring.Signature):
    """Completions of the pieces of a descriptor, seen from the channels.

    Parameters
    ----------
    masters : int

    Members
    -------
    finished : Out(masters)
        A piece ends, one bit per channel.
    failed : Out(1)
        AXI reported an error.
    """

    def __init__(self, masters: int):
        super().__init__({"finished": Out(masters), "failed": Out(1)})


class DescriptorTracker(Component):
    """Completion tracker: holds the requester of a descriptor and counts its unfinished pieces.

    The completion is offered from the cycle after the last piece finished until it is accepted;
    for a refused descriptor from the cycle after its start.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    work : In(stream.Signature(dma_work(config)))
        Accepted while no descriptor is `active`.
    start : Out(ResponseSignature(dma_work(config)))
        The accepted descriptor.
    walking : In(1)
        Pieces remain to be issued.
    issued : In(1)
        A piece begins.
    completions : In(CompletionsSignature(config.axi.masters))
        Ignored while not `active`.
    active : Out(1)
        High from the cycle after `start` until the completion was accepted.
    done : Out(stream.Signature(dma_retired(config)))
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        super().__init__({
            "work": In(stream.Signature(dma_work(config))),
            "start": Out(ResponseSignature(dma_work(config))),
            "walking": In(1),
            "issued": In(1),
            "completions": In(CompletionsSignature(config.axi.masters)),
            "active": Out(1),
            "done": Out(stream.Signature(dma_retired(config))),
        })

    def elaborate(self, platform):
        m = Module()
        masters = self.config.axi.masters
        # In flight, in the segment queues and between them, with a margin.
        pieces = masters * (max(self.config.dma.outstanding, WRITES_IN_FLIGHT) + 32)
        unfinished = Signal(ceil_log2(pieces))
        finished, failed = self.completions.finished, self.completions.failed
        finishes = sum((finished[c] for c in range(1, masters)), finished[0])
        work, retired = self.work.payload, self.done.payload
        m.d.comb += [
            self.work.ready.eq(~self.active),
            self.start.valid.eq(self.work.valid & self.work.ready),
            self.start.payload.eq(work),
            self.done.valid.eq(self.active & ~self.walking & ~unfinished.any()),
        ]
        with m.If(self.start.valid):
            m.d.sync += [
                self.active.eq(1),
                retired.tag.eq(work.descriptor.tag),
                retired.direction.eq(work.descriptor.direction),
                retired.host.eq(work.host),
                retired.refused.eq(work.refused),
                retired.port.eq(work.port),
                retired.failed.eq(0),
            ]
        with m.Elif(self.active):
            m.d.sync += unfinished.eq(unfinished + self.issued - finishes)
            m.d.sync += retired.failed.eq(retired.failed | failed)
            with m.If(self.done.valid & self.done.ready):
                m.d.sync += self.active.eq(0)
        return m
