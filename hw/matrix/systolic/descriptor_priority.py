"""Priority of the descriptors of a matrix unit: one stream to the DMA."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...lib.interfaces.shared_memory import dma_descriptor
from ...lib.streams import Queue

__all__ = ["DescriptorPriority"]


class DescriptorPriority(Component):
    """Descriptor priority: the first input with a descriptor goes first, through a queue.

    Parameters
    ----------
    config : MatrixUnitConfig
    inputs : int

    Members
    -------
    i : In(stream.Signature(dma_descriptor(config.shared))).array(inputs)
    o : Out(stream.Signature(dma_descriptor(config.shared)))
    """

    def __init__(self, config: MatrixUnitConfig, inputs: int):
        self.config = config
        descriptor = stream.Signature(dma_descriptor(config.shared))
        super().__init__({"i": In(descriptor).array(inputs), "o": Out(descriptor)})

    def elaborate(self, platform):
        m = Module()
        layout = dma_descriptor(self.config.shared)
        m.submodules.descriptors = descriptors = Queue(layout, 2)
        chosen = stream.Signature(layout).create(path=("chosen",))
        connect(m, chosen, descriptors.i)
        connect(m, descriptors.o, flipped(self.o))
        earlier = C(0)
        for source in self.i:
            m.d.comb += source.ready.eq(chosen.ready & ~earlier)
            earlier |= source.valid
        m.d.comb += [chosen.valid.eq(earlier), chosen.payload.eq(self.i[-1].payload)]
        for source in reversed(list(self.i)[:-1]):
            with m.If(source.valid):
                m.d.comb += chosen.payload.eq(source.payload)
        return m
