"""The lines that are being read into a cache of data, and who is answered when they are there."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..emit import SharedBlock
from ..streams import ResponseSignature
from .arbiter import Arbiter, lowest, select
from .line_miss import LineMiss, MissConfig, fill_layout
from .miss_table import entry_width, number_of, replay_layout
from .victim_way import VictimWay

__all__ = ["DataMisses"]


class DataMisses(SharedBlock):
    """Read each missing line once, however many want it, and answer them when it is there.

    What is looked up is told in the same cycle whether it `begins` to be read or `joins` those
    that wait for it already; neither where all entries are in use or every way of its set is
    needed: then it is looked up again. Who waits is at `replay` from the cycle after the last
    beat on, one per cycle, but for those in which `pause` is high.

    Parameters
    ----------
    config : MissConfig

    Members
    -------
    looks : In(1)
        `line`, which the cache does not have, is looked up.
    valids : In(config.cache.ways)
        Ways of its set that have any line.
    line : In(config.cache.line_width)
    waiter : In(config.waiter_width)
        Who wants beat `place` of it; nobody waits twice at a time.
    place : In(config.place_width)
    joins, begins : Out(1)
    entry : Out(entry_width(config))
        Whose read begins.
    filled : In(1)
        The next beat for entry `filled_entry` came, with an error if `error`.
    filled_entry : In(entry_width(config))
    error : In(1)
    fill : Out(fill_layout(config))
        Where that goes.
    invalidate : In(1)
        What is being read is not to be kept, nor waited for from the next cycle on.
    pause : In(1)
        Nobody can be answered.
    replay : Out(ResponseSignature(replay_layout(config)))
    written : In(config.cache.line_width)
    meets : Out(1)
        That line is being read, or somebody still waits for it.
    busy : Out(1)
    """

    looks: Signal
    valids: Signal
    line: Signal
    waiter: Signal
    place: Signal
    joins: Signal
    begins: Signal
    entry: Signal
    filled: Signal
    filled_entry: Signal
    error: Signal
    fill: data.View
    invalidate: Signal
    pause: Signal
    replay: Any
    written: Signal
    meets: Signal
    busy: Signal

    def __init__(self, config: MissConfig):
        self.config = config
        super().__init__({
            "looks": In(1),
            "valids": In(config.cache.ways),
            "line": In(config.cache.line_width),
            "waiter": In(config.waiter_width),
            "place": In(config.place_width),
            "joins": Out(1),
            "begins": Out(1),
            "entry": Out(entry_width(config)),
            "filled": In(1),
            "filled_entry": In(entry_width(config)),
            "error": In(1),
            "fill": Out(fill_layout(config)),
            "invalidate": In(1),
            "pause": In(1),
            "replay": Out(ResponseSignature(replay_layout(config))),
            "written": In(config.cache.line_width),
            "meets": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = self.config.cache.misses
        m.submodules.arbiter = arbiter = Arbiter(count)
        m.submodules.victim = victim = VictimWay(self.config.cache.ways)
        lines = [LineMiss(self.config) for _ in range(count)]
        for number, line in enumerate(lines):
            m.submodules[f"line_{number}"] = line
        free, waiter = Signal(count), Signal(self.config.waiters)
        m.d.comb += [
            free.eq(Cat(line.free for line in lines)),
            arbiter.requests.eq(free),
            arbiter.taken.eq(self.begins),
            waiter.eq(C(1, len(waiter)) << self.waiter),
            # Of each way whether any line needs it: a tree, and each way once.
            victim.needed.eq(
                Cat(Cat(line.taken[n] for line in lines).any() for n in range(len(victim.way)))
            ),
            victim.valids.eq(self.valids),
            victim.taken.eq(self.begins),
            self.joins.eq(Cat(line.joins for line in lines).any()),
            self.begins.eq(self.looks & ~self.joins & victim.way.any() & free.any()),
            self.entry.eq(number_of(arbiter.grant)),
            self.meets.eq(
                Cat(~line.free & (line.fill.line == self.written) for line in lines).any()
            ),
            self.busy.eq(~free.all()),
        ]
        for number, line in enumerate(lines):
            m.d.comb += [
                line.looks.eq(self.looks),
                line.line.eq(self.line),
                line.wanted.eq(1),
                line.waiter.eq(waiter),
                line.begin.eq(self.begins & arbiter.grant[number]),
                line.way.eq(victim.way),
                line.filled.eq(self.filled & (self.filled_entry == number)),
                line.error.eq(self.error),
                line.invalidate.eq(self.invalidate),
            ]
        with m.Switch(self.filled_entry):
            for number, line in enumerate(lines):
                with m.Case(number):
                    m.d.comb += self.fill.eq(line.fill)
        self.answer(m, lines, self.keep_places(m, waiter))
        return m

    def keep_places(self, m: Module, waiter):
        """Remember which beat each waiter wants; return them all."""
        places = []
        for number in range(self.config.waiters):
            place = Signal(self.config.place_width, name=f"place_{number}", reset_less=True)
            with m.If(self.looks & waiter[number]):
                m.d.sync += place.eq(self.place)
            places.append(place)
        return places

    def answer(self, m: Module, lines, places):
        """Offer the lowest waiter of the lowest line that is here."""
        config = self.config
        here = data.StructLayout({
            "waiting": config.waiters,
            "set": config.cache.set_width,
            "way": config.cache.ways,
            "errors": config.beats,
        })
        replays, first = Signal(len(lines)), Signal(len(lines))
        chosen, waiter = Signal(here), Signal(config.waiters)
        replay = self.replay.payload
        of_lines = [
            Cat(line.waiting, line.fill.line[: config.cache.set_width], line.fill.way, line.errors)
            for line in lines
        ]
        m.d.comb += [
            replays.eq(Cat(line.replays for line in lines)),
            first.eq(lowest(replays)),
            Value.cast(chosen).eq(select(first, of_lines)),
            waiter.eq(lowest(chosen.waiting)),
            self.replay.valid.eq(replays.any() & ~self.pause),
            replay.waiter.eq(number_of(waiter)),
            replay.set.eq(chosen.set),
            replay.way.eq(chosen.way),
            replay.place.eq(select(waiter, places)),
            replay.error.eq(chosen.errors.bit_select(replay.place, 1)),
        ]
        for line, is_first in zip(lines, first, strict=True):
            m.d.comb += line.replayed.eq(Mux(is_first & ~self.pause, waiter, 0))
