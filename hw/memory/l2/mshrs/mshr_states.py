"""State of the MSHRs of an L2 slice: the events that each waits for."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ....emit.shared_block import SharedBlock
from ....lib.one_hot import lowest, number_of, one_hot
from ....lib.streams import ResponseSignature
from ...cache.cam import cam_matches
from ..layouts import L2SliceConfig, operation_layout
from ..signatures import InFlightSignature, MshrUpdateSignature
from .signatures import L2MshrSignature, RefillEndSignature, RetrySignature

__all__ = ["L2MshrStates"]


class L2MshrStates(SharedBlock):
    """MSHR states: wait for a line, for a write-back, or for an earlier read of the same id.

    One bit for each MSHR. Outputs refer to the look-up of the same cycle; inputs take effect in
    the next. Only keys of lines are compared. A match of another line's key causes an early
    retry or an unneeded stall of a write, and no error. The fill of a prefetch that no request
    has adopted is deferred while operations are looked up, unless DRAM reported an error.
    Deferred fills make room for reads that wait for an MSHR.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
        Operation that is looked up.
    stage : In(MshrUpdateSignature(config))
    in_flight : In(InFlightSignature(config))
    entry : Out(L2MshrSignature(config))
        MSHR of the operation.
    is_oldest : In(1)
        No earlier read of its id waits.
    writeback_done : In(1)
        A write-back reached DRAM.
    wake : In(config.l2.mshrs)
        Its turn is reached, or will be by its look-up; a look-up before its turn clears this.
    retry : Out(RetrySignature(config))
    refill : In(RefillEndSignature(config))
    room : Out(1)
        A read may be taken in the next cycle, whatever happens in this one.
    busy : Out(1)
        An MSHR is in use.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "stage": In(MshrUpdateSignature(config)),
            "in_flight": In(InFlightSignature(config)),
            "entry": Out(L2MshrSignature(config)),
            "is_oldest": In(1),
            "writeback_done": In(1),
            "wake": In(config.l2.mshrs),
            "retry": Out(RetrySignature(config)),
            "refill": In(RefillEndSignature(config)),
            "room": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        used, take, settle, free = (
            Signal(self.config.l2.mshrs, name=name) for name in ("used", "take", "settle", "free")
        )
        stage, operation, entry = self.stage, self.lookup.payload, self.entry
        its_old_mshr = Mux(operation.read, stage.ahead, operation.mshr)
        m.d.comb += [
            entry.number.eq(Mux(stage.take, self.in_flight.spare, its_old_mshr)),
            entry.one_hot.eq(one_hot(m, entry.number, self.config.l2.mshrs, "chosen")),
            entry.waits.eq(stage.take | stage.adopt),
            entry.waiting.eq(Mux(stage.adopt, stage.ahead, self.in_flight.spare)),
            take.eq(where(entry.one_hot, stage.take)),
            settle.eq(where(entry.one_hot, stage.settle)),
            free.eq(where(entry.one_hot, stage.free | stage.claim)),
            self.busy.eq(used.any()),
        ]
        m.d.sync += used.eq((used & ~free) | take)
        self.reserve(m, used)
        self.hold_states(m, used, take, settle, free)
        return m

    def reserve(self, m: Module, used: Signal):
        """Hold a free MSHR in reserve for the next look-up."""
        spare, spare_valid = Signal(self.config.mshr_width), Signal()
        others, first = Signal.like(used), Signal.like(used)
        spare_one_hot = one_hot(m, spare, len(used), "spare_mshr")
        m.d.comb += [
            others.eq(~used & ~where(spare_one_hot, spare_valid)),
            first.eq(lowest(others)),
            self.in_flight.spare.eq(spare),
            self.room.eq(spare_valid & others.any()),
        ]
        with m.If(self.stage.take | ~spare_valid):
            m.d.sync += [spare.eq(number_of(first)), spare_valid.eq(others.any())]

    def hold_states(self, m: Module, used: Signal, take: Signal, settle: Signal, free: Signal):
        """Hold the events that each MSHR waits for."""
        stage, outcome, retry = self.stage, self.stage.outcome, self.retry
        picked, fetching, woken, here, passing = (
            Signal.like(used, name=name)
            for name in ("picked", "fetching", "woken", "here", "passing")
        )
        for_line, for_back, ends = (
            Signal.like(used, name=name) for name in ("for_line", "for_back", "ends")
        )
        key = self.config.key_of(self.lookup.payload.line)
        same = cam_matches(m, take, key, key)
        deferred, is_held = self.defer(m, take, free, same)
        m.d.comb += [
            ends.eq(settle | free),
            retry.ready.eq(used & ~picked & (here | ~(fetching | for_line | for_back))),
            retry.waits.eq(retry.ready & (woken | (here & ~passing)) & ~where(deferred, is_held)),
            retry.here.eq(here),
            retry.passing.eq(passing),
            self.in_flight.passes.eq((same & passing).any()),
            self.in_flight.arrived.eq(~(same & used & ~(deferred & retry.ready)).any()),
        ]
        m.d.sync += [
            picked.eq((picked & ~ends) | retry.pick),
            fetching.eq((fetching & ~self.refill.ends) | where(settle, outcome.fetches)),
            here.eq((here & ~ends) | self.refill.ends | where(settle, outcome.stays)),
            passing.eq(
                (passing & ~ends)
                | where(settle, outcome.stays | (outcome.fetches & ~outcome.keeps))
            ),
            for_line.eq(
                (for_line & ~settle & ~where(same, stage.line_filled))
                | where(settle, outcome.for_line)
            ),
            for_back.eq(
                where((for_back & ~settle) | where(settle, outcome.for_back), ~self.writeback_done)
            ),
            woken.eq((woken & ~settle) | where(settle, self.is_oldest) | self.wake),
        ]

    def defer(self, m: Module, take: Signal, free: Signal, same: Signal) -> tuple[Signal, Signal]:
        """Return the MSHRs whose fills are deferred, and whether these are held now."""
        deferred, is_held, crowded = Signal.like(take, name="deferred"), Signal(), Signal()
        is_prefetch = ~self.lookup.payload.beats.any()
        if self.config.has_atomics:  # an atomic waits for its line
            is_prefetch = is_prefetch & ~self.lookup.payload.write
        m.d.sync += crowded.eq(~self.room)  # a cycle later: the choice of an MSHR follows
        m.d.comb += is_held.eq(self.lookup.valid & ~crowded)
        if self.config.l2.prefetch:
            m.d.sync += deferred.eq(
                (deferred & ~free & ~self.refill.fails & ~where(same, self.stage.adopt))
                | where(take, is_prefetch)
            )
        return deferred, is_held


def where(mshrs: Value, condition: Value) -> Value:
    """Return `mshrs` if `condition` holds, else 0."""
    return Mux(condition, mshrs, 0)
