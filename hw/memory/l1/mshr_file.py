"""MSHR file of an L1 cache: lines in flight, and replay of the requests that wait for them."""

from collections.abc import Sequence
from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter, ArbitrationSignature
from ...lib.one_hot import number_of
from ...lib.streams import ResponseSignature
from ..cache.replacement_policy import (
    ReplacementConfig,
    ReplacementPolicy,
    ReplacementSignature,
)
from .beat_forwarder import BeatForwarder
from .mshr import Mshr, MshrEventsSignature
from .mshr_config import MshrConfig
from .replay_arbiter import ReplayArbiter
from .signatures import (
    ConflictSignature,
    ForwardSignature,
    MissSignature,
    RefillSignature,
    ReplaySignature,
    allocation_layout,
)

__all__ = ["MshrFile"]


class MshrFile(SharedBlock):
    """MSHR file: reads each missing line once and replays the requests that wait for it.

    For each look-up, `begins` (a line read starts) or `joins` (it waits for a line in flight) is
    high in the same cycle. Both are low if no MSHR is free or every way of the set is reserved;
    the look-up is then repeated. MSHR 0 serves requests only, never prefetches. `ReplacementPolicy`
    selects the way of a line. The waiting requests are at `replay` from the cycle after the last
    beat on, one per cycle, except in cycles of `pause`.

    If `config.forwards_beats`, an arriving beat is forwarded to the lowest request that waits for
    it; the other requests for the beat stay until `replay`. The driver then excludes a replay in
    the cycle of an arriving beat by `pause`.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    lookup : In(MissSignature(config))
    allocation : Out(ResponseSignature(allocation_layout(config)))
        The read of a line begins.
    refill : In(RefillSignature(config))
    invalidate : In(1)
        Lines in flight are not to be kept; from the next cycle on no request may join them.
    replay : Out(ReplaySignature(config))
    spare : Out(1)
        An MSHR is free that a prefetch may use.
    busy : Out(1)
    forward : Out(ForwardSignature(config))
        This member and those below only if `config.forwards_beats`.
    store : In(ConflictSignature(config.cache))
        Conflict: the line is being read, or a request still waits for it.
    replays_wait : Out(1)
        Requests wait for a complete line: `replay` is valid unless it pauses.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        members = {
            "lookup": In(MissSignature(config)),
            "allocation": Out(ResponseSignature(allocation_layout(config))),
            "refill": In(RefillSignature(config)),
            "invalidate": In(1),
            "replay": Out(ReplaySignature(config)),
            "spare": Out(1),
            "busy": Out(1),
        }
        if config.forwards_beats:
            members |= {
                "forward": Out(ForwardSignature(config)),
                "store": In(ConflictSignature(config.cache)),
                "replays_wait": Out(1),
            }
        super().__init__(members)

    def build(self, platform):
        m = Module()
        config, lookup = self.config, self.lookup
        lines = [Mshr(config) for _ in range(config.cache.mshrs)]
        for number, line in enumerate(lines):
            m.submodules[f"line_{number}"] = line
        free, joins, begins = Signal(len(lines)), Signal(), Signal()
        waiter = Signal(config.waiters)
        m.d.comb += [
            free.eq(Cat(line.free for line in lines)),
            waiter.eq(C(1, len(waiter)) << lookup.waiter),
            joins.eq(Cat(line.joins for line in lines).any()),
            lookup.joins.eq(joins),
            lookup.begins.eq(begins),
            lookup.first_use.eq(Cat(line.first_use for line in lines).any()),
            self.spare.eq(free[1:].any()),
            self.busy.eq(~free.all()),
        ]
        self.broadcast(m, lines, waiter)
        self.allocate(m, lines, free, joins, begins)
        self.route_beats(m, lines)
        self.answer(m, lines, self.keep_places(m, waiter))
        return m

    def broadcast(self, m: Module, lines: Sequence[Mshr], waiter: Signal):
        """Drive the events of the cycle to all MSHRs."""
        lookup = self.lookup
        events: Any = MshrEventsSignature(self.config).create()
        connect(m, events, *(line.events for line in lines))
        m.d.comb += [
            events.lookup.eq(lookup.valid),
            events.line.eq(lookup.line),
            events.is_demand.eq(lookup.is_demand),
            events.waiter.eq(waiter),
            events.error.eq(self.refill.error),
            events.invalidate.eq(self.invalidate),
        ]

    def allocate(
        self, m: Module, lines: Sequence[Mshr], free: Signal, joins: Signal, begins: Signal
    ):
        """Allocate a free MSHR and a way to a line that is neither present nor in flight."""
        lookup, count, ways = self.lookup, len(lines), self.config.cache.ways
        policy_config = ReplacementConfig(ways=ways)
        m.submodules.arbiter = entry_arbiter = Arbiter(count)
        m.submodules.replacement = policy = ReplacementPolicy(policy_config)
        arbiter: Any = ArbitrationSignature(count).create()
        replacement: Any = ReplacementSignature(policy_config).create()
        connect(m, arbiter, entry_arbiter)
        connect(m, replacement, policy)
        grant = Signal(count)
        # An OR tree for each way: the way is reserved by any MSHR.
        reserved = [Cat(line.reserved[n] for line in lines).any() for n in range(ways)]
        m.d.comb += [
            arbiter.requests.eq(free & (lookup.is_demand.replicate(count) | ~C(1, count))),
            grant.eq(arbiter.grant),
            arbiter.accept.eq(begins),
            replacement.pending.eq(Cat(reserved)),
            replacement.valid.eq(lookup.valids | replacement.pending),
            replacement.replaces.eq(begins),
            begins.eq(lookup.valid & ~lookup.present & ~joins & replacement.has_way & grant.any()),
            self.allocation.valid.eq(begins),
            self.allocation.payload.entry.eq(number_of(grant)),
            self.allocation.payload.line.eq(lookup.line),
        ]
        for line, granted in zip(lines, grant, strict=True):
            m.d.comb += [
                line.allocate.valid.eq(begins & granted),
                line.allocate.payload.eq(replacement.victim),
            ]

    def route_beats(self, m: Module, lines: Sequence[Mshr]):
        """Advance the MSHR of an arriving beat, and return the destination of the beat."""
        refill = self.refill
        with m.Switch(refill.entry):
            for number, line in enumerate(lines):
                with m.Case(number):
                    m.d.comb += refill.destination.eq(line.fill)
        for number, line in enumerate(lines):
            m.d.comb += line.filled.eq(refill.valid & (refill.entry == number))

    def answer(self, m: Module, lines: Sequence[Mshr], places: Value):
        """Answer waiting requests: of complete lines, and maybe one with an arriving beat."""
        config = self.config
        m.submodules.replays = replays = ReplayArbiter(config)
        connect(m, replays.o, flipped(self.replay))
        m.d.comb += replays.places.eq(places)
        for line, port in zip(lines, replays.lines, strict=True):
            connect(m, line.replay, port)
        if not config.forwards_beats:
            return
        m.submodules.forwarder = forwarder = BeatForwarder(config)
        connect(m, forwarder.o, flipped(self.forward))
        m.d.comb += [
            forwarder.places.eq(places),
            forwarder.arrives.eq(self.refill.valid),
            forwarder.entry.eq(self.refill.entry),
            forwarder.beat.eq(self.refill.destination.beat),
            self.replays_wait.eq(replays.waits),
            self.store.conflict.eq(
                Cat(~line.free & (line.fill.line == self.store.line) for line in lines).any()
            ),
        ]
        for line, port in zip(lines, forwarder.lines, strict=True):
            connect(m, line.forward, port)

    def keep_places(self, m: Module, waiter: Signal) -> Value:
        """Store the place of each waiting request's word; return all places."""
        lookup, places = self.lookup, []
        for number in range(self.config.waiters):
            place = Signal(self.config.place_width, name=f"place_{number}", reset_less=True)
            with m.If(lookup.valid & lookup.is_demand & waiter[number]):
                m.d.sync += place.eq(lookup.place)
            places.append(place)
        return Cat(places)
