"""Which context takes the next load, and which completed load is told next."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..config import ClusterConfig
from ..shared_block import SharedBlock
from .dma_layouts import port_width

__all__ = ["LoadOrder"]


class LoadOrder(SharedBlock):
    """Let loads of one port complete in the order of their begin, those of others when they may.

    Combinational from `active` and `done` to `chosen` and `retires`. Of contexts that may, the one
    with the lowest number is first.

    Parameters
    ----------
    config : ClusterConfig
        A cluster with several ports of the DMA.

    Members
    -------
    active, done : In(config.dma.contexts)
        Contexts with a load, and those whose load is complete.
    chosen : Out(config.dma.contexts)
        One-hot, the context for the next load; 0 while none is free.
    begins : In(1)
        A load begins in it.
    port : In(port_width(config))
        Where that load came from.
    retires : Out(config.dma.contexts)
        One-hot, the load to tell; 0 where there is none.
    taken : In(1)
        It is told.
    """

    active: Signal
    done: Signal
    chosen: Signal
    begins: Signal
    port: Signal
    retires: Signal
    taken: Signal

    def __init__(self, config: ClusterConfig):
        self.config = config
        contexts = config.dma.contexts
        super().__init__({
            "active": In(contexts),
            "done": In(contexts),
            "chosen": Out(contexts),
            "begins": In(1),
            "port": In(port_width(config)),
            "retires": Out(contexts),
            "taken": In(1),
        })

    def build(self, platform):
        m = Module()
        contexts = range(self.config.dma.contexts)
        ports = [Signal.like(self.port, name=f"port_{k}", reset_less=True) for k in contexts]
        # Contexts with an earlier load of the same port that is not yet told.
        before = [Signal(len(contexts), name=f"before_{k}") for k in contexts]
        free, ready, left, alike = (
            Signal(len(contexts), name=name) for name in ("free", "ready", "left", "alike")
        )
        m.d.comb += [
            free.eq(~self.active),
            self.chosen.eq(free & -free),
            ready.eq(self.done & ~Cat(others.any() for others in before)),
            self.retires.eq(ready & -ready),
            left.eq(self.active & ~(self.retires & self.taken.replicate(len(contexts)))),
            alike.eq(Cat(port == self.port for port in ports)),
        ]
        for k in contexts:
            with m.If(self.begins & self.chosen[k]):
                m.d.sync += [ports[k].eq(self.port), before[k].eq(left & alike)]
            with m.Else():
                m.d.sync += before[k].eq(before[k] & left)
        return m
