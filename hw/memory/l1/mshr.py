"""Miss-status holding register (MSHR) of an L1 cache."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.streams import ResponseSignature
from .mshr_config import MshrConfig
from .signatures import fill_layout

__all__ = ["ForwardedSignature", "Mshr", "MshrEventsSignature", "ReplayedSignature"]


class MshrEventsSignature(wiring.Signature):
    """Events of a cycle that all MSHRs of a file observe, seen from the file.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    lookup : Out(1)
        `line` is looked up.
    line : Out(config.cache.line_width)
    is_demand : Out(1)
        A request needs the line; otherwise it is a prefetch.
    waiter : Out(config.waiters)
        Number of the request, one-hot.
    error : Out(1)
        The beat that arrives has an error.
    invalidate : Out(1)
        A line in flight is not to be kept, and no later request may join it.
    """

    def __init__(self, config: MshrConfig):
        super().__init__({
            "lookup": Out(1),
            "line": Out(config.cache.line_width),
            "is_demand": Out(1),
            "waiter": Out(config.waiters),
            "error": Out(1),
            "invalidate": Out(1),
        })


class ReplayedSignature(wiring.Signature):
    """Requests to be replayed from a complete line, seen from its MSHR.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    valid : Out(1)
        The line is complete and requests still wait.
    waiting : Out(config.waiters)
    set : Out(config.cache.set_width)
    way : Out(config.cache.ways)
    errors : Out(config.beats)
        Beats of the line that could not be read.
    replayed : In(config.waiters)
        Requests that are answered in this cycle.
    """

    def __init__(self, config: MshrConfig):
        super().__init__({
            "valid": Out(1),
            "waiting": Out(config.waiters),
            "set": Out(config.cache.set_width),
            "way": Out(config.cache.ways),
            "errors": Out(config.beats),
            "replayed": In(config.waiters),
        })


class ForwardedSignature(wiring.Signature):
    """Requests that wait for a line whose beat may arrive, seen from its MSHR.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    waiting : Out(config.waiters)
    forwarded : In(config.waiters)
        Requests that are answered with the beat that arrives.
    """

    def __init__(self, config: MshrConfig):
        super().__init__({"waiting": Out(config.waiters), "forwarded": In(config.waiters)})


class Mshr(SharedBlock):
    """MSHR: holds a line in flight and the requests that wait for it until all are answered.

    Outputs refer to the line looked up in the same cycle. Inputs take effect in the next.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    events : In(MshrEventsSignature(config))
    joins : Out(1)
        The line is in flight. A request that needs it waits from now on.
    first_use : Out(1)
        The line was prefetched, and is requested for the first time.
    reserved : Out(config.cache.ways)
        Way of the looked-up set that this MSHR reserves until all requests are answered.
    free : Out(1)
        No line is in flight and no request waits.
    allocate : In(ResponseSignature(config.cache.ways))
        Allocate the MSHR to the looked-up line, to be read into this way. Only if `free`.
    filled : In(1)
        The next beat of the line arrives.
    fill : Out(fill_layout(config))
        Destination of that beat.
    replay : Out(ReplayedSignature(config))
    forward : Out(ForwardedSignature(config))
        Only if `config.forwards_beats`.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        members = {
            "events": In(MshrEventsSignature(config)),
            "joins": Out(1),
            "first_use": Out(1),
            "reserved": Out(config.cache.ways),
            "free": Out(1),
            "allocate": In(ResponseSignature(config.cache.ways)),
            "filled": In(1),
            "fill": Out(fill_layout(config)),
            "replay": Out(ReplayedSignature(config)),
        }
        if config.forwards_beats:
            members |= {"forward": Out(ForwardedSignature(config))}
        super().__init__(members)

    def build(self, platform):
        m = Module()
        cache, events, begins = self.config.cache, self.events, self.allocate.valid
        line = Signal.like(events.line, reset_less=True)
        way = Signal.like(self.allocate.payload, reset_less=True)
        pending, waiting = Signal(), Signal(self.config.waiters)
        doomed = Signal()  # the line in flight is not to be kept
        unused = Signal()  # it was prefetched, and not requested yet
        errors = Signal(self.config.beats)
        same_set, same, waits = Signal(), Signal(), Signal()
        m.d.comb += [
            same_set.eq(line[: cache.set_width] == events.line[: cache.set_width]),
            same.eq(same_set & (line[cache.set_width :] == events.line[cache.set_width :])),
            waits.eq(waiting.any()),
            self.joins.eq(events.lookup & same & pending & ~doomed),
            self.first_use.eq(events.lookup & events.is_demand & same & unused),
            self.free.eq(~pending & ~waits),
            self.reserved.eq(Mux(~self.free & same_set, way, 0)),
            self.fill.line.eq(line),
            self.fill.way.eq(way),
            self.fill.fails.eq(errors.any()),
            self.fill.forgotten.eq(doomed),
            self.replay.valid.eq(~pending & waits),
            self.replay.waiting.eq(waiting),
            self.replay.set.eq(line[: cache.set_width]),
            self.replay.way.eq(way),
            self.replay.errors.eq(errors),
        ]
        answered = self.replay.replayed
        if self.config.forwards_beats:
            answered = answered | self.forward.forwarded
            m.d.comb += self.forward.waiting.eq(waiting)
        m.d.sync += [
            doomed.eq(events.invalidate | (doomed & ~begins)),
            unused.eq(
                Mux(begins, ~events.is_demand, unused & ~self.first_use) & ~events.invalidate
            ),
            waiting.eq(
                (waiting & ~answered)
                | Mux(events.is_demand & (self.joins | begins), events.waiter, 0)
            ),
        ]
        last = self.count(m, errors)
        with m.If(self.filled & last):
            m.d.sync += pending.eq(0)
        with m.If(begins):
            m.d.sync += [
                line.eq(events.line),
                way.eq(self.allocate.payload),
                pending.eq(1),
                errors.eq(0),
            ]
        return m

    def count(self, m: Module, errors: Signal) -> Value:
        """Count beats and record errors; return whether the next is the last. Wraps to 0."""
        if self.config.beats == 1:
            with m.If(self.filled):
                m.d.sync += errors.eq(self.events.error)
            return C(1, 1)
        beat = Signal(exact_log2(self.config.beats))
        m.d.comb += self.fill.beat.eq(beat)
        with m.If(self.filled):
            m.d.sync += [beat.eq(beat + 1), errors.eq(errors | (self.events.error << beat))]
        return beat.all()
