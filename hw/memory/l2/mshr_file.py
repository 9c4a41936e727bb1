"""MSHRs of an L2 slice, with their refill data."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter
from ...lib.one_hot import lowest, number_of, one_hot
from ...lib.sram import Sram
from .fetches import L2Fetches, fetch_layout
from .layouts import L2SliceConfig, operation_layout
from .mshr_states import L2MshrStates
from .refill import L2Refill, arrival_layout
from .signatures import MshrUpdateSignature

__all__ = ["L2MshrFile", "waiting_layout"]


def waiting_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a read in an MSHR: id, line, beats, and whether a miss allocates."""
    return data.StructLayout({
        "line": config.l2.line_width,
        "id": config.id_width,
        "ticket": config.ticket_width,
        "beats": config.beats,
        "allocates": 1,
    })


class L2MshrFile(SharedBlock):
    """MSHRs: hold reads until they are answered, fetch their lines, and issue retries and fills.

    | cycle | a read in an MSHR                                                          |
    |-------|----------------------------------------------------------------------------|
    | 0     | `take` and `settle`                                                        |
    | 1     | `fetch` of its line is offered                                             |
    | n     | the last beat arrives                                                      |
    | n + 2 | `again` is offered as a fill                                               |

    Reads of one id are answered in order: each is woken when its predecessor is chosen, and when
    that is answered. Ready MSHRs are served round-robin, one per cycle. The fill of a prefetched
    line is deferred (`L2MshrStates`), so that the first demand read of the line can claim it.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    operation : In(operation_layout(config))
        Operation that is looked up. The members below refer to it.
    stage : In(MshrUpdateSignature(config))
    writeback_done : In(1)
        A write-back reached DRAM.
    idle : In(1)
        Look-ups are available for deferred fills.
    ticket, youngest, is_oldest, leads : In
        From `L2Ids`: its ticket if it is taken, the MSHR of the last read taken of its id,
        whether no read of its id is before it, and whether one is after it.
    mshr : Out(config.mshr_width)
        MSHR of the read if it is taken or takes one over.
    room : Out(1)
        A read may be taken in the next cycle, whatever happens in this one.
    busy : Out(1)
        An MSHR is in use.
    again : Out(stream.Signature(operation_layout(config)))
    fetch : Out(stream.Signature(fetch_layout(config)))
    arrival_valid : In(1)
    arrival : In(arrival_layout(config))
    read : In(1)
        Data that arrived for MSHR `read_mshr` is at `line` in the next cycle.
    read_mshr : In(config.mshr_width)
    line : Out(8 * config.l2.line_bytes)
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__(
            {name: In(1) for name in ("writeback_done", "idle", "is_oldest", "leads")}
            | {name: In(1) for name in ("arrival_valid", "read")}
            | {name: In(config.mshr_width) for name in ("youngest", "read_mshr")}
            | {name: Out(1) for name in ("room", "busy")}
            | {
                "operation": In(operation_layout(config)),
                "stage": In(MshrUpdateSignature(config)),
                "ticket": In(config.ticket_width),
                "mshr": Out(config.mshr_width),
                "again": Out(stream.Signature(operation_layout(config))),
                "fetch": Out(stream.Signature(fetch_layout(config))),
                "arrival": In(arrival_layout(config)),
                "line": Out(8 * config.l2.line_bytes),
            }
        )

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.states = states = L2MshrStates(config)
        m.submodules.refill = self.refill = refill = L2Refill(config)
        self.keep_spare(m, states.used)
        crowded = Signal()  # a cycle later: the choice of an MSHR follows
        m.d.sync += crowded.eq(~self.room)
        its_mshr, its_old_mshr = Signal(config.mshr_width), Signal(config.mshr_width)
        self.waits, self.follows = Signal(name="waits"), Signal(name="follows")
        chosen = one_hot(m, its_mshr, config.l2.mshrs, "chosen")
        m.d.comb += [
            its_old_mshr.eq(Mux(self.operation.read, self.stage.ahead, self.operation.mshr)),
            its_mshr.eq(Mux(self.stage.take, self.stage.spare, its_old_mshr)),
            self.mshr.eq(Mux(self.stage.adopt, self.stage.ahead, self.stage.spare)),
            self.waits.eq(self.stage.take | self.stage.adopt),
            self.follows.eq(self.waits & ~self.is_oldest),
            self.stage.passes.eq(states.passes),
            self.stage.arrived.eq(states.arrived),
            self.busy.eq(states.used.any()),
            states.line.eq(self.operation.line),
            states.take.eq(Mux(self.stage.take, chosen, 0)),
            states.settle.eq(Mux(self.stage.settle, chosen, 0)),
            states.free.eq(Mux(self.stage.free | self.stage.claim, chosen, 0)),
            states.ahead.eq(~self.operation.beats.any()),
            states.adopt.eq(self.stage.adopt),
            # Deferred fills make room for reads that wait for an MSHR.
            states.idle.eq(self.idle | crowded),
            states.outcome.eq(self.stage.outcome),
            states.is_oldest.eq(self.is_oldest),
            states.line_filled.eq(self.stage.line_filled),
            states.writeback_done.eq(self.writeback_done),
            states.refilled.eq(refill.ends),
            states.failed.eq(refill.fails),
            refill.arrival_valid.eq(self.arrival_valid),
            refill.arrival.eq(self.arrival),
            refill.read.eq(self.read),
            refill.read_mshr.eq(self.read_mshr),
            self.line.eq(refill.line),
        ]
        self.read_lines(m, its_mshr, chosen)
        behind = self.choose(m, states, platform)
        m.d.comb += states.wake.eq(behind | self.wake(m))
        return m

    def keep_spare(self, m: Module, used: Signal):
        """Hold a free MSHR in reserve for the next look-up."""
        spare, spare_valid = Signal(self.config.mshr_width), Signal()
        others, first = Signal.like(used), Signal.like(used)
        kept = one_hot(m, spare, len(used), "spare_mshr")
        m.d.comb += [
            others.eq(~used & ~Mux(spare_valid, kept, 0)),
            first.eq(lowest(others)),
            self.stage.spare.eq(spare),
            self.room.eq(spare_valid & others.any()),
        ]
        with m.If(self.stage.take | ~spare_valid):
            m.d.sync += [spare.eq(number_of(first)), spare_valid.eq(others.any())]

    def read_lines(self, m: Module, its_mshr: Signal, chosen: Signal):
        """Fetch from DRAM the whole line if it is kept, else the requested beats."""
        config, beats, keeps = self.config, self.operation.beats, self.stage.outcome.keeps
        m.submodules.fetches = fetches = L2Fetches(config)
        fetch, fetches_it = fetches.i.payload, Signal()
        first = Signal(config.beats)
        needed = sum((beats[n] for n in range(1, config.beats)), start=beats[0])
        m.d.comb += [
            first.eq(lowest(beats)),
            fetches_it.eq(self.stage.settle & self.stage.outcome.fetches),
            fetches.i.valid.eq(fetches_it),
            fetch.mshr.eq(its_mshr),
            fetch.line.eq(self.operation.line),
            fetch.first.eq(Mux(keeps, 0, number_of(first))),
            fetch.more.eq(Mux(keeps, config.beats - 1, needed - 1)),
            self.refill.begin.eq(Mux(fetches_it, chosen, 0)),
            self.refill.first.eq(fetch.first),
        ]
        connect(m, fetches.o, flipped(self.fetch))

    def choose(self, m: Module, states: L2MshrStates, platform) -> Value:
        """Offer an MSHR for look-up; return the successor of the one chosen in the last cycle.

        An MSHR that is claimed is never chosen: its fill is deferred, and a read that claims was
        accepted in a cycle with room, so that deferred fills request no look-up in the next.
        """
        config, again, operation = self.config, self.again.payload, self.operation
        m.submodules.turns = turns = Arbiter(config.l2.mshrs)
        layout = waiting_layout(config)
        m.submodules.waiting = store = Sram(depth=config.l2.mshrs, width=layout.size)
        written, waiting = Signal(layout), Signal(layout)
        again_valid, fills, keeps = Signal(), Signal(), Signal()
        mshr = Signal(config.mshr_width, reset_less=True)
        moves, takes_over, picks = Signal(), Signal(), Signal()
        pick = Signal(config.mshr_width)
        chosen, chains = Signal(config.l2.mshrs), Signal()
        behind, behind_mshr = self.behind(m, picks, pick)
        m.d.comb += [
            turns.requests.eq(states.waits),
            chains.eq((behind & states.ready).any()),
            chosen.eq(Mux(chains, behind, turns.grant)),
            pick.eq(Mux(chains, behind_mshr, number_of(turns.grant))),
            moves.eq(~again_valid | self.again.ready),
            # Skip an MSHR that is adopted: its new read is stored in this cycle.
            takes_over.eq(self.stage.adopt & (pick == self.stage.ahead)),
            turns.taken.eq(moves & ~chains & ~takes_over),
            picks.eq(moves & (chains | states.waits.any()) & ~takes_over),
            states.pick.eq(Mux(moves & ~takes_over, chosen, 0)),
            *(written[name].eq(operation[name]) for name in ("line", "id", "beats", "allocates")),
            written.ticket.eq(self.ticket),
            store.write_mask.eq(self.waits),
            store.write_address.eq(self.mshr),
            store.write_data.eq(written),
            store.read_enable.eq(picks),
            store.read_address.eq(pick),
            Value.cast(waiting).eq(store.read_data),
            self.refill.read_codes.eq(picks),
            self.refill.codes_mshr.eq(pick),
            self.again.valid.eq(again_valid),
            *(again[name].eq(waiting[name]) for name in layout.members),
            again.retry.eq(~fills),
            again.fill.eq(fills),
            again.keeps.eq(keeps),
            again.codes.eq(self.refill.codes),
            again.mshr.eq(mshr),
        ]
        if platform is None:
            claims = self.stage.claim & (pick == self.stage.ahead)
            m.d.sync += Assert(~(picks & claims), "the MSHR of a claimed line is chosen")
        with m.If(moves):
            m.d.sync += again_valid.eq(picks)
        with m.If(picks):
            m.d.sync += [
                mshr.eq(pick),
                fills.eq((chosen & states.here).any()),
                keeps.eq((chosen & states.here & ~states.passing).any()),
            ]
        return behind

    def behind(self, m: Module, picks: Signal, pick: Signal) -> tuple[Value, Value]:
        """Return the successor of the MSHR chosen in the last cycle, one-hot and as a number."""
        mshrs, width = self.config.l2.mshrs, self.config.mshr_width
        m.submodules.behind = behind = Sram(depth=mshrs, width=width + 1)
        known = Signal()
        m.d.comb += [
            behind.write_mask.eq(self.follows | self.stage.free),
            behind.write_address.eq(Mux(self.stage.free, self.operation.mshr, self.youngest)),
            behind.write_data.eq(Cat(self.mshr, ~self.stage.free)),  # a freed MSHR has no successor
            behind.read_enable.eq(picks & ~(self.follows & (self.youngest == pick))),
            behind.read_address.eq(pick),
        ]
        m.d.sync += known.eq(behind.read_enable)
        mshr = behind.read_data[:width]
        chosen = one_hot(m, mshr, mshrs, "behind_mshr")
        return Mux(known & behind.read_data[width], chosen, 0), mshr

    def wake(self, m: Module) -> Value:
        """Return the successor of the MSHR answered in the last cycle, one-hot.

        A second copy of the links: an answer and a choice may read different MSHRs in one cycle.
        """
        mshrs, width = self.config.l2.mshrs, self.config.mshr_width
        m.submodules.behind_answered = behind = Sram(depth=mshrs, width=width)
        known = Signal()
        m.d.comb += [
            behind.write_mask.eq(self.follows),
            behind.write_address.eq(self.youngest),
            behind.write_data.eq(self.mshr),
            behind.read_enable.eq(self.stage.free & self.leads),
            behind.read_address.eq(self.operation.mshr),
        ]
        m.d.sync += known.eq(behind.read_enable)
        return Mux(known, one_hot(m, behind.read_data, mshrs, "behind_answered_mshr"), 0)
