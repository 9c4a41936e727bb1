"""Context of a LOAD or STORE in progress: address generator, segment queues, completion."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.axi import master_of
from ...lib.streams import Queue
from .address_generator import AddressGenerator
from .descriptor_tracker import CompletionsSignature, DescriptorTracker
from .layouts import dma_retired, dma_segment, dma_work

__all__ = ["TransferContext"]

SEGMENTS_AHEAD = 4


class TransferContext(SharedBlock):
    """Load or store context: processes one descriptor, and routes its segments to the masters.

    The first segment leaves 3 cycles after the descriptor was accepted, then one per cycle. Up to
    `SEGMENTS_AHEAD` are queued per master. A refused descriptor has no segments.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    work : In(stream.Signature(dma_work(config)))
    segment_0, segment_1, … : Out(stream.Signature(dma_segment(config)))
        To each master.
    completions : In(CompletionsSignature(config.axi.masters))
    done : Out(stream.Signature(dma_retired(config)))
    active : Out(1)
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        segments = {
            f"segment_{c}": Out(stream.Signature(dma_segment(config)))
            for c in range(config.axi.masters)
        }
        super().__init__(
            {"work": In(stream.Signature(dma_work(config)))}
            | segments
            | {
                "completions": In(CompletionsSignature(config.axi.masters)),
                "done": Out(stream.Signature(dma_retired(config))),
                "active": Out(1),
            }
        )

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.address_generator = address_generator = AddressGenerator(config)
        m.submodules.tracker = tracker = DescriptorTracker(config)
        connect(m, flipped(self.work), tracker.work)
        connect(m, flipped(self.completions), tracker.completions)
        connect(m, tracker.done, flipped(self.done))
        m.d.comb += [
            address_generator.i.valid.eq(tracker.start.valid & ~tracker.start.payload.refused),
            address_generator.i.payload.eq(tracker.start.payload.descriptor),
            tracker.walking.eq(address_generator.busy),
            tracker.issued.eq(address_generator.o.valid & address_generator.o.ready),
            self.active.eq(tracker.active),
        ]
        master = master_of(config.axi, address_generator.o.payload.dram)
        for c in range(config.axi.masters):
            m.submodules[f"ahead_{c}"] = ahead = Queue(dma_segment(config), SEGMENTS_AHEAD)
            connect(m, ahead.o, flipped(getattr(self, f"segment_{c}")))
            m.d.comb += [
                ahead.i.payload.eq(address_generator.o.payload),
                ahead.i.valid.eq(address_generator.o.valid & (master == c)),
            ]
            with m.If(master == c):
                m.d.comb += address_generator.o.ready.eq(ahead.i.ready)
        return m
