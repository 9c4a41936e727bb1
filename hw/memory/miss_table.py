"""The lines that are being read into a cache, and who is answered when they are there."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out
from amaranth.utils import ceil_log2

from ..shared_block import SharedBlock
from ..streams import ResponseSignature
from .arbiter import Arbiter, lowest, number_of, select
from .line_miss import LineMiss, MissConfig, fill_layout
from .victim_way import VictimWay

__all__ = ["MissTable", "entry_width", "replay_layout"]


def entry_width(config: MissConfig) -> int:
    """Bits of the number of a line that is being read."""
    return ceil_log2(config.cache.misses)


def replay_layout(config: MissConfig) -> data.StructLayout:
    """Layout of a waiter that can be answered, and where its word is.

    ``place``: the word's number in its line. ``error``: it could not be read.
    """
    return data.StructLayout({
        "waiter": config.waiter_width,
        "set": config.cache.set_width,
        "way": config.cache.ways,
        "place": config.place_width,
        "error": 1,
    })


class MissTable(SharedBlock):
    """Read each missing line once, however many want it, and answer them when it is there.

    What is looked up is told in the same cycle whether it `begins` to be read or `joins` those
    that wait for it already; neither where all entries are in use (the first is kept for what is
    wanted) or every way of its set is needed: then it is looked up again. A line comes into the
    `VictimWay` of its set. Who waits is at `replay` from the cycle after the last beat on, one per
    cycle, but for those in which `pause` is high.

    Parameters
    ----------
    config : MissConfig

    Members
    -------
    looks : In(1)
        `line` is looked up.
    present : In(1)
        The cache has it.
    valids : In(config.cache.ways)
        Ways of its set that have any line.
    line : In(config.cache.line_width)
    wanted : In(1)
        By `waiter`, for word `place` of it; else it is read ahead.
    waiter : In(config.waiter_width)
        Nobody waits twice at a time.
    place : In(config.place_width)
    joins, begins : Out(1)
    first_use : Out(1)
        It was read ahead, and is wanted for the first time.
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
    spare : Out(1)
        An entry is free that may be read ahead into.
    busy : Out(1)
    """

    looks: Signal
    present: Signal
    valids: Signal
    line: Signal
    wanted: Signal
    waiter: Signal
    place: Signal
    joins: Signal
    begins: Signal
    first_use: Signal
    entry: Signal
    filled: Signal
    filled_entry: Signal
    error: Signal
    fill: data.View
    invalidate: Signal
    pause: Signal
    replay: Any
    spare: Signal
    busy: Signal

    def __init__(self, config: MissConfig, **more: Member):
        self.config = config
        super().__init__({
            "looks": In(1),
            "present": In(1),
            "valids": In(config.cache.ways),
            "line": In(config.cache.line_width),
            "wanted": In(1),
            "waiter": In(config.waiter_width),
            "place": In(config.place_width),
            "joins": Out(1),
            "begins": Out(1),
            "first_use": Out(1),
            "entry": Out(entry_width(config)),
            "filled": In(1),
            "filled_entry": In(entry_width(config)),
            "error": In(1),
            "fill": Out(fill_layout(config)),
            "invalidate": In(1),
            "pause": In(1),
            "replay": Out(ResponseSignature(replay_layout(config))),
            "spare": Out(1),
            "busy": Out(1),
            **more,
        })

    def build(self, platform):
        m = Module()
        count = self.config.cache.misses
        m.submodules.arbiter = arbiter = Arbiter(count)
        m.submodules.victim = victim = VictimWay(self.config.cache.ways)
        lines = [LineMiss(self.config) for _ in range(count)]
        for number, line in enumerate(lines):
            m.submodules[f"line_{number}"] = line

        free, grant, waiter = Signal(count), Signal(count), Signal(self.config.waiters)
        joins = Signal()
        m.d.comb += [
            free.eq(Cat(line.free for line in lines)),
            arbiter.requests.eq(free & (self.wanted.replicate(count) | ~C(1, count))),
            grant.eq(arbiter.grant),
            arbiter.taken.eq(self.begins),
            waiter.eq(C(1, len(waiter)) << self.waiter),
            joins.eq(Cat(line.joins for line in lines).any()),
            self.joins.eq(joins),
            self.first_use.eq(Cat(line.first_use for line in lines).any()),
            self.entry.eq(number_of(grant)),
            self.spare.eq(free[1:].any()),
            self.busy.eq(~free.all()),
            # Of each way whether any line needs it: a tree, and each way once.
            victim.needed.eq(
                Cat(Cat(line.taken[n] for line in lines).any() for n in range(len(victim.way)))
            ),
            victim.valids.eq(self.valids),
            victim.taken.eq(self.begins),
            self.begins.eq(self.looks & ~self.present & ~joins & victim.way.any() & grant.any()),
        ]
        for number, line in enumerate(lines):
            m.d.comb += [
                line.looks.eq(self.looks),
                line.line.eq(self.line),
                line.wanted.eq(self.wanted),
                line.waiter.eq(waiter),
                line.begin.eq(self.begins & grant[number]),
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
        self.watch(m, lines)
        return m

    def watch(self, m: Module, lines):
        """Tell more of the lines; for a table that does."""

    def keep_places(self, m: Module, waiter):
        """Remember which word each waiter wants; return them all."""
        places = []
        for number in range(self.config.waiters):
            place = Signal(self.config.place_width, name=f"place_{number}", reset_less=True)
            with m.If(self.looks & self.wanted & waiter[number]):
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
        replay, place = self.replay.payload, Signal(config.place_width)
        beat = place[config.word_width :]
        m.d.comb += [
            replays.eq(Cat(line.replays for line in lines)),
            first.eq(lowest(replays)),
            Value.cast(chosen).eq(
                select(
                    first,
                    [
                        Cat(
                            line.waiting,
                            line.fill.line[: config.cache.set_width],
                            line.fill.way,
                            line.errors,
                        )
                        for line in lines
                    ],
                )
            ),
            waiter.eq(lowest(chosen.waiting)),
            place.eq(select(waiter, places)),
            self.replay.valid.eq(replays.any() & ~self.pause),
            replay.waiter.eq(number_of(waiter)),
            replay.set.eq(chosen.set),
            replay.way.eq(chosen.way),
            replay.place.eq(place),
            replay.error.eq(chosen.errors.bit_select(beat, 1)),
        ]
        for line, chosen_line in zip(lines, first, strict=True):
            m.d.comb += line.replayed.eq(Mux(chosen_line & ~self.pause, waiter, 0))
