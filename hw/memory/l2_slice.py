"""A slice of the L2 cache: the point of coherence before one channel of DRAM."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ..shared_block import SharedBlock
from ..streams import Queue
from .l2_ahead import L2Ahead
from .l2_axi import answer, check_bursts, read_dram, take_reads, take_writes, write_dram
from .l2_choice import L2Choice
from .l2_flush import L2Flush
from .l2_ids import L2Ids
from .l2_layouts import L2SliceConfig, operation_layout
from .l2_lines import L2Lines
from .l2_lookup import L2Lookup
from .l2_responder import RESPONSES, L2Responder
from .l2_sets import L2Sets
from .l2_slots import L2Slots
from .l2_write_backs import L2WriteBacks, reply_layout
from .l2_write_gather import L2WriteGather

__all__ = ["EVENTS", "L2Slice"]

#: What happens in a cycle, for counters.
EVENTS = (
    "read",  # a new read is looked up
    "write",  # a write is done
    "read_miss",  # beats of a new read are not here
    "write_miss",  # the line of a write is not here
    "slot_stall",  # a read is not taken, as all that may wait do
    "write_stall",  # a write must be tried again
    "pipeline_stall",  # a read or a write is not taken, as something else is looked up
    "write_back",  # a line goes to DRAM
    "prefetch",  # a line is read ahead
)
#: Replies that wait, and how many of those are kept for writes that are under way.
REPLIES, REPLIES_KEPT = 8, 3


class L2Slice(SharedBlock):
    """Serve bursts from the lines that are here; one order of all that is done to a line.

    | cycle | a read of what is here      | a write                   | a read of what is not   |
    |-------|-----------------------------|---------------------------|-------------------------|
    | 0     | `arready`                   | its last `wready`         | `arready`               |
    | 1     | looked up                   | offered                   | looked up               |
    | 2     | the first `rvalid`          | looked up: done           | `o.arvalid`             |
    | 3     |                             | `bvalid`                  |                         |
    | n     |                             |                           | its last beat comes     |
    | n + 4 |                             |                           | the first `rvalid`      |

    Something is looked up in every cycle: a burst that is read or written, or a line that came, so
    that bursts of one beat that miss go at half a beat per cycle; else a beat per cycle goes each
    way. A write needs no line to be read, as it is known byte by byte what was written; DRAM gets
    those bytes when the line is given up (`L2Lookup`). Where the source of an id is one of
    `no_allocate_sources`, its misses pass through. A write is replied to when every later read sees
    it, or, if it passes through, when DRAM has it; an error of DRAM is passed on to those that
    pass, and to reads, and `failed` tells of others.

    Reads of one id are answered in their order, and writes replied to; all writes are done in
    the order of their bursts. Bursts are incrementing, of whole beats, each within a line.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    i : In(config.inner)
    o : Out(config.outer)
        Ids of reads are numbers of those that wait; all writes have id 0.
    flush : In(1)
        Write back all that was written; stays until `flushed`, then falls. Meanwhile nothing new
        is taken.
    flushed : Out(1)
    failed : Out(1)
        DRAM refused a line that was written back.
    busy : Out(1)
        Something is under way, comes in, or is flushed; a clock may be withheld while it is low.
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
        """Reply to writes that are done, else to those that DRAM has; return if some are left."""
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
        """Choose what is looked up next."""
        config, choice = self.config, self.choice
        take_reads(m, config, self.i, choice.read)
        connect(m, self.slots.again, choice.again)
        connect(m, self.flusher.walk, choice.walk)
        connect(m, self.gather.write, choice.write)
        m.d.comb += [
            # Those that are under way may all have an answer, and a reply.
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
        """Look up what was asked for, and tell everybody what became of it."""
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
        """Keep what is asked for with one id in its order."""
        ids, lookup, slots, backs = self.ids, self.lookup, self.slots, self.backs
        wants = looked.beats.any()  # what nobody wants has no place in the order
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
        """Read lines ahead of those that are asked for; return whether some are to be offered."""
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
        """Do what was decided with the bytes of the line, and answer."""
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
