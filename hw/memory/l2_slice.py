"""A slice of the L2 cache: the point of coherence before one channel of DRAM."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ..axi import BURST_INCR
from ..emit import SharedBlock
from ..streams import Queue
from .l2_choice import L2Choice
from .l2_flush import L2Flush
from .l2_layouts import L2SliceConfig, access_layout, operation_layout
from .l2_lines import L2Lines
from .l2_lookup import L2Lookup
from .l2_responder import RESPONSES, L2Responder
from .l2_slots import L2Slots
from .l2_tags import L2Tags
from .l2_write_backs import L2WriteBacks, reply_layout
from .l2_write_gather import L2WriteGather

__all__ = ["EVENTS", "L2Slice"]

CACHE_BUFFERABLE = 0b0011
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
)
#: Replies that wait, and how many of those are kept for writes that are under way.
REPLIES, REPLIES_KEPT = 8, 3


class L2Slice(SharedBlock):
    """Serve bursts from the lines that are here; one order of all that is done to a line.

    | cycle | a read of what is here      | a write                   | a read of what is not   |
    |-------|-----------------------------|---------------------------|-------------------------|
    | 0     | `arready`                   | its last `wready`         | `arready`               |
    | 1     | looked up                   | offered                   | looked up               |
    | 2     | the line is read            | looked up: done           | `o.arvalid`             |
    | 3     | the line is there           | `bvalid`                  |                         |
    | 4     | the first `rvalid`          |                           |                         |
    | n     |                             |                           | its last beat comes     |
    | n + 6 |                             |                           | the first `rvalid`      |

    With more than 16 `misses` `o.arvalid` is a cycle later. Something is looked up in every cycle:
    a burst that is read or written, or a line that came, so that bursts of one beat that miss go at
    half a beat per cycle; else a beat per cycle goes each way. A write needs no line to be read, as
    it is known byte by byte what was written; DRAM gets those bytes when the line is given up
    (`L2Lookup`). Where the source of an id is one of `no_allocate_sources`, its misses pass
    through. A write is replied to when every later read sees it, or, if it passes through, when
    DRAM has it; an error of DRAM is passed on to those that pass, and to reads, and `failed` tells
    of others.

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
        m.submodules.gather = self.gather = L2WriteGather(config)
        m.submodules.choice = self.choice = L2Choice(config)
        m.submodules.tags = self.tags = L2Tags(config)
        m.submodules.lookup = self.lookup = L2Lookup(config)
        m.submodules.slots = self.slots = L2Slots(config)
        m.submodules.lines = self.lines = L2Lines(config)
        m.submodules.backs = self.backs = L2WriteBacks(config)
        m.submodules.responder = self.responder = L2Responder(config)
        m.submodules.flusher = self.flusher = L2Flush(config)

        looked, looked_valid = Signal(operation_layout(config), reset_less=True), Signal()
        access_valid = Signal()
        m.d.sync += [looked_valid.eq(self.choice.asks), looked.eq(self.choice.asked)]
        self.take_writes(m)
        has_replies = self.reply(m)
        self.ask(m, platform)
        self.look_up(m, looked, looked_valid)
        self.access(m, access_valid)
        self.reach_dram(m)
        under_way = Cat(
            looked_valid, access_valid, self.lines.done, self.slots.busy, self.backs.busy
        ).any()
        m.d.comb += [
            self.flusher.flush.eq(self.flush),
            self.flushed.eq(self.flusher.flushed),
            self.flusher.idle.eq(
                ~Cat(looked_valid, access_valid, self.lines.done, self.slots.busy).any()
            ),
            self.flusher.settled.eq(~self.backs.busy),
            self.failed.eq(self.backs.failed),
            self.busy.eq(
                Cat(
                    (under_way, self.tags.sweeping, self.gather.busy, has_replies, self.flush),
                    (self.i.arvalid, self.i.awvalid, self.i.wvalid, self.i.rvalid, self.i.bvalid),
                    (self.o.arvalid, self.o.awvalid, self.o.wvalid, self.o.rvalid, self.o.bvalid),
                ).any()
            ),
        ]
        return m

    def line_of(self, address: Value) -> Value:
        """Return the line of an address."""
        return address[exact_log2(self.config.l2.line_bytes) :]

    def beat_of(self, address: Value) -> Value:
        """Return the number of an address's beat in its line."""
        return address[exact_log2(self.config.beat_bytes) :][: self.config.beat_width]

    def take_writes(self, m: Module):
        """Take write bursts and their beats."""
        i, gather = self.i, self.gather
        m.d.comb += [
            gather.burst.valid.eq(i.awvalid),
            gather.burst.payload.id.eq(i.awid),
            gather.burst.payload.line.eq(self.line_of(i.awaddr)),
            gather.burst.payload.first.eq(self.beat_of(i.awaddr)),
            i.awready.eq(gather.burst.ready),
            gather.beat.valid.eq(i.wvalid),
            gather.beat.payload.data.eq(i.wdata),
            gather.beat.payload.strobes.eq(i.wstrb),
            gather.beat.payload.last.eq(i.wlast),
            i.wready.eq(gather.beat.ready),
        ]

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

    def ask(self, m: Module, platform):
        """Choose what is looked up next; see that a burst lies in its line."""
        i, config, choice = self.i, self.config, self.choice
        read, first = choice.read.payload, Signal(config.beat_width)
        numbers = range(config.beats)
        connect(m, self.slots.again, choice.again)
        connect(m, self.flusher.walk, choice.walk)
        connect(m, self.gather.write, choice.write)
        m.d.comb += [
            first.eq(self.beat_of(i.araddr)),
            choice.read.valid.eq(i.arvalid),
            i.arready.eq(choice.read.ready),
            read.read.eq(1),
            read.line.eq(self.line_of(i.araddr)),
            read.id.eq(i.arid),
            read.beats.eq(Cat((n >= first) & (n <= first + i.arlen) for n in numbers)),
            read.allocates.eq(config.allocates(i.arid)),
            # Those that are under way may all have an answer, and a reply.
            choice.may_answer.eq(self.responder.level < RESPONSES - 3),
            choice.may_reply.eq(self.replies.level < REPLIES - REPLIES_KEPT),
            choice.may_wait.eq(self.slots.room),
            choice.holds.eq(self.flusher.holds),
            choice.sweeping.eq(self.tags.sweeping),
            choice.done.eq(self.lookup.done),
            choice.undone.eq(self.lookup.undone),
            self.tags.read.eq(choice.asks),
            self.tags.read_set.eq(config.set_of(choice.asked.line)),
            self.events.slot_stall.eq(choice.slot_stall),
            self.events.pipeline_stall.eq(choice.pipeline_stall),
        ]
        if platform is None:
            for letter in ("ar", "aw"):
                last = self.beat_of(getattr(i, f"{letter}addr")) + getattr(i, f"{letter}len")
                m.d.sync += Assert(
                    ~getattr(i, f"{letter}valid") | (last < config.beats),
                    "a burst goes beyond its line",
                )

    def look_up(self, m: Module, looked, looked_valid):
        """Look up what was asked for, and tell everybody what became of it."""
        lookup, slots, backs, events = self.lookup, self.slots, self.backs, self.events
        m.d.comb += [
            lookup.valid.eq(looked_valid),
            lookup.operation.eq(looked),
            lookup.entries.eq(self.tags.entries),
            self.tags.write.eq(lookup.write),
            self.tags.written.eq(lookup.written),
            slots.operation.eq(looked),
            lookup.is_ordered.eq(slots.is_ordered),
            lookup.follows.eq(slots.follows),
            lookup.passes.eq(slots.passes),
            slots.take.eq(lookup.take),
            slots.settle.eq(lookup.settle),
            slots.outcome.eq(lookup.outcome),
            slots.free.eq(lookup.free),
            slots.line_came.eq(lookup.line_came),
            slots.back_came.eq(backs.came),
            backs.line.eq(looked.line),
            backs.id.eq(looked.id),
            lookup.going.eq(backs.going),
            lookup.owes.eq(backs.owes),
            lookup.room.eq(backs.room),
            lookup.back.eq(backs.number),
            backs.put.eq(lookup.put),
            backs.what.eq(lookup.what),
            self.gather.done.eq(lookup.done),
            self.gather.undone.eq(lookup.undone),
            self.flusher.looked.eq(looked_valid & looked.walk),
            self.flusher.clean.eq(lookup.clean),
            events.read.eq(looked_valid & looked.read),
            events.write.eq(lookup.done),
            events.read_miss.eq(lookup.read_miss),
            events.write_miss.eq(lookup.write_miss),
            events.write_stall.eq(lookup.undone),
            events.write_back.eq(lookup.write_back),
        ]

    def access(self, m: Module, access_valid: Signal):
        """Do what was decided with the bytes of the line, and answer."""
        lines, slots, gather, backs = self.lines, self.slots, self.gather, self.backs
        access = Signal(access_layout(self.config), reset_less=True)
        m.d.sync += [access_valid.eq(self.lookup.accesses), access.eq(self.lookup.access)]
        last, response = lines.last, self.responder.i
        answers_from = Mux(last.from_dram, slots.line, lines.becomes)
        masked = Cat(
            slots.codes.word_select(n, 2) & ~last.full[n].replicate(2)
            for n in range(self.config.beats)
        )
        m.d.comb += [
            lines.valid.eq(access_valid),
            lines.access.eq(access),
            slots.read.eq(access_valid & (access.fills | access.from_dram)),
            slots.read_slot.eq(access.slot),
            gather.read.eq(access_valid & (access.writes | access.passes)),
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
            self.i.rvalid.eq(self.responder.o.valid),
            self.i.rid.eq(self.responder.o.payload.id),
            self.i.rdata.eq(self.responder.o.payload.data),
            self.i.rresp.eq(self.responder.o.payload.code),
            self.i.rlast.eq(self.responder.o.payload.last),
            self.responder.o.ready.eq(self.i.rready),
        ]

    def reach_dram(self, m: Module):
        """Give AXI what is read and written there, and take what comes."""
        o, slots, backs, config = self.o, self.slots, self.backs, self.config
        fetch, address, beat = slots.fetch.payload, backs.address.payload, backs.beat.payload
        offset = C(0, exact_log2(config.beat_bytes))
        for letter in ("ar", "aw"):
            m.d.comb += [
                getattr(o, f"{letter}size").eq(exact_log2(config.beat_bytes)),
                getattr(o, f"{letter}burst").eq(BURST_INCR),
                getattr(o, f"{letter}cache").eq(CACHE_BUFFERABLE),
            ]
        m.d.comb += [
            o.arvalid.eq(slots.fetch.valid),
            slots.fetch.ready.eq(o.arready),
            o.arid.eq(fetch.slot),
            o.araddr.eq(Cat(offset, fetch.first, fetch.line)),
            o.arlen.eq(fetch.more),
            o.rready.eq(1),  # each beat has its place
            slots.came_valid.eq(o.rvalid),
            slots.came.slot.eq(o.rid),
            slots.came.data.eq(o.rdata),
            slots.came.code.eq(o.rresp),
            slots.came.last.eq(o.rlast),
            o.awvalid.eq(backs.address.valid),
            backs.address.ready.eq(o.awready),
            o.awaddr.eq(Cat(offset, address.first, address.line)),
            o.awlen.eq(address.more),
            o.wvalid.eq(backs.beat.valid),
            backs.beat.ready.eq(o.wready),
            o.wdata.eq(beat.data),
            o.wstrb.eq(beat.strobes),
            o.wlast.eq(beat.last),
            backs.response.valid.eq(o.bvalid),
            backs.response.payload.eq(o.bresp),
            o.bready.eq(backs.response.ready),
        ]
