"""L1 data cache of a core, write-through."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.register_slices import SkidBuffer
from ...lib.sram import Sram
from ...lib.streams import Queue
from .data_array import DataArray
from .data_cache_layouts import (
    DataCacheConfig,
    beat_answer_layout,
    beat_read_layout,
    beat_write_layout,
    data_cache_events,
    line_beat_layout,
    line_read_layout,
)
from .data_mshrs import DataMshrs
from .flushable_tag_array import FlushableTagArray
from .mshr_file import replay_layout
from .pending_stores import PendingStores
from .refill import lookup_line, read_lines, take_beat

__all__ = ["REFUSALS", "DataCache"]

#: Writes queued for memory.
WRITES_AHEAD = 2
#: Cycles in a row in which an arriving beat may be refused.
REFUSALS = 3


class DataCache(SharedBlock):
    """L1 data cache: non-blocking, write-through, no allocation on a write.

    | cycle | a read                                | a write                             |
    |-------|---------------------------------------|-------------------------------------|
    | 0     | `read` is accepted                    | `write` is accepted                 |
    | 1     | `answer`, if the cache hits           | its line is written, `line_write`   |
    | 2     | else `line_read`, unless in flight    |                                     |
    | n     | its beat arrives                      | `line_written` and `written`        |
    | n + 1 | `answer`                              |                                     |

    An arriving beat is forwarded to the lowest id that waits for it, so misses too have a
    throughput of one beat per cycle. Other reads of that beat are replayed from the arrays, one
    per cycle, from 2 cycles after the last beat of their line on. A hit stalls while a forwarded
    beat is answered.

    Each read returns all writes to its beat accepted before it, and none accepted after it. A write
    to a line in flight stalls until the line has arrived and its waiting reads are answered. A miss
    stalls until the writes to its line are complete. A write reads no line. One request is accepted
    per cycle, alternating if reads and writes compete. Up to `mshrs` lines are in flight; hits
    proceed under misses. A read without a free MSHR stalls those after it. No read is accepted
    while replays wait, and no read of a beat in the cycle after a write to it. No replay begins
    while a beat arrives. An arriving beat waits for the write accepted in the last cycle and for
    reads of its set, at most 3 cycles. A line that cannot be read is answered with an error and not
    kept; a failed write invalidates the whole cache. No request is accepted for one cycle per set
    after a reset and after every 15th invalidation; other invalidations stall nothing.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    read : In(stream.Signature(beat_read_layout(config)))
        Its id must not be in use.
    answer : Out(stream.Signature(beat_answer_layout(config)))
        In any order.
    write : In(stream.Signature(beat_write_layout(config)))
    written : Out(stream.Signature(1))
        Completed writes, in order; 1 if the write failed.
    invalidate : In(1)
        Requests from the next cycle on read their lines anew. The driver keeps the clock running
        in that cycle, as a core with a running warp does: `busy` does not cover it.
    line_read : Out(stream.Signature(line_read_layout(config)))
    line : In(stream.Signature(line_beat_layout(config)))
        Beats of one line in order, of several lines in any order.
    line_write : Out(stream.Signature(beat_write_layout(config)))
        Writes to one beat must take effect in order, others in any order.
    line_written : In(stream.Signature(1))
        Completed writes, in order; 1 if the write failed.
    events : Out(data_cache_events(config))
    busy : Out(1)
        Combinational: a request is in progress, or arrives.
    """

    def __init__(self, config: DataCacheConfig):
        self.config = config
        super().__init__({
            "read": In(stream.Signature(beat_read_layout(config))),
            "answer": Out(stream.Signature(beat_answer_layout(config))),
            "write": In(stream.Signature(beat_write_layout(config))),
            "written": Out(stream.Signature(1)),
            "invalidate": In(1),
            "line_read": Out(stream.Signature(line_read_layout(config))),
            "line": In(stream.Signature(line_beat_layout(config))),
            "line_write": Out(stream.Signature(beat_write_layout(config))),
            "line_written": In(stream.Signature(1)),
            "events": Out(data_cache_events(config)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.tags = tags = FlushableTagArray(config.cache)
        m.submodules.beats = beats = DataArray(config)
        m.submodules.mshrs = mshrs = DataMshrs(config)
        m.submodules.stores = stores = PendingStores(config)
        # `answer.ready` arrives late; the skid buffer keeps it off the path of the look-up.
        m.submodules.answers = answers = SkidBuffer(self.answer.payload.shape())
        m.submodules.outgoing = outgoing = Queue(self.write.payload.shape(), WRITES_AHEAD)
        connect(m, answers.o, flipped(self.answer))
        connect(m, outgoing.o, flipped(self.line_write))

        lookup = Signal(beat_write_layout(config), reset_less=True)
        # Of the read being looked up.
        number = Signal(config.waiter_width, reset_less=True)
        context = Signal(config.context_width, reset_less=True)
        replayed = Signal()  # a forwarded beat or a replay is answered
        self.must_fill = Signal()  # an arriving beat has been refused as often as allowed
        self.stalls = Signal()  # the look-up stalls: a beat that arrives for its set is accepted
        is_read, is_write = Signal(), Signal()  # kind of the look-up
        reads, writes, leaves = Signal(), Signal(), Signal()
        is_present = self.connect_lookup(m, lookup, number, is_read, tags, mshrs, stores)
        stays = (is_read | is_write) & ~leaves
        is_free = ~stays & ~tags.sweeping
        in_order = self.is_in_order(m, is_read & ~is_present, lookup, mshrs)
        passes = in_order & stores.room & outgoing.i.ready
        self.choose(
            m,
            is_free & answers.i.ready & self.finds_beats(mshrs),
            self.is_stored(m, is_write, lookup),
            is_free & passes & self.finds_line(is_write, mshrs),
            reads,
            writes,
        )
        self.count_bank_waits(m, ~stays & answers.i.ready, ~stays & passes)
        with m.If(reads):
            request = self.read.payload
            m.d.sync += [
                lookup.beat.eq(request.beat),
                number.eq(request.id),
                context.eq(request.context),
            ]
        with m.If(writes):
            m.d.sync += lookup.eq(self.write.payload)
        m.d.sync += [is_read.eq(reads | (is_read & ~leaves)), is_write.eq(writes)]
        m.d.comb += leaves.eq(
            is_write | (is_present & answers.i.ready & ~replayed) | mshrs.joins | mshrs.begins
        )
        self.read_arrays(m, reads, writes, tags, beats, mshrs)
        read_lines(m, mshrs, self.line_of(lookup.beat), self.line_read)
        was_read = Signal()
        m.d.sync += was_read.eq(reads)
        m.d.comb += self.stalls.eq(is_read & ~was_read)
        self.fill(m, lookup, was_read, is_write, tags, beats, mshrs)
        self.reply(
            m, is_read & is_present, replayed, (number, context), tags, beats, mshrs, answers
        )
        self.pass_on(m, writes, tags, mshrs, stores, outgoing)
        m.d.comb += self.busy.eq(
            Cat(
                (self.read.valid, self.write.valid, self.line.valid, self.line_written.valid),
                (is_read, is_write, replayed, answers.o.valid, outgoing.o.valid),
                (tags.sweeping, mshrs.busy, stores.busy),
            ).any()
        )
        return m

    def place_of(self, beat: Value) -> Value:
        """Return the number of a beat in its line."""
        return beat[: self.config.place_width]

    def line_of(self, beat: Value) -> Value:
        """Return the line of a beat."""
        return beat[self.config.place_width :]

    def set_of(self, beat: Value) -> Value:
        """Return the set of a beat's line."""
        return self.line_of(beat)[: self.config.cache.set_width]

    def choose(self, m: Module, may_read, is_stored, may_write, reads: Signal, writes: Signal):
        """Accept a read or a write, alternating if both may proceed.

        With `is_stored`, the read stalls only for the write before it: no other write overtakes.
        """
        write_next, read_can, write_can = Signal(), Signal(), Signal()
        m.d.comb += [
            read_can.eq(may_read & ~is_stored),
            write_can.eq(may_write),
            self.read.ready.eq(read_can & ~(write_can & self.write.valid & write_next)),
            self.write.ready.eq(
                write_can & ~((read_can | is_stored) & self.read.valid & ~write_next)
            ),
            reads.eq(self.read.valid & self.read.ready),
            writes.eq(self.write.valid & self.write.ready),
            self.events.reads.eq(reads),
            self.events.writes.eq(writes),
        ]
        with m.If(reads | writes):
            m.d.sync += write_next.eq(reads)

    def count_bank_waits(self, m: Module, may_read: Value, may_write: Value):
        """Drive `events.bank_waits`: a request stalls only because the arrays are in use."""
        m.d.comb += self.events.bank_waits.eq(
            (self.read.valid & ~self.read.ready & may_read)
            | (self.write.valid & ~self.write.ready & may_write)
        )

    def is_stored(self, m: Module, is_write, lookup) -> Value:
        """Return whether the array entry to be read may be written in this cycle."""
        index = self.config.place_width + self.config.cache.set_width  # bits of the array address
        is_same = Signal()
        m.d.comb += is_same.eq(lookup.beat[:index] == self.read.payload.beat[:index])
        return is_write & is_same

    def finds_beats(self, mshrs) -> Value:
        """Return whether a read may access the arrays: no replays, no beat written in its set."""
        is_filled = self.line.valid & self.fills_set_of(self.read.payload.beat, mshrs)
        return ~mshrs.waits & ~(is_filled & (self.must_fill | self.stalls))

    def finds_line(self, is_write, mshrs) -> Value:
        """Return whether a write may look up its line, to write it in the next cycle."""
        is_filled = self.fills_set_of(self.write.payload.beat, mshrs)
        return ~(self.line.valid & (self.must_fill | (is_filled & ~is_write)))

    def fills_set_of(self, beat: Value, mshrs) -> Value:
        """Return whether the arriving beat is of the same set as `beat`."""
        return mshrs.fill.line[: self.config.cache.set_width] == self.set_of(beat)

    def is_in_order(self, m: Module, is_missing, lookup, mshrs) -> Value:
        """Return whether no read waits, or is about to wait, for the line of the offered write."""
        line, will_wait = self.line_of(self.write.payload.beat), Signal()
        m.d.comb += [
            mshrs.written.eq(line),
            will_wait.eq(is_missing & (self.line_of(lookup.beat) == line)),
        ]
        return ~mshrs.conflict & ~will_wait

    def connect_lookup(self, m: Module, lookup, number, is_read, tags, mshrs, stores) -> Value:
        """Look up a line and allocate or join an MSHR on a miss; return whether the cache hits."""
        is_present, is_missing = Signal(), Signal()
        line = self.line_of(lookup.beat)
        lookup_line(m, mshrs, tags, line)
        m.d.comb += [
            is_present.eq(tags.hits.any()),
            is_missing.eq(is_read & ~is_present),
            stores.line.eq(line),
            mshrs.lookup.eq(is_missing & ~stores.conflict),
            mshrs.is_demand.eq(1),
            mshrs.waiter.eq(number),
            mshrs.place.eq(self.place_of(lookup.beat)),
            self.events.misses.eq(mshrs.begins),
            self.events.joins.eq(mshrs.joins),
            self.events.entry_waits.eq(mshrs.lookup & ~mshrs.joins & ~mshrs.begins),
            self.events.order_waits.eq(
                (is_missing & stores.conflict) | (self.write.valid & mshrs.conflict)
            ),
        ]
        return is_present

    def read_arrays(self, m: Module, reads, writes, tags, beats, mshrs):
        """Read the arrays for a request or a replay."""
        beat, replay = Signal.like(self.read.payload.beat), mshrs.replay
        m.d.comb += [
            beat.eq(Mux(writes, self.write.payload.beat, self.read.payload.beat)),
            tags.read.eq(reads | writes),
            tags.read_set.eq(self.set_of(beat)),
            beats.read.eq(
                Mux(replay.valid, replay.payload.way, reads.replicate(self.config.cache.ways))
            ),
            beats.read_set.eq(
                Mux(replay.valid, replay.payload.set, self.set_of(self.read.payload.beat))
            ),
            beats.read_place.eq(
                Mux(replay.valid, replay.payload.place, self.place_of(self.read.payload.beat))
            ),
        ]

    def admit(self, m: Module, lookup, was_read, is_write, mshrs) -> Value:
        """Accept an arriving beat or refuse it; return whether it is accepted.

        A beat waits for a write to the arrays, and for reads of its set that are offered or were
        just accepted: those of its line then wait for it when it is accepted, and it is forwarded.
        It waits for no offered read while the look-up stalls.
        """
        refusals, yields = Signal(range(REFUSALS + 1)), Signal()
        waits_to_read = self.read.valid & ~mshrs.waits & ~self.must_fill & ~self.stalls
        m.d.comb += [
            self.must_fill.eq(refusals >= REFUSALS - 1),
            yields.eq(
                (waits_to_read & self.fills_set_of(self.read.payload.beat, mshrs))
                | (was_read & (refusals != REFUSALS) & self.fills_set_of(lookup.beat, mshrs))
            ),
            self.line.ready.eq(~is_write & ~yields),
        ]
        m.d.sync += refusals.eq(Mux(self.line.valid & ~self.line.ready, refusals + 1, 0))
        return self.line.valid & self.line.ready

    def fill(self, m: Module, lookup, was_read, is_write, tags, beats, mshrs):
        """Write an arriving beat or a store to the arrays."""
        beat, fill, takes = self.line.payload, mshrs.fill, Signal()
        m.d.comb += takes.eq(self.admit(m, lookup, was_read, is_write, mshrs))
        ways = take_beat(m, mshrs, tags, takes, beat)
        with m.If(is_write):
            m.d.comb += [
                beats.write.eq(tags.hits),
                beats.write_set.eq(self.set_of(lookup.beat)),
                beats.write_beat.eq(self.place_of(lookup.beat)),
                beats.write_data.eq(lookup.data),
                beats.write_strobes.eq(lookup.strobes),
            ]
        with m.Else():
            m.d.comb += [
                beats.write.eq(ways),
                beats.write_set.eq(fill.line[: self.config.cache.set_width]),
                beats.write_beat.eq(fill.beat),
                beats.write_data.eq(beat.data),
                beats.write_strobes.eq(~0),
            ]

    def reply(
        self, m: Module, hits, replayed: Signal, read, tags, beats, mshrs: DataMshrs, answers
    ):
        """Answer a forwarded beat or a replay, else a hit: one whose id and context are `read`.

        A hit that stalls pauses replays, since they would replace the beat that it has read.
        """
        chosen = Signal(replay_layout(self.config), reset_less=True)
        forwarded = Signal.like(self.line.payload, reset_less=True)
        is_forwarded = Signal(reset_less=True)
        forward, replay, answer = mshrs.forward, mshrs.replay, answers.i.payload
        context = self.store_contexts(m, read, mshrs)
        m.d.comb += [
            mshrs.forwards.eq(answers.i.ready),
            mshrs.pause.eq(~answers.i.ready | mshrs.filled | (hits & replayed)),
            answers.i.valid.eq(hits | replayed),
            beats.way.eq(Mux(replayed & ~is_forwarded, chosen.way, tags.hits)),
            answer.data.eq(Mux(replayed & is_forwarded, forwarded.data, beats.word)),
            answer.id.eq(Mux(replayed, chosen.waiter, read[0])),
            answer.context.eq(Mux(replayed, context, read[1])),
            answer.error.eq(replayed & Mux(is_forwarded, forwarded.error, chosen.error)),
        ]
        with m.If(answers.i.ready):
            m.d.sync += [
                replayed.eq(forward.valid | replay.valid),
                is_forwarded.eq(forward.valid),
                forwarded.eq(self.line.payload),
                chosen.eq(replay.payload),
            ]
            with m.If(forward.valid):
                m.d.sync += chosen.waiter.eq(forward.payload)

    def store_contexts(self, m: Module, read, mshrs: DataMshrs) -> Value:
        """Store the contexts of waiting reads; return that of the one selected a cycle ago."""
        config, forward, replay = self.config, mshrs.forward, mshrs.replay
        m.submodules.contexts = contexts = Sram(
            depth=max(2, config.waiters), width=config.context_width
        )
        number, context = read
        m.d.comb += [
            contexts.write_mask.eq(mshrs.joins | mshrs.begins),
            contexts.write_address.eq(number),
            contexts.write_data.eq(context),
            contexts.read_enable.eq(forward.valid | replay.valid),
            contexts.read_address.eq(Mux(forward.valid, forward.payload, replay.payload.waiter)),
        ]
        return contexts.read_data

    def pass_on(self, m: Module, writes, tags, mshrs, stores, outgoing):
        """Forward writes and their completions; invalidate all lines after a failed write."""
        invalidates = Signal()
        m.d.comb += [
            outgoing.i.valid.eq(writes),
            outgoing.i.payload.eq(self.write.payload),
            stores.begin.eq(writes),
            stores.begun.eq(self.line_of(self.write.payload.beat)),
            self.written.valid.eq(self.line_written.valid),
            self.written.payload.eq(self.line_written.payload),
            self.line_written.ready.eq(self.written.ready),
            stores.done.eq(self.line_written.valid & self.line_written.ready),
            invalidates.eq(self.invalidate | (stores.done & self.line_written.payload)),
            tags.invalidate.eq(invalidates),
            mshrs.invalidate.eq(invalidates),
        ]
