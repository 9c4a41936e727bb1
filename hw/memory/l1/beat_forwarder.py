"""Forwarding of arriving beats of the L1 data cache."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, number_of
from .mshr import ForwardedSignature
from .mshr_config import MshrConfig
from .signatures import ForwardSignature

__all__ = ["BeatForwarder"]


class BeatForwarder(SharedBlock):
    """Beat forwarder: answers the lowest request that waits for an arriving beat with it.

    Combinational.

    Parameters
    ----------
    config : MshrConfig
        Words are whole beats.

    Members
    -------
    lines : In(ForwardedSignature(config)).array(config.cache.mshrs)
        From each `Mshr`.
    places : In(data.ArrayLayout(config.place_width, config.waiters))
        Place of the beat of each waiting request.
    arrives : In(1)
        A beat arrives for MSHR `entry`, number `beat` of its line.
    entry : In(config.entry_width)
    beat : In(config.place_width)
    o : Out(ForwardSignature(config))
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__({
            "lines": In(ForwardedSignature(config)).array(config.cache.mshrs),
            "places": In(data.ArrayLayout(config.place_width, config.waiters)),
            "arrives": In(1),
            "entry": In(config.entry_width),
            "beat": In(config.place_width),
            "o": Out(ForwardSignature(config)),
        })

    def build(self, platform):
        m = Module()
        waiters = self.config.waiters
        waiting, here, first = Signal(waiters), Signal(waiters), Signal(waiters)
        m.d.comb += [
            here.eq(waiting & Cat(self.places[n] == self.beat for n in range(waiters))),
            first.eq(lowest(here)),
            self.o.valid.eq(self.arrives & self.o.allows & here.any()),
            self.o.waiter.eq(number_of(first)),
        ]
        with m.Switch(self.entry):
            for number, line in enumerate(self.lines):
                with m.Case(number):
                    m.d.comb += [
                        waiting.eq(line.waiting),
                        line.forwarded.eq(Mux(self.arrives & self.o.allows, first, 0)),
                    ]
        return m
