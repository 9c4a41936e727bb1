"""Replay arbiter of the MSHRs of an L1 cache."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, number_of, select
from .mshr import ReplayedSignature
from .mshr_config import MshrConfig
from .signatures import ReplaySignature

__all__ = ["ReplayArbiter"]


class ReplayArbiter(SharedBlock):
    """Replay arbiter: selects the lowest waiting request of the lowest complete line.

    Combinational; one request per cycle, except in cycles of `o.pause`.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    lines : In(ReplayedSignature(config)).array(config.cache.mshrs)
        From each `Mshr`.
    places : In(data.ArrayLayout(config.place_width, config.waiters))
        Place of the word of each waiting request.
    o : Out(ReplaySignature(config))
    waits : Out(1)
        A request waits for a complete line.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__({
            "lines": In(ReplayedSignature(config)).array(config.cache.mshrs),
            "places": In(data.ArrayLayout(config.place_width, config.waiters)),
            "o": Out(ReplaySignature(config)),
            "waits": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, lines, replay = self.config, self.lines, self.o.payload
        layout = data.StructLayout({
            "waiting": config.waiters,
            "set": config.cache.set_width,
            "way": config.cache.ways,
            "errors": config.beats,
        })
        replays, first = Signal(len(lines)), Signal(len(lines))
        chosen, waiter = Signal(layout), Signal(config.waiters)
        place = Signal(config.place_width)
        beat = place[config.word_width :]
        states = [Cat(line.waiting, line.set, line.way, line.errors) for line in lines]
        m.d.comb += [
            replays.eq(Cat(line.valid for line in lines)),
            self.waits.eq(replays.any()),
            first.eq(lowest(replays)),
            Value.cast(chosen).eq(select(first, states)),
            waiter.eq(lowest(chosen.waiting)),
            place.eq(select(waiter, [self.places[n] for n in range(config.waiters)])),
            self.o.valid.eq(self.waits & ~self.o.pause),
            replay.waiter.eq(number_of(waiter)),
            replay.set.eq(chosen.set),
            replay.way.eq(chosen.way),
            replay.place.eq(place),
            replay.error.eq(chosen.errors.bit_select(beat, 1)),
        ]
        for line, is_first in zip(lines, first, strict=True):
            m.d.comb += line.replayed.eq(Mux(is_first & ~self.o.pause, waiter, 0))
        return m
