"""MSHR file of an L1 cache: lines in flight, and replay of the requests that wait for them."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out
from amaranth.utils import ceil_log2

from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter
from ...lib.one_hot import lowest, number_of, select
from ...lib.streams import ResponseSignature
from ..cache.replacement_policy import ReplacementConfig, ReplacementPolicy
from .mshr import Mshr, MshrConfig, fill_layout

__all__ = ["MshrFile", "entry_width", "replay_layout"]


def entry_width(config: MshrConfig) -> int:
    """Return the bits of an MSHR's number."""
    return ceil_log2(config.cache.mshrs)


def replay_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of a replay: a waiting request that can be answered, and its word.

    ``place``: the word's number in its line. ``error``: the word could not be read.
    """
    return data.StructLayout({
        "waiter": config.waiter_width,
        "set": config.cache.set_width,
        "way": config.cache.ways,
        "place": config.place_width,
        "error": 1,
    })


class MshrFile(SharedBlock):
    """MSHR file: reads each missing line once and replays the requests that wait for it.

    For each look-up, `begins` (a line read starts) or `joins` (it waits for a line in flight) is
    high in the same cycle. Both are low if no MSHR is free or every way of the set is reserved;
    the look-up is then repeated. MSHR 0 serves requests only, never prefetches. `ReplacementPolicy`
    selects the way of a line. The waiting requests are at `replay` from the cycle after the last
    beat on, one per cycle, except in cycles of `pause`.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    lookup : In(1)
        `line` is looked up.
    present : In(1)
        The cache holds the line.
    valids : In(config.cache.ways)
        Ways of its set that hold a valid line.
    line : In(config.cache.line_width)
    is_demand : In(1)
        Request `waiter` needs word `place` of the line; otherwise it is a prefetch.
    waiter : In(config.waiter_width)
        A number waits at most once at a time.
    place : In(config.place_width)
    joins, begins : Out(1)
    first_use : Out(1)
        The line was prefetched, and is requested for the first time.
    entry : Out(entry_width(config))
        MSHR of the read that begins.
    filled : In(1)
        The next beat for MSHR `filled_entry` arrived, with an error if `error`.
    filled_entry : In(entry_width(config))
    error : In(1)
    fill : Out(fill_layout(config))
        Destination of that beat.
    invalidate : In(1)
        Lines in flight are not to be kept; from the next cycle on no request may join them.
    pause : In(1)
        No request can be answered in this cycle.
    replay : Out(ResponseSignature(replay_layout(config)))
    spare : Out(1)
        An MSHR is free that a prefetch may use.
    busy : Out(1)
    """

    def __init__(self, config: MshrConfig, **more: Member):
        self.config = config
        super().__init__({
            "lookup": In(1),
            "present": In(1),
            "valids": In(config.cache.ways),
            "line": In(config.cache.line_width),
            "is_demand": In(1),
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
        count = self.config.cache.mshrs
        m.submodules.arbiter = arbiter = Arbiter(count)
        m.submodules.replacement = replacement = ReplacementPolicy(
            ReplacementConfig(ways=self.config.cache.ways)
        )
        lines = [Mshr(self.config) for _ in range(count)]
        for number, line in enumerate(lines):
            m.submodules[f"line_{number}"] = line

        free, grant, waiter = Signal(count), Signal(count), Signal(self.config.waiters)
        joins = Signal()
        m.d.comb += [
            free.eq(Cat(line.free for line in lines)),
            arbiter.requests.eq(free & (self.is_demand.replicate(count) | ~C(1, count))),
            grant.eq(arbiter.grant),
            arbiter.taken.eq(self.begins),
            waiter.eq(C(1, len(waiter)) << self.waiter),
            joins.eq(Cat(line.joins for line in lines).any()),
            self.joins.eq(joins),
            self.first_use.eq(Cat(line.first_use for line in lines).any()),
            self.entry.eq(number_of(grant)),
            self.spare.eq(free[1:].any()),
            self.busy.eq(~free.all()),
            # An OR tree for each way: the way is reserved by any MSHR.
            replacement.pending.eq(
                Cat(Cat(line.taken[n] for line in lines).any() for n in range(len(self.valids)))
            ),
            replacement.valid.eq(self.valids | replacement.pending),
            replacement.replaces.eq(self.begins),
            self.begins.eq(
                self.lookup & ~self.present & ~joins & replacement.has_way & grant.any()
            ),
        ]
        for number, line in enumerate(lines):
            m.d.comb += [
                line.lookup.eq(self.lookup),
                line.line.eq(self.line),
                line.is_demand.eq(self.is_demand),
                line.waiter.eq(waiter),
                line.begin.eq(self.begins & grant[number]),
                line.way.eq(replacement.victim),
                line.filled.eq(self.filled & (self.filled_entry == number)),
                line.error.eq(self.error),
                line.invalidate.eq(self.invalidate),
            ]
        with m.Switch(self.filled_entry):
            for number, line in enumerate(lines):
                with m.Case(number):
                    m.d.comb += self.fill.eq(line.fill)
        places = self.keep_places(m, waiter)
        self.answer(m, lines, places, self.forward_beat(m, lines, places))
        self.watch(m, lines)
        return m

    def watch(self, m: Module, lines):
        """Drive further outputs from the MSHRs; a hook for subclasses."""

    def forward_beat(self, m: Module, lines, places) -> list[Value]:
        """Return the waiting requests of each line answered besides `replay`; also a hook."""
        return [C(0, self.config.waiters) for _ in lines]

    def keep_places(self, m: Module, waiter):
        """Store the place of each waiting request's word; return all places."""
        places = []
        for number in range(self.config.waiters):
            place = Signal(self.config.place_width, name=f"place_{number}", reset_less=True)
            with m.If(self.lookup & self.is_demand & waiter[number]):
                m.d.sync += place.eq(self.place)
            places.append(place)
        return places

    def answer(self, m: Module, lines, places, forwarded):
        """Offer the lowest waiting request of the lowest complete line at `replay`."""
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
        for line, chosen_line, ended in zip(lines, first, forwarded, strict=True):
            m.d.comb += line.replayed.eq(Mux(chosen_line & ~self.pause, waiter, 0) | ended)
