"""State of the MSHRs of an L2 slice: the events that each waits for."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ..cache.cam import cam_matches
from .layouts import L2SliceConfig
from .signatures import outcome_layout

__all__ = ["L2MshrStates"]


class L2MshrStates(SharedBlock):
    """MSHR states: wait for a line, for a write-back, or for an earlier read of the same id.

    One bit for each MSHR. Outputs refer to the look-up of the same cycle; inputs take effect in
    the next. Only keys of lines are compared. A match of another line's key causes an early
    retry or an unneeded stall of a write, and no error. The fill of a prefetch that no request
    has adopted is deferred until the slice is `idle`, unless DRAM reported an error.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    line : In(config.l2.line_width)
        Line that is looked up.
    take : In(config.l2.mshrs)
        Allocate the MSHR to the read that is looked up, a prefetch if `ahead`.
    ahead : In(1)
    adopt : In(1)
        The read that is looked up takes over the MSHR of a prefetch.
    settle : In(config.l2.mshrs)
        The read of this MSHR was looked up, or is taken, with this outcome:
    outcome : In(outcome_layout(config))
    is_oldest : In(1)
        No earlier read of its id waits.
    free : In(config.l2.mshrs)
        The read of this MSHR is answered.
    line_filled : In(1)
        The line that is looked up arrives.
    writeback_done : In(1)
        A write-back reached DRAM.
    wake : In(config.l2.mshrs)
        Its turn is reached, or will be by its look-up; a look-up before its turn clears this.
    pick : In(config.l2.mshrs)
        Its look-up is issued.
    refilled, failed : In(config.l2.mshrs)
        Its last beat arrived; a beat with an error arrived.
    idle : In(1)
        Deferred fills request look-ups.
    used : Out(config.l2.mshrs)
        The MSHR is in use.
    ready : Out(config.l2.mshrs)
        It may be looked up when it is its turn; as a fill if `here`.
    waits : Out(config.l2.mshrs)
        It requests a look-up.
    here : Out(config.l2.mshrs)
    passing : Out(config.l2.mshrs)
        Its line is not kept.
    passes : Out(1)
        The line that is looked up is being read past the cache.
    arrived : Out(1)
        All reads of the line that is looked up are prefetches whose fills are deferred.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        mshrs = config.l2.mshrs
        super().__init__(
            {name: In(mshrs) for name in ("take", "settle", "free", "wake", "pick")}
            | {name: In(mshrs) for name in ("refilled", "failed")}
            | {name: In(1) for name in ("ahead", "adopt", "idle")}
            | {name: In(1) for name in ("is_oldest", "line_filled", "writeback_done")}
            | {name: Out(mshrs) for name in ("used", "ready", "waits", "here", "passing")}
            | {name: Out(1) for name in ("passes", "arrived")}
            | {"line": In(config.l2.line_width), "outcome": In(outcome_layout(config))}
        )

    def build(self, platform):
        m = Module()
        outcome, settle = self.outcome, self.settle
        picked, fetching, woken = (
            Signal.like(self.used, name=name) for name in ("picked", "fetching", "woken")
        )
        for_line, for_back, ends, deferred = (
            Signal.like(self.used, name=name)
            for name in ("for_line", "for_back", "ends", "deferred")
        )
        key = self.config.key_of(self.line)
        same = cam_matches(m, self.take, key, key)
        m.d.comb += [
            ends.eq(settle | self.free),
            self.ready.eq(self.used & ~picked & (self.here | ~(fetching | for_line | for_back))),
            self.waits.eq(
                self.ready & (woken | (self.here & ~self.passing)) & ~where(deferred, ~self.idle)
            ),
            self.passes.eq((same & self.passing).any()),
            self.arrived.eq(~(same & self.used & ~(deferred & self.ready)).any()),
        ]
        m.d.sync += [
            self.used.eq((self.used & ~self.free) | self.take),
            picked.eq((picked & ~ends) | self.pick),
            fetching.eq((fetching & ~self.refilled) | where(settle, outcome.fetches)),
            self.here.eq((self.here & ~ends) | self.refilled | where(settle, outcome.stays)),
            self.passing.eq(
                (self.passing & ~ends)
                | where(settle, outcome.stays | (outcome.fetches & ~outcome.keeps))
            ),
            for_line.eq(
                (for_line & ~settle & ~where(same, self.line_filled))
                | where(settle, outcome.for_line)
            ),
            for_back.eq(
                where((for_back & ~settle) | where(settle, outcome.for_back), ~self.writeback_done)
            ),
            woken.eq((woken & ~settle) | where(settle, self.is_oldest) | self.wake),
        ]
        if self.config.l2.prefetch:
            m.d.sync += deferred.eq(
                (deferred & ~self.free & ~self.failed & ~where(same, self.adopt))
                | where(self.take, self.ahead)
            )
        return m


def where(mshrs: Value, condition: Value) -> Value:
    """Return `mshrs` if `condition` holds, else 0."""
    return Mux(condition, mshrs, 0)
