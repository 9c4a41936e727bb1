"""Between the data of a core and DRAM: a cache that is written through."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ..register_slices import SkidBuffer
from ..shared_block import SharedBlock
from ..streams import Queue
from .cache_beats import CacheBeats
from .data_cache_layouts import (
    DataCacheConfig,
    beat_answer_layout,
    beat_read_layout,
    beat_write_layout,
    data_cache_events,
    line_beat_layout,
    line_read_layout,
)
from .data_misses import DataMisses
from .data_tags import DataTags
from .lines_written import LinesWritten
from .miss_table import replay_layout

__all__ = ["DataCache"]

#: Writes that wait for the way to memory.
WRITES_AHEAD = 2


class DataCache(SharedBlock):
    """Serve reads of beats from the lines last read; pass writes on, and keep lines up to date.

    | cycle | a read                                | a write                             |
    |-------|---------------------------------------|-------------------------------------|
    | 0     | `read` is accepted                    | `write` is accepted                 |
    | 1     | `answer`, if the cache has its line   | its line is written, `line_write`   |
    | 2     | else `line_read`, unless under way    |                                     |
    | n     | the last beat of the line comes       | `line_written` and `written`        |
    | n + 2 | `answer`, and one per cycle of others |                                     |

    Each read returns what the writes accepted before it made of its beat, and nothing of those
    after it: a write waits until lines it touches are there and all who wait for them are
    answered, a missing line until the writes to it are done. No line is read for a write. One
    request is accepted per cycle, reads and writes in turns where both come; up to `misses` lines
    are read at a time, and reads that find theirs go on. A read that has no place to wait holds
    those behind it. While who waited is answered, one per cycle, no read is accepted, nor one of a
    beat in the cycle after a write to it; a beat that comes is refused in the cycle after a write,
    but not in two. What cannot be read is answered with an error and not kept; after a write that
    failed nothing is. After a reset nothing is accepted for a cycle for each set, nor after each
    15th time the cache is emptied; otherwise that holds nobody.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    read : In(stream.Signature(beat_read_layout(config)))
        Its id is not under way.
    answer : Out(stream.Signature(beat_answer_layout(config)))
        In any order.
    write : In(stream.Signature(beat_write_layout(config)))
    written : Out(stream.Signature(1))
        Writes are done, in their order; 1 if one failed.
    invalidate : In(1)
        What is asked for from the next cycle on is read anew.
        Whoever says so keeps the clock in that cycle, as a core does of which a warp runs:
        `busy` does not follow.
    line_read : Out(stream.Signature(line_read_layout(config)))
    line : In(stream.Signature(line_beat_layout(config)))
        Beats of one line in their order, of several lines in any.
    line_write : Out(stream.Signature(beat_write_layout(config)))
        Those to one beat are to take effect in their order, others in any.
    line_written : In(stream.Signature(1))
        They are done, in their order; 1 if one failed.
    events : Out(data_cache_events(config))
    busy : Out(1)
        Combinational: something is under way, or comes in.
    """

    read: stream.Interface
    answer: stream.Interface
    write: stream.Interface
    written: stream.Interface
    invalidate: Signal
    line_read: stream.Interface
    line: stream.Interface
    line_write: stream.Interface
    line_written: stream.Interface
    events: data.View
    busy: Signal

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
        m.submodules.tags = tags = DataTags(config.cache)
        m.submodules.beats = beats = CacheBeats(config)
        m.submodules.misses = misses = DataMisses(config)
        m.submodules.stores = stores = LinesWritten(config)
        # Whether the core takes an answer is known late; what is looked up must not wait for that.
        m.submodules.answers = answers = SkidBuffer(self.answer.payload.shape())
        m.submodules.outgoing = outgoing = Queue(self.write.payload.shape(), WRITES_AHEAD)
        connect(m, answers.o, flipped(self.answer))
        connect(m, outgoing.o, flipped(self.line_write))

        look = Signal(beat_write_layout(config), reset_less=True)
        number = Signal(config.waiter_width, reset_less=True)  # of a read that is looked up
        is_read, is_write = Signal(), Signal()  # that is looked up
        reads, writes, leaves = Signal(), Signal(), Signal()
        is_present = self.look_up(m, look, number, is_read, tags, misses, stores)
        stays = (is_read | is_write) & ~leaves
        is_free = ~stays & ~tags.sweeping
        in_order = self.is_in_order(m, is_read & ~is_present, look, misses)
        passes = in_order & stores.room & outgoing.i.ready
        self.choose(
            m,
            is_free & answers.i.ready & self.finds_beats(misses),
            self.is_stored(m, is_write, look),
            is_free & passes & self.finds_line(is_write, misses),
            reads,
            writes,
        )
        self.tell_bank_waits(m, ~stays & answers.i.ready, ~stays & passes)
        with m.If(reads):
            m.d.sync += [look.beat.eq(self.read.payload.beat), number.eq(self.read.payload.id)]
        with m.If(writes):
            m.d.sync += look.eq(self.write.payload)
        m.d.sync += [is_read.eq(reads | (is_read & ~leaves)), is_write.eq(writes)]
        m.d.comb += leaves.eq(
            is_write | (is_present & answers.i.ready) | misses.joins | misses.begins
        )
        self.ask(m, reads, writes, tags, beats, misses)
        self.begin(m, look, misses)
        self.fill(m, look, is_write, tags, beats, misses)
        replayed = self.reply(m, is_read & is_present, number, tags, beats, misses, answers)
        self.pass_on(m, writes, tags, misses, stores, outgoing)
        m.d.comb += self.busy.eq(
            Cat(
                (self.read.valid, self.write.valid, self.line.valid, self.line_written.valid),
                (is_read, is_write, replayed, answers.o.valid, outgoing.o.valid),
                (tags.sweeping, misses.busy, stores.busy),
            ).any()
        )
        return m

    def place_of(self, beat: Value) -> Value:
        """Return which beat of its line one is."""
        return beat[: self.config.place_width]

    def line_of(self, beat: Value) -> Value:
        """Return the line of a beat."""
        return beat[self.config.place_width :]

    def set_of(self, beat: Value) -> Value:
        """Return the set of a beat's line."""
        return self.line_of(beat)[: self.config.cache.set_width]

    def choose(self, m: Module, may_read, is_stored, may_write, reads: Signal, writes: Signal):
        """Accept a read or a write, in turns where both may be.

        Where `is_stored`, a read waits for the last write alone, and no further one goes first.
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

    def tell_bank_waits(self, m: Module, may_read: Value, may_write: Value):
        """Tell whether a read or a write waits for memories alone, given what else it needs."""
        m.d.comb += self.events.bank_waits.eq(
            (self.read.valid & ~self.read.ready & may_read)
            | (self.write.valid & ~self.write.ready & may_write)
        )

    def is_stored(self, m: Module, is_write, look) -> Value:
        """Return whether the beat to be read may be written in this cycle."""
        index = self.config.place_width + self.config.cache.set_width  # tells where a beat is
        is_same = Signal()
        m.d.comb += is_same.eq(look.beat[:index] == self.read.payload.beat[:index])
        return is_write & is_same

    def finds_beats(self, misses) -> Value:
        """Return whether a read may use memories now: for no replay, and where no beat comes."""
        is_filled = self.line.valid & self.fills_set_of(self.read.payload.beat, misses)
        return ~misses.replay.valid & ~is_filled

    def finds_line(self, is_write, misses) -> Value:
        """Return whether a write may look for its line now, and write it in the next cycle.

        A beat that comes is refused then; not for two writes in a row.
        """
        is_filled = is_write | self.fills_set_of(self.write.payload.beat, misses)
        return ~(self.line.valid & is_filled)

    def fills_set_of(self, beat: Value, misses) -> Value:
        """Return whether a beat that comes is of the same set as another."""
        return misses.fill.line[: self.config.cache.set_width] == self.set_of(beat)

    def is_in_order(self, m: Module, is_missing, look, misses) -> Value:
        """Return whether nobody waits for the line that a write touches, nor will."""
        line, will_wait = self.line_of(self.write.payload.beat), Signal()
        m.d.comb += [
            misses.written.eq(line),
            will_wait.eq(is_missing & (self.line_of(look.beat) == line)),
        ]
        return ~misses.meets & ~will_wait

    def look_up(self, m: Module, look, number, is_read, tags, misses, stores) -> Value:
        """Look for a line, and wait for it if it is missing; return whether it is here."""
        is_present, is_missing = Signal(), Signal()
        line = self.line_of(look.beat)
        m.d.comb += [
            tags.tag.eq(line[self.config.cache.set_width :]),
            is_present.eq(tags.hits.any()),
            is_missing.eq(is_read & ~is_present),
            stores.line.eq(line),
            misses.looks.eq(is_missing & ~stores.meets),
            misses.wanted.eq(1),
            misses.valids.eq(tags.valids),
            misses.line.eq(line),
            misses.waiter.eq(number),
            misses.place.eq(self.place_of(look.beat)),
            self.events.misses.eq(misses.begins),
            self.events.joins.eq(misses.joins),
            self.events.entry_waits.eq(misses.looks & ~misses.joins & ~misses.begins),
            self.events.order_waits.eq(
                (is_missing & stores.meets) | (self.write.valid & misses.meets)
            ),
        ]
        return is_present

    def ask(self, m: Module, reads, writes, tags, beats, misses):
        """Read what is asked for, or the beat of a replay."""
        asked, replay = Signal.like(self.read.payload.beat), misses.replay
        m.d.comb += [
            asked.eq(Mux(writes, self.write.payload.beat, self.read.payload.beat)),
            tags.read.eq(reads | writes),
            tags.read_set.eq(self.set_of(asked)),
            beats.read.eq(
                Mux(replay.valid, replay.payload.way, reads.replicate(self.config.cache.ways))
            ),
            beats.read_set.eq(
                Mux(replay.valid, replay.payload.set, self.set_of(self.read.payload.beat))
            ),
            beats.read_beat.eq(
                Mux(replay.valid, replay.payload.place, self.place_of(self.read.payload.beat))
            ),
        ]

    def begin(self, m: Module, look, misses):
        """Read lines in the order in which they are missed."""
        m.submodules.line_reads = line_reads = Queue(
            self.line_read.payload.shape(), self.config.cache.misses
        )
        m.d.comb += [
            line_reads.i.valid.eq(misses.begins),  # all that may be under way fit
            line_reads.i.payload.id.eq(misses.entry),
            line_reads.i.payload.beat.eq(
                Cat(C(0, self.config.place_width), self.line_of(look.beat))
            ),
        ]
        connect(m, line_reads.o, flipped(self.line_read))

    def fill(self, m: Module, look, is_write, tags, beats, misses):
        """Put beats into their lines, which are valid with the last; or a write into its line."""
        came, fill, comes = self.line.payload, misses.fill, Signal()
        last = C(1, 1) if self.config.beats == 1 else fill.beat.all()
        fill_set = fill.line[: self.config.cache.set_width]
        m.d.comb += [
            self.line.ready.eq(~is_write),
            comes.eq(self.line.valid & self.line.ready),
            misses.filled.eq(comes),
            misses.filled_entry.eq(came.id),
            misses.error.eq(came.error),
            tags.write.eq(Mux(comes & ~fill.forgotten, fill.way, 0)),
            tags.write_set.eq(fill_set),
            tags.write_tag.eq(fill.line[self.config.cache.set_width :]),
            tags.write_valid.eq(last & ~fill.fails & ~came.error),
        ]
        with m.If(is_write):
            m.d.comb += [
                beats.write.eq(tags.hits),
                beats.write_set.eq(self.set_of(look.beat)),
                beats.write_beat.eq(self.place_of(look.beat)),
                beats.write_data.eq(look.data),
                beats.write_strobes.eq(look.strobes),
            ]
        with m.Else():
            m.d.comb += [
                beats.write.eq(Mux(comes, fill.way, 0)),
                beats.write_set.eq(fill_set),
                beats.write_beat.eq(fill.beat),
                beats.write_data.eq(came.data),
                beats.write_strobes.eq(~0),
            ]

    def reply(self, m: Module, hits, number, tags, beats, misses, answers) -> Value:
        """Answer what is here, or what was replayed; return whether something was.

        Never both: what is here and not taken holds replays, and they hold reads.
        """
        replayed = Signal(replay_layout(self.config), reset_less=True)
        replayed_valid = Signal()
        answer = answers.i.payload
        m.d.comb += [
            misses.pause.eq(~answers.i.ready),
            answers.i.valid.eq(hits | replayed_valid),
            beats.way.eq(Mux(replayed_valid, replayed.way, tags.hits)),
            answer.data.eq(beats.beat),
            answer.id.eq(Mux(replayed_valid, replayed.waiter, number)),
            answer.error.eq(replayed_valid & replayed.error),
        ]
        with m.If(answers.i.ready):
            m.d.sync += [replayed_valid.eq(misses.replay.valid), replayed.eq(misses.replay.payload)]
        return replayed_valid

    def pass_on(self, m: Module, writes, tags, misses, stores, outgoing):
        """Pass writes on, and what came of them back; forget all lines after one that failed."""
        forgets = Signal()
        m.d.comb += [
            outgoing.i.valid.eq(writes),
            outgoing.i.payload.eq(self.write.payload),
            stores.begin.eq(writes),
            stores.begun.eq(self.line_of(self.write.payload.beat)),
            self.written.valid.eq(self.line_written.valid),
            self.written.payload.eq(self.line_written.payload),
            self.line_written.ready.eq(self.written.ready),
            stores.done.eq(self.line_written.valid & self.line_written.ready),
            forgets.eq(self.invalidate | (stores.done & self.line_written.payload)),
            tags.invalidate.eq(forgets),
            misses.invalidate.eq(forgets),
        ]
