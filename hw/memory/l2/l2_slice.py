"""L2 slice: the point of coherence before one channel of DRAM."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from .arbiter import L2Arbiter
from .atomics.atomic_access import L2AtomicAccess
from .data_array import L2DataArray
from .dram_port import L2DramPort
from .early_writebacks import L2EarlyWritebacks
from .flush import L2Flush
from .id_table import L2Ids
from .layouts import L2SliceConfig
from .mshrs.mshr_file import L2MshrFile
from .prefetcher import L2Prefetcher
from .replies import L2Replies
from .requester_port import L2RequesterPort
from .responder import L2Responder
from .tag_array import L2TagArray
from .tag_stage import L2TagStage
from .write_gather import L2WriteGather
from .writeback_buffer import L2WritebackBuffer

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

    With `config.owner_width`, a write burst may be an atomic (`atomic_user_layout`). It is done in
    one look-up, in the order of the bursts, and replied to 1 cycle later than a write: one per
    cycle, also to one word. A miss first fetches the line, whatever the source; no read and no
    write begins until the atomic is done. A DRAM error in its beat is returned, and it changes
    nothing. Replies to writes are 1 cycle later, too. The clock runs while a reservation exists.

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
        m.submodules.requester = requester = L2RequesterPort(config)
        m.submodules.gather = gather = L2WriteGather(config)
        m.submodules.arbiter = arbiter = L2Arbiter(config)
        m.submodules.tag_array = tag_array = L2TagArray(config)
        m.submodules.ids = ids = L2Ids(config)
        m.submodules.tag_stage = tag_stage = L2TagStage(config)
        m.submodules.mshrs = mshrs = L2MshrFile(config)
        m.submodules.data_array = data_array = L2DataArray(config)
        m.submodules.writebacks = writebacks = L2WritebackBuffer(config)
        m.submodules.responder = responder = L2Responder(config)
        m.submodules.replies = replies = L2Replies(config)
        m.submodules.flusher = flusher = L2Flush(config)
        m.submodules.dram = dram = L2DramPort(config)

        self.connect_requester(m, requester, responder, replies)
        connect(m, requester.read, arbiter.read)
        connect(m, requester.burst, gather.burst)
        connect(m, requester.beat, gather.beat)
        connect(m, gather.write, arbiter.write)
        connect(m, mshrs.again, arbiter.again)
        connect(m, flusher.walk, arbiter.walk)
        connect(m, tag_array.sweep, arbiter.sets)
        connect(m, ids.sweep, arbiter.ids)
        connect(m, arbiter.start, tag_array.start, ids.start)
        for part in (tag_array, ids, tag_stage, mshrs, writebacks, replies, flusher):
            connect(m, arbiter.lookup, part.lookup)
        for part in (arbiter, gather, replies, flusher):
            connect(m, tag_stage.outcome, part.outcome)
        connect(m, tag_stage.tags, tag_array.stage)
        connect(m, tag_stage.mshrs, mshrs.stage)
        connect(m, tag_stage.in_flight, mshrs.in_flight)
        connect(m, tag_stage.writebacks, writebacks.state)
        connect(m, tag_stage.writeback, writebacks.entry)
        connect(m, tag_stage.order, ids.stage)
        connect(m, mshrs.order, ids.mshrs)
        connect(m, writebacks.numbers, ids.writebacks)
        connect(m, tag_stage.access, data_array.access, mshrs.access, gather.access)
        atomics_busy = self.connect_writes(m, arbiter, tag_stage, gather, data_array, replies)
        connect(m, data_array.response, responder.i)
        connect(m, data_array.store, writebacks.store)
        connect(m, writebacks.reply, replies.late)
        self.connect_dram(m, dram, mshrs, writebacks)
        m.d.comb += [
            arbiter.may_answer.eq(responder.has_room),
            arbiter.may_reply.eq(replies.has_room),
            arbiter.may_wait.eq(mshrs.room),
            arbiter.holds.eq(flusher.holds),
            mshrs.writeback_done.eq(writebacks.completed),
            data_array.arrived.eq(mshrs.line),
            flusher.flush.eq(self.flush),
            self.flushed.eq(flusher.flushed),
            self.failed.eq(writebacks.failed),
        ]
        is_prefetching = self.add_prefetcher(m, arbiter, tag_stage)
        is_cleaning, is_clean = self.add_early_writebacks(m, arbiter, tag_stage, flusher, dram)
        under_way = Cat(arbiter.lookup.valid, data_array.busy, mshrs.busy).any()
        m.d.comb += [
            flusher.idle.eq(~under_way & is_clean),
            flusher.settled.eq(~writebacks.busy),
            self.busy.eq(
                Cat(
                    (under_way, writebacks.busy, tag_array.sweep.sweeping, ids.sweep.sweeping),
                    (gather.busy, replies.o.valid, self.flush, is_prefetching, is_cleaning),
                    (requester.busy, dram.busy, *atomics_busy),
                ).any()
            ),
        ]
        self.count_events(m, arbiter, tag_stage)
        return m

    def connect_requester(
        self, m: Module, requester: L2RequesterPort, responder: L2Responder, replies: L2Replies
    ):
        """Connect the port of the requesters, and the responses to them."""
        connect(m, flipped(self.i), requester.axi)
        connect(m, responder.o, requester.answer)
        connect(m, replies.o, requester.reply)

    def connect_dram(
        self, m: Module, dram: L2DramPort, mshrs: L2MshrFile, writebacks: L2WritebackBuffer
    ):
        """Connect the port of DRAM, with the reads of MSHRs and the write-backs."""
        connect(m, mshrs.fetch, dram.fetch)
        connect(m, dram.arrival, mshrs.arrival)
        connect(m, writebacks.address, dram.address)
        connect(m, writebacks.beat, dram.beat)
        connect(m, dram.response, writebacks.response)
        connect(m, dram.axi, flipped(self.o))

    def connect_writes(
        self,
        m: Module,
        arbiter: L2Arbiter,
        tag_stage: L2TagStage,
        gather: L2WriteGather,
        data_array: L2DataArray,
        replies: L2Replies,
    ) -> tuple[Value, ...]:
        """Connect the written bytes, through the atomics if any; return whether these are busy."""
        if not self.config.has_atomics:
            connect(m, gather.line, data_array.written)
            return ()
        m.submodules.atomics = atomics = L2AtomicAccess(self.config)
        connect(m, arbiter.lookup, atomics.lookup)
        connect(m, tag_stage.atomic, atomics.outcome)
        connect(m, tag_stage.access, atomics.access)
        connect(m, gather.line, atomics.gathered)
        connect(m, atomics.written, data_array.written)
        m.d.comb += [atomics.line.eq(data_array.line), replies.atomic.eq(atomics.reply)]
        return atomics.busy, replies.waits

    def add_prefetcher(self, m: Module, arbiter: L2Arbiter, tag_stage: L2TagStage) -> Value:
        """Connect the prefetcher, if any; return whether a prefetch is to be offered."""
        if not self.config.l2.prefetch:
            return C(0, 1)
        m.submodules.prefetcher = prefetcher = L2Prefetcher(self.config)
        connect(m, tag_stage.prefetcher, prefetcher.lookup)
        connect(m, prefetcher.o, arbiter.ahead)
        m.d.comb += prefetcher.drop.eq(self.flush)
        return prefetcher.busy

    def add_early_writebacks(
        self,
        m: Module,
        arbiter: L2Arbiter,
        tag_stage: L2TagStage,
        flusher: L2Flush,
        dram: L2DramPort,
    ) -> tuple[Value, Value]:
        """Connect the early write-backs, if any; return whether they run, and whether none waits.

        A line that is not queued for them is written back by the flush.
        """
        if not self.config.l2.early_write_backs:
            return C(0, 1), C(1, 1)
        m.submodules.early = early = L2EarlyWritebacks(self.config)
        connect(m, arbiter.lookup, early.lookup)
        connect(m, tag_stage.outcome, early.outcome)
        connect(m, early.walk, arbiter.early)
        connect(m, dram.load, early.dram)
        m.d.comb += [early.flush.eq(self.flush), flusher.queued.eq(early.queued)]
        return early.busy, early.empty

    def count_events(self, m: Module, arbiter: L2Arbiter, tag_stage: L2TagStage):
        """Drive the events of a cycle."""
        events, outcome, operation = self.events, tag_stage.outcome, arbiter.lookup.payload
        prefetches = tag_stage.prefetcher.begun
        if self.config.has_atomics:  # an atomic fetches its line in the same way
            prefetches = prefetches & ~operation.write
        m.d.comb += [
            events.read.eq(arbiter.lookup.valid & operation.read & operation.beats.any()),
            events.write.eq(outcome.done),
            events.read_miss.eq(outcome.read_miss),
            events.write_miss.eq(outcome.write_miss),
            events.mshr_stall.eq(arbiter.mshr_stall),
            events.write_stall.eq(outcome.undone),
            events.pipeline_stall.eq(arbiter.pipeline_stall),
            events.write_back.eq(outcome.write_back),
            events.prefetch.eq(prefetches),
        ]
