"""L2 slice: the point of coherence before one channel of DRAM."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue
from .arbiter import L2Choice
from .axi_channels import answer, check_bursts, read_dram, take_reads, take_writes, write_dram
from .data_array import L2Lines
from .flush import L2Flush
from .id_table import L2Ids
from .layouts import L2SliceConfig, operation_layout
from .mshr_file import L2Slots
from .prefetcher import L2Ahead
from .responder import RESPONSES, L2Responder
from .tag_array import L2Sets
from .tag_stage import L2Lookup
from .write_gather import L2WriteGather
from .writeback_buffer import L2WriteBacks, reply_layout

__all__ = ["EVENTS", "L2Slice"]

#: Events of a cycle, for counters.
EVENTS = (
    "read",  # a new read is looked up
    "write",  # a write is done
    "read_miss",  # beats of a new read are not valid
    "write_miss",  # the line of a write is not present
    "slot_stall",  # a read stalls as no MSHR is free
    "write_stall",  # a write must be retried
    "pipeline_stall",  # a read or a write stalls as another operation is looked up
    "write_back",  # a dirty line is written to DRAM
    "prefetch",  # a prefetch begins
)
#: Entries of the reply queue, and those reserved for writes in progress.
REPLIES, REPLIES_KEPT = 8, 3


class L2Slice(SharedBlock):
    """L2 slice: write-back, set-associative, with one order of all accesses to a line.

    | cycle | a read hit                  | a write                   | a read miss             |
    |-------|-----------------------------|---------------------------|-------------------------|
    | 0     | `arready`                   | its last `wready`         | `arready`               |
    | 1     | looked up                   | offered                   | looked up               |
    | 2     | the first `rvalid`          | looked up: done           | `o.arvalid`             |
    | 3     |                             | `bvalid`                  |                         |
    | n     |                             |                           | its last beat arrives   |
    | n + 4 |                             |                           | the first `rvalid`      |

    One operation is looked up per cycle: a read burst, a write burst or a refill. Misses of one
    beat thus reach half a beat per cycle; all else reaches one beat per cycle in each direction.
    A write reads no line, as each byte has its dirty bit. Dirty bytes are written to DRAM when
    the line is evicted (`L2Lookup`). Misses of the sources in `no_allocate_sources` bypass the
    cache. A write is replied to when every later read sees it or, if it bypasses the cache, when
    DRAM has it. A DRAM error is returned to reads and to bypassing writes; `failed` reports all
    others.

    Reads of one id are answered in order, and its writes are replied to in order. All writes are
    done in the order of their bursts. Bursts are incrementing, of whole beats, within a line.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    i : In(config.inner)
    o : Out(config.outer)
        Ids of reads are MSHR numbers. All writes have id 0.
    flush : In(1)
        Write back all dirty lines. Held until `flushed`, then released. No new burst is
        accepted meanwhile.
    flushed : Out(1)
    failed : Out(1)
        DRAM reported an error for a line written back.
    busy : Out(1)
        An operation is in progress, arrives, or is flushed. The clock may be gated while low.
    events : Out(StructLayout of 1 bit each, EVENTS)
    """

    i: Any
    o: Any
    flush: Signal
    flushed: Signal
    failed: Signal
    busy: Signal
    events: data.View

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "i": In(config.inner),
            "o": Out(config.outer),
            "flush": In(1),
            "flushed": Out(1),
            "failed": Out(1),
            "busy": Out(1),
            "events": Out(data.StructLayout(dict.fromkeys(EVENTS, 1))),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        if platform is None:
            check_bursts(m, config, self.i)
        m.submodules.gather = self.gather = L2WriteGather(config)
        m.submodules.choice = self.choice = L2Choice(config)
        m.submodules.sets = self.sets = L2Sets(config)
        m.submodules.ids = self.ids = L2Ids(config)
        m.submodules.lookup = self.lookup = L2Lookup(config)
        m.submodules.slots = self.slots = L2Slots(config)
        m.submodules.lines = self.lines = L2Lines(config)
        m.submodules.backs = self.backs = L2WriteBacks(config)
        m.submodules.responder = self.responder = L2Responder(config)
        m.submodules.flusher = self.flusher = L2Flush(config)

        looked, looked_valid = Signal(operation_layout(config), reset_less=True), Signal()
        m.d.sync += [looked_valid.eq(self.choice.asks), looked.eq(self.choice.asked)]
        take_writes(m, config, self.i, self.gather)
        has_replies = self.reply(m)
        self.ask(m)
        self.look_up(m, looked, looked_valid)
        leads = self.read_ahead(m, looked, looked_valid)
        self.access(m)
        answer(m, self.i, self.responder.o)
        read_dram(m, config, self.o, self.slots)
        write_dram(m, config, self.o, self.backs)
        under_way = Cat(looked_valid, self.lines.done, self.slots.busy).any()
        m.d.comb += [
            self.flusher.flush.eq(self.flush),
            self.flushed.eq(self.flusher.flushed),
            self.flusher.idle.eq(~under_way),
            self.flusher.settled.eq(~self.backs.busy),
            self.failed.eq(self.backs.failed),
            self.busy.eq(
                Cat(
                    (under_way, self.backs.busy, self.sets.sweeping, self.ids.sweeping),
                    (self.gather.busy, has_replies, self.flush, leads),
                    (self.i.arvalid, self.i.awvalid, self.i.wvalid, self.i.rvalid, self.i.bvalid),
                    (self.o.arvalid, self.o.awvalid, self.o.wvalid, self.o.rvalid, self.o.bvalid),
                ).any()
            ),
        ]
        return m

    def reply(self, m: Module) -> Value:
        """Reply to completed writes, then to those that DRAM completed; return if any are left."""
        i, lookup, backs = self.i, self.lookup, self.backs
        m.submodules.replies = self.replies = replies = Queue(reply_layout(self.config), REPLIES)
        late = backs.reply
        m.d.comb += [
            replies.i.valid.eq(lookup.replies | (late.valid & late.ready)),
            replies.i.payload.id.eq(Mux(lookup.replies, lookup.operation.id, late.payload.id)),
            replies.i.payload.code.eq(Mux(lookup.replies, 0, late.payload.code)),
            late.ready.eq(~lookup.replies & (replies.level < REPLIES - REPLIES_KEPT)),
            i.bvalid.eq(replies.o.valid),
            i.bid.eq(replies.o.payload.id),
            i.bresp.eq(replies.o.payload.code),
            replies.o.ready.eq(i.bready),
        ]
        return replies.o.valid

    def ask(self, m: Module):
        """Connect the arbiter of the next operation."""
        config, choice = self.config, self.choice
        take_reads(m, config, self.i, choice.read)
        connect(m, self.slots.again, choice.again)
        connect(m, self.flusher.walk, choice.walk)
        connect(m, self.gather.write, choice.write)
        m.d.comb += [
            # Each operation in progress may need a response, and a reply.
            choice.may_answer.eq(self.responder.level < RESPONSES - 2),
            choice.may_reply.eq(self.replies.level < REPLIES - REPLIES_KEPT),
            choice.may_wait.eq(self.slots.room),
            choice.holds.eq(self.flusher.holds | self.ids.sweeping),
            choice.sweeping.eq(self.sets.sweeping),
            choice.done.eq(self.lookup.done),
            choice.undone.eq(self.lookup.undone),
            self.sets.ask.eq(choice.asks),
            self.sets.asked.eq(choice.asked.line),
            self.ids.read.eq(choice.asks & ~choice.asked.walk),
            self.ids.read_id.eq(choice.asked.id),
            self.events.slot_stall.eq(choice.slot_stall),
            self.events.pipeline_stall.eq(choice.pipeline_stall),
        ]

    def look_up(self, m: Module, looked, looked_valid):
        """Connect the tag stage to the parts that it reads and updates."""
        lookup, slots, backs, events = self.lookup, self.slots, self.backs, self.events
        self.order(m, looked)
        m.d.comb += [
            *(part.valid.eq(looked_valid) for part in (self.sets, lookup)),
            *(part.operation.eq(looked) for part in (self.sets, lookup, slots)),
            lookup.found.eq(self.sets.found),
            self.sets.change.eq(lookup.change),
            lookup.passes.eq(slots.passes),
            slots.take.eq(lookup.take),
            slots.adopt.eq(lookup.adopt),
            slots.adopted.eq(lookup.adopted),
            lookup.spare.eq(slots.spare),
            slots.settle.eq(lookup.settle),
            slots.outcome.eq(lookup.outcome),
            slots.free.eq(lookup.free),
            slots.line_came.eq(lookup.line_came),
            slots.back_came.eq(backs.came),
            backs.line.eq(looked.line),
            lookup.going.eq(backs.going),
            lookup.room.eq(backs.room),
            lookup.back.eq(backs.number),
            backs.put.eq(lookup.put),
            backs.what.eq(lookup.what),
            self.gather.done.eq(lookup.done),
            self.gather.undone.eq(lookup.undone),
            self.flusher.looked.eq(looked_valid & looked.walk),
            self.flusher.clean.eq(lookup.clean),
            self.flusher.written.eq(lookup.access.writes),
            self.flusher.line.eq(looked.line),
            events.read.eq(looked_valid & looked.read & looked.beats.any()),
            events.write.eq(lookup.done),
            events.write_stall.eq(lookup.undone),
            *(events[n].eq(getattr(lookup, n)) for n in ("read_miss", "write_miss", "write_back")),
        ]

    def order(self, m: Module, looked):
        """Connect the order of each id."""
        ids, lookup, slots, backs = self.ids, self.lookup, self.slots, self.backs
        wants = looked.beats.any()  # prefetches take no part in the order
        m.d.comb += [
            ids.ticket.eq(looked.ticket),
            ids.slot.eq(looked.slot),
            ids.take.eq((lookup.take | lookup.adopt) & wants),
            ids.taken_slot.eq(slots.slot),
            ids.free.eq(lookup.free & wants),
            ids.promise.eq(lookup.what.owes),
            ids.back.eq(backs.number),
            ids.oldest_back.eq(backs.oldest),
            lookup.is_ordered.eq(ids.is_ordered),
            lookup.follows.eq(ids.follows & wants),
            lookup.owes.eq(ids.owes),
            slots.ticket.eq(ids.next_ticket),
            slots.youngest.eq(ids.youngest),
            slots.in_turn.eq(Mux(looked.read, ids.is_ordered, ~ids.follows) | ~wants),
            slots.leads.eq(ids.leads & wants),
        ]

    def read_ahead(self, m: Module, looked, looked_valid) -> Value:
        """Connect the prefetcher, if any; return whether a prefetch is to be offered."""
        if not self.config.l2.prefetch:
            return C(0, 1)
        m.submodules.ahead = ahead = L2Ahead(self.config)
        wants = looked.beats.any()
        connect(m, ahead.o, self.choice.ahead)
        m.d.comb += [
            ahead.asks.eq(looked_valid & looked.read & looked.allocates & wants),
            ahead.missed.eq(self.lookup.read_miss),
            ahead.line.eq(looked.line),
            ahead.begun.eq(self.lookup.take & ~wants),
            ahead.came.eq((self.lookup.free & ~wants) | self.lookup.adopt),
            ahead.forget.eq(self.flush),
            self.events.prefetch.eq(ahead.begun),
        ]
        return ahead.busy

    def access(self, m: Module):
        """Connect the data array, its sources and destinations, and the responses."""
        lines, slots, gather, backs = self.lines, self.slots, self.gather, self.backs
        access, accesses = self.lookup.access, self.lookup.accesses
        last, response = lines.last, self.responder.i
        answers_from = Mux(last.from_dram, slots.line, lines.becomes)
        masked = Cat(
            last.codes.word_select(n, 2) & ~last.full[n].replicate(2)
            for n in range(self.config.beats)
        )
        m.d.comb += [
            lines.valid.eq(accesses),
            lines.access.eq(access),
            slots.read.eq(accesses & (access.fills | access.from_dram)),
            slots.read_slot.eq(access.slot),
            gather.read.eq(accesses & (access.writes | access.passes)),
            gather.read_entry.eq(access.entry),
            lines.fill_data.eq(slots.line),
            lines.write_data.eq(gather.data),
            lines.write_strobes.eq(gather.strobes),
            backs.store.eq(lines.done & last.pushes),
            backs.store_number.eq(last.back),
            backs.store_data.eq(Mux(last.passes, gather.data, lines.line)),
            backs.store_strobes.eq(Mux(last.passes, gather.strobes, lines.dirty)),
            response.valid.eq(lines.done & last.responds),
            response.payload.id.eq(last.id),
            response.payload.beats.eq(last.beats),
            response.payload.data.eq(answers_from),
            response.payload.codes.eq(masked),
        ]
