"""What is fetched for one warp: where it goes on, and what is under way."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..address_map import ENTRY
from ..config import CoreConfig
from ..lib.interfaces.core_memory import pairs
from ..shared_block import SharedBlock
from .front_layouts import position_width

__all__ = ["WarpFetch"]


class WarpFetch(SharedBlock):
    """Ask for the instructions of one warp in pairs, one after the other.

    A pair is wanted while there is room for it beside what is buffered and under way. After a
    redirect, pairs that are still under way are let pass by: each is known by its place in the
    buffer, for which no other is asked until it has come. After a reset the warp stands at
    `ENTRY`.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    active : In(1)
        Whether anything is wanted.
    redirect : In(1)
        Go on at `target`. A pair that is granted in this cycle is dropped when it comes.
    target : In(29)
        Address in pairs.
    position : In(position_width(config))
        Lowest bits of the address, in words, of the next instruction to be taken.
    wants : Out(1)
        A pair is wanted, that at `address`.
    urgent : Out(1)
        And nothing of the warp is buffered or under way.
    address : Out(29)
        In pairs.
    granted : In(1)
        The pair is asked for; only where it is wanted.
    comes : In(1)
        Of what is under way, the pair of place `pair` comes.
    pair : In(ceil_log2(pairs(config)))
    fresh : Out(1)
        It is still of use.
    busy : Out(1)
        Something is under way.
    """

    active: Signal
    redirect: Signal
    target: Signal
    position: Signal
    wants: Signal
    urgent: Signal
    address: Signal
    granted: Signal
    comes: Signal
    pair: Signal
    fresh: Signal
    busy: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__({
            "active": In(1),
            "redirect": In(1),
            "target": In(29),
            "position": In(position_width(config)),
            "wants": Out(1),
            "urgent": Out(1),
            "address": Out(29),
            "granted": In(1),
            "comes": In(1),
            "pair": In(ceil_log2(pairs(config))),
            "fresh": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = pairs(self.config)
        pc = Signal(29, init=ENTRY >> 3)
        asked = Signal(count)  # under way, by the place in the buffer
        stale = Signal(count)  # of these, what was asked for before the last redirect
        asked_next = Signal(count)
        # Words buffered or under way, and one: the first pair may be asked for with its even word
        # behind the head, which makes them one less than none.
        level = Signal(position_width(self.config))

        place = Cat((pc & (count - 1)) == n for n in range(count))
        coming = Cat(self.comes & (self.pair == n) for n in range(count))
        m.d.comb += [
            level.eq(Cat(Const(1, 1), pc) - self.position),
            self.address.eq(pc),
            self.wants.eq(
                self.active & (level < self.config.instruction_buffer) & ~(asked & place).any()
            ),
            self.urgent.eq(self.wants & (level <= 1)),
            asked_next.eq((asked | (place & self.granted.replicate(count))) & ~coming),
            self.fresh.eq((coming & ~stale).any()),
            self.busy.eq(asked.any()),
        ]
        m.d.sync += [
            asked.eq(asked_next),
            stale.eq(Mux(self.redirect, asked_next, stale & asked_next)),
        ]
        with m.If(self.redirect):
            m.d.sync += pc.eq(self.target)
        with m.Elif(self.granted):
            m.d.sync += pc.eq(pc + 1)
        return m
