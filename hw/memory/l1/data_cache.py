"""L1 data cache of a core, write-through."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from .data_array import DataArray
from .data_cache_layouts import (
    DataCacheConfig,
    beat_answer_layout,
    beat_read_layout,
    beat_write_layout,
    data_cache_events,
    write_answer_layout,
)
from .data_stages.fill_stage import FillStage
from .data_stages.lookup_stage import LookupStage
from .data_stages.pending_stores import PendingStores
from .data_stages.request_arbiter import RequestArbiter
from .data_stages.response_stage import ResponseStage
from .flushable_tag_array import FlushableTagArray
from .line_reads import LineReads
from .mshr_file import MshrFile
from .signatures import line_beat_layout, line_read_layout

__all__ = ["DataCache"]


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

    An atomic is a write that removes its line from the cache instead of writing it; no request is
    accepted in the cycle after it. Since its line is neither in flight nor read before it is
    complete, no older copy of the line can come after it.

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
    written : Out(stream.Signature(write_answer_layout(config)))
        Completed writes, in order; 1 if the write failed.
    invalidate : In(1)
        Requests from the next cycle on read their lines anew. The driver keeps the clock running
        in that cycle, as a core with a running warp does: `busy` does not cover it.
    line_read : Out(stream.Signature(line_read_layout(config)))
    line : In(stream.Signature(line_beat_layout(config)))
        Beats of one line in order, of several lines in any order.
    line_write : Out(stream.Signature(beat_write_layout(config)))
        Writes to one beat must take effect in order, others in any order.
    line_written : In(stream.Signature(write_answer_layout(config)))
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
            "written": Out(stream.Signature(write_answer_layout(config))),
            "invalidate": In(1),
            "line_read": Out(stream.Signature(line_read_layout(config))),
            "line": In(stream.Signature(line_beat_layout(config))),
            "line_write": Out(stream.Signature(beat_write_layout(config))),
            "line_written": In(stream.Signature(write_answer_layout(config))),
            "events": Out(data_cache_events(config)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.arbiter = arbiter = RequestArbiter(config)
        m.submodules.tags = tags = FlushableTagArray(config.cache)
        m.submodules.beats = beats = DataArray(config)
        m.submodules.lookup = lookup = LookupStage(config)
        m.submodules.mshrs = mshrs = MshrFile(config)
        m.submodules.line_reads = line_reads = LineReads(config)
        m.submodules.stores = stores = PendingStores(config)
        m.submodules.fill = fill = FillStage(config)
        m.submodules.responses = responses = ResponseStage(config)

        connect(m, flipped(self.read), arbiter.read)
        connect(m, flipped(self.write), arbiter.write)
        connect(m, arbiter.request, lookup.request, stores.request)
        connect(m, arbiter.tags, tags.read)
        connect(m, arbiter.data, beats.read)
        connect(m, arbiter.order, mshrs.store)
        connect(m, lookup.state, arbiter.lookup, fill.lookup)
        connect(m, lookup.tags, tags.lookup)
        connect(m, lookup.stores, stores.search)
        connect(m, lookup.mshrs, mshrs.lookup)
        connect(m, mshrs.allocation, line_reads.i)
        connect(m, line_reads.o, flipped(self.line_read))
        connect(m, flipped(self.line), fill.line)
        connect(m, fill.arrival, arbiter.arrival)
        connect(m, lookup.store, fill.store)
        if config.has_atomics:
            connect(m, lookup.removal, fill.removal)
        connect(m, fill.mshrs, mshrs.refill)
        connect(m, fill.tags, tags.write)
        connect(m, fill.data, beats.write)
        connect(m, stores.line_write, flipped(self.line_write))
        connect(m, flipped(self.line_written), stores.line_written)
        connect(m, stores.written, flipped(self.written))
        connect(m, lookup.hit, responses.hit)
        connect(m, lookup.waiting, responses.waiting)
        connect(m, mshrs.replay, responses.replay)
        connect(m, mshrs.forward, responses.forward)
        connect(m, fill.beat, responses.beat)
        connect(m, responses.read, arbiter.replay)
        connect(m, responses.selection, beats.selection)
        connect(m, responses.answer, flipped(self.answer))
        invalidates = Signal()
        arrivals = (self.read, self.write, self.line, self.line_written)
        m.d.comb += [
            arbiter.may_answer.eq(responses.has_room),
            arbiter.may_store.eq(stores.room),
            arbiter.replays_wait.eq(mshrs.replays_wait),
            arbiter.sweeping.eq(tags.sweeping),
            invalidates.eq(self.invalidate | stores.failed),
            tags.invalidate.eq(invalidates),
            mshrs.invalidate.eq(invalidates),
            self.events.eq(arbiter.events.as_value() | lookup.events.as_value()),
            self.busy.eq(
                Cat(
                    *(port.valid for port in arrivals),
                    *(lookup.busy, responses.busy, stores.busy, mshrs.busy, tags.sweeping),
                ).any()
            ),
        ]
        return m
