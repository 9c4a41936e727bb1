"""Order of DMA loads: allocates contexts and selects the next completion."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest
from .layouts import port_width

__all__ = ["LoadOrder"]


class LoadOrder(SharedBlock):
    """Load order: loads of one port complete in order, those of different ports in any order.

    Combinational from `active` and `done` to `chosen` and `retires`. The lowest eligible context
    has priority.

    Parameters
    ----------
    config : DmaBlockConfig
        A cluster with several ports of the DMA.

    Members
    -------
    active, done : In(config.dma.contexts)
        Contexts with a load, and those whose load is complete.
    chosen : Out(config.dma.contexts)
        One-hot, the context for the next load; 0 while none is free.
    begins : In(1)
        A load begins in the chosen context.
    port : In(port_width(config))
        Port of that load.
    retires : Out(config.dma.contexts)
        One-hot, the load whose completion is reported; 0 if none is ready.
    accept : In(1)
        The completion is accepted.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        contexts = config.dma.contexts
        super().__init__({
            "active": In(contexts),
            "done": In(contexts),
            "chosen": Out(contexts),
            "begins": In(1),
            "port": In(port_width(config)),
            "retires": Out(contexts),
            "accept": In(1),
        })

    def build(self, platform):
        m = Module()
        contexts = range(self.config.dma.contexts)
        ports = [Signal.like(self.port, name=f"port_{k}", reset_less=True) for k in contexts]
        # Contexts with an earlier load of the same port that is not yet reported.
        before = [Signal(len(contexts), name=f"before_{k}") for k in contexts]
        free, ready, left, alike = (
            Signal(len(contexts), name=name) for name in ("free", "ready", "left", "alike")
        )
        m.d.comb += [
            free.eq(~self.active),
            self.chosen.eq(lowest(free)),
            ready.eq(self.done & ~Cat(others.any() for others in before)),
            self.retires.eq(lowest(ready)),
            left.eq(self.active & ~(self.retires & self.accept.replicate(len(contexts)))),
            alike.eq(Cat(port == self.port for port in ports)),
        ]
        for k in contexts:
            with m.If(self.begins & self.chosen[k]):
                m.d.sync += [ports[k].eq(self.port), before[k].eq(left & alike)]
            with m.Else():
                m.d.sync += before[k].eq(before[k] & left)
        return m
