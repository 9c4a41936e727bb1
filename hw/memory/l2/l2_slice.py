"""L2 slice: the point of coherence before one channel of DRAM."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue
from .arbiter import L2Arbiter
from .axi_channels import answer, check_bursts, read_dram, take_reads, take_writes, write_dram
from .background import read_ahead, write_early
from .data_array import L2DataArray
from .flush import L2Flush
from .id_table import L2Ids
from .layouts import L2SliceConfig, operation_layout
from .mshr_file import L2MshrFile
from .responder import RESPONSES, L2Responder
from .tag_array import L2TagArray
from .tag_stage import L2TagStage
from .write_gather import L2WriteGather
from .writeback_buffer import L2WritebackBuffer, reply_layout

__all__ = ["EVENTS", "L2Slice"]

#: Events of a cycle, for counters.
EVENTS = (
    "read",  # a new read is looked up
    "write",  # a write is done
    "read_miss",  # beats of a new read are not valid
    "write_miss",  # the line of a write is not present
    "mshr_stall",  # a read stalls as no MSHR is free
    "write_stall",  # a write must be retried
    "pipeline_stall",  # a read or a write stalls as another operation is looked up
    "write_back",  # a dirty line is written to DRAM
    "prefetch",  # a prefetch begins
)
#: High bits of a set's number, and of an id, that are compared with those of their sweep.
CLEARED_TOGETHER = 3
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
    the line is evicted (`L2TagStage`). Misses of the sources in `no_allocate_sources` bypass the
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
        m.submodules.arbiter = self.arbiter = L2Arbiter(config)
        m.submodules.tag_array = self.tag_array = L2TagArray(config)
        m.submodules.ids = self.ids = L2Ids(config)
        m.submodules.tag_stage = self.tag_stage = L2TagStage(config)
        m.submodules.mshrs = self.mshrs = L2MshrFile(config)
        m.submodules.data_array = self.data_array = L2DataArray(config)
        m.submodules.writebacks = self.writebacks = L2WritebackBuffer(config)
        m.submodules.responder = self.responder = L2Responder(config)
        m.submodules.flusher = self.flusher = L2Flush(config)

        lookup, lookup_valid = Signal(operation_layout(config), reset_less=True), Signal()
        m.d.sync += [lookup_valid.eq(self.arbiter.lookup_valid), lookup.eq(self.arbiter.lookup)]
        m.d.comb += self.mshrs.idle.eq(~lookup_valid)
        take_writes(m, config, self.i, self.gather)
        has_replies = self.reply(m)
        self.arbitrate(m)
        self.connect_lookup(m, lookup, lookup_valid)
        leads = read_ahead(m, self, lookup, lookup_valid)
        cleans, is_settled = write_early(m, self, lookup, lookup_valid)
        self.access(m)
        answer(m, self.i, self.responder.o)
        read_dram(m, config, self.o, self.mshrs)
        write_dram(m, config, self.o, self.writebacks)
        under_way = Cat(lookup_valid, self.data_array.done, self.mshrs.busy).any()
        m.d.comb += [
            self.flusher.flush.eq(self.flush),
            self.flushed.eq(self.flusher.flushed),
            self.flusher.idle.eq(~under_way & is_settled),
            self.flusher.settled.eq(~self.writebacks.busy),
            self.failed.eq(self.writebacks.failed),
            self.busy.eq(
                Cat(
                    (under_way, self.writebacks.busy, self.tag_array.sweeping, self.ids.sweeping),
                    (self.gather.busy, has_replies, self.flush, leads, cleans),
                    (self.i.arvalid, self.i.awvalid, self.i.wvalid, self.i.rvalid, self.i.bvalid),
                    (self.o.arvalid, self.o.awvalid, self.o.wvalid, self.o.rvalid, self.o.bvalid),
                ).any()
            ),
        ]
        return m

    def reply(self, m: Module) -> Value:
        """Reply to completed writes, then to those that DRAM completed; return if any are left."""
        i, tag_stage, writebacks = self.i, self.tag_stage, self.writebacks
        m.submodules.replies = self.replies = replies = Queue(reply_layout(self.config), REPLIES)
        late = writebacks.reply
        m.d.comb += [
            replies.i.valid.eq(tag_stage.replies | (late.valid & late.ready)),
            replies.i.payload.id.eq(
                Mux(tag_stage.replies, tag_stage.operation.id, late.payload.id)
            ),
            replies.i.payload.code.eq(Mux(tag_stage.replies, 0, late.payload.code)),
            late.ready.eq(~tag_stage.replies & (replies.level < REPLIES - REPLIES_KEPT)),
            i.bvalid.eq(replies.o.valid),
            i.bid.eq(replies.o.payload.id),
            i.bresp.eq(replies.o.payload.code),
            replies.o.ready.eq(i.bready),
        ]
        return replies.o.valid

    def is_cleared(self, read) -> Value:
        """Return whether the sets and ids of a read's groups have been cleared after a reset."""
        tables = ((self.tag_array, self.config.set_of(read.line)), (self.ids, read.id))
        cleared = []
        for table, row in tables:
            group = slice(-min(CLEARED_TOGETHER, len(row)), None)
            cleared.append(~table.sweeping | (row[group] < table.swept[group]))
        return Cat(cleared).all()

    def arbitrate(self, m: Module):
        """Connect the arbiter of the next operation."""
        config, arbiter = self.config, self.arbiter
        take_reads(m, config, self.i, arbiter.read)
        connect(m, self.mshrs.again, arbiter.again)
        connect(m, self.flusher.walk, arbiter.walk)
        connect(m, self.gather.write, arbiter.write)
        m.d.comb += [
            # Each operation in progress may need a response, and a reply.
            arbiter.may_answer.eq(self.responder.level < RESPONSES - 2),
            arbiter.may_reply.eq(self.replies.level < REPLIES - REPLIES_KEPT),
            arbiter.may_wait.eq(self.mshrs.room),
            arbiter.holds.eq(self.flusher.holds),
            arbiter.sweeping.eq(self.tag_array.sweeping | self.ids.sweeping),
            arbiter.cleared.eq(self.is_cleared(arbiter.read.payload)),
            arbiter.done.eq(self.tag_stage.done),
            arbiter.undone.eq(self.tag_stage.undone),
            self.tag_array.read.eq(arbiter.lookup_valid),
            self.tag_array.line.eq(arbiter.lookup.line),
            self.ids.read.eq(arbiter.lookup_valid & ~arbiter.lookup.walk),
            self.ids.read_id.eq(arbiter.lookup.id),
            self.events.mshr_stall.eq(arbiter.mshr_stall),
            self.events.pipeline_stall.eq(arbiter.pipeline_stall),
        ]

    def connect_lookup(self, m: Module, lookup, lookup_valid):
        """Connect the tag stage to the parts that it reads and updates."""
        tag_stage, mshrs, writebacks, events = (
            self.tag_stage,
            self.mshrs,
            self.writebacks,
            self.events,
        )
        self.order(m, lookup)
        connect(m, tag_stage.tags, self.tag_array.stage)
        connect(m, tag_stage.mshrs, mshrs.stage)
        connect(m, tag_stage.writebacks, writebacks.stage)
        m.d.comb += [
            *(part.valid.eq(lookup_valid) for part in (self.tag_array, tag_stage)),
            *(part.operation.eq(lookup) for part in (self.tag_array, tag_stage, mshrs)),
            mshrs.writeback_done.eq(writebacks.completed),
            writebacks.line.eq(lookup.line),
            self.gather.done.eq(tag_stage.done),
            self.gather.undone.eq(tag_stage.undone),
            self.flusher.lookup.eq(lookup_valid & lookup.walk),
            self.flusher.clean.eq(tag_stage.clean),
            self.flusher.line.eq(lookup.line),
            events.read.eq(lookup_valid & lookup.read & lookup.beats.any()),
            events.write.eq(tag_stage.done),
            events.write_stall.eq(tag_stage.undone),
            events.read_miss.eq(tag_stage.read_miss),
            events.write_miss.eq(tag_stage.write_miss),
            events.write_back.eq(tag_stage.write_back),
        ]

    def order(self, m: Module, lookup):
        """Connect the order of each id."""
        ids, tag_stage, mshrs, writebacks = self.ids, self.tag_stage, self.mshrs, self.writebacks
        is_demand = lookup.beats.any()  # prefetches take no part in the order
        m.d.comb += [
            ids.ticket.eq(lookup.ticket),
            ids.mshr.eq(lookup.mshr),
            ids.take.eq((tag_stage.mshrs.take | tag_stage.mshrs.adopt) & is_demand),
            ids.taken_mshr.eq(mshrs.mshr),
            ids.free.eq(tag_stage.mshrs.free & is_demand),
            ids.promise.eq(tag_stage.writebacks.what.has_reply),
            ids.back.eq(writebacks.stage.number),
            ids.oldest_back.eq(writebacks.oldest),
            tag_stage.is_ordered.eq(ids.is_ordered),
            tag_stage.follows.eq(ids.follows & is_demand),
            tag_stage.reply_pending.eq(ids.reply_pending),
            mshrs.ticket.eq(ids.next_ticket),
            mshrs.youngest.eq(ids.youngest),
            mshrs.is_oldest.eq(Mux(lookup.read, ids.is_ordered, ~ids.follows) | ~is_demand),
            mshrs.leads.eq(ids.leads & is_demand),
        ]

    def access(self, m: Module):
        """Connect the data array, its sources and destinations, and the responses."""
        data_array, mshrs, gather, writebacks = (
            self.data_array,
            self.mshrs,
            self.gather,
            self.writebacks,
        )
        access, accesses = self.tag_stage.access, self.tag_stage.accesses
        last, response = data_array.last, self.responder.i
        answers_from = Mux(last.from_dram, mshrs.line, data_array.becomes)
        masked = Cat(
            last.codes.word_select(n, 2) & ~last.full[n].replicate(2)
            for n in range(self.config.beats)
        )
        m.d.comb += [
            data_array.valid.eq(accesses),
            data_array.access.eq(access),
            mshrs.read.eq(accesses & (access.fills | access.from_dram)),
            mshrs.read_mshr.eq(access.mshr),
            gather.read.eq(accesses & (access.writes | access.passes)),
            gather.read_entry.eq(access.entry),
            data_array.fill_data.eq(mshrs.line),
            data_array.write_data.eq(gather.data),
            data_array.write_strobes.eq(gather.strobes),
            writebacks.store.eq(data_array.done & last.pushes),
            writebacks.store_number.eq(last.back),
            writebacks.store_data.eq(Mux(last.passes, gather.data, data_array.line)),
            writebacks.store_strobes.eq(Mux(last.passes, gather.strobes, data_array.dirty)),
            response.valid.eq(data_array.done & last.responds),
            response.payload.id.eq(last.id),
            response.payload.beats.eq(last.beats),
            response.payload.data.eq(answers_from),
            response.payload.codes.eq(masked),
        ]
