"""Pending stores of the L1 data cache."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....emit.shared_block import SharedBlock
from ....lib.streams import Queue
from ...cache.cam import in_flight
from ..data_cache_layouts import (
    DataCacheConfig,
    beat_write_layout,
    write_answer_layout,
    write_failed,
)
from ..signatures import ConflictSignature
from .signatures import BeatRequestSignature

__all__ = ["PendingStores"]

#: Writes queued for memory.
WRITES_AHEAD = 2


class PendingStores(SharedBlock):
    """Pending stores: forwards writes to memory, and holds their lines until they are complete.

    A write is offered to memory 1 cycle after it is accepted, in order. Its line is in conflict
    from that cycle to the cycle of its completion, both included. Completions are in order too.

    Parameters
    ----------
    config : DataCacheConfig
        At most `config.waiters` writes are in flight.

    Members
    -------
    request : In(BeatRequestSignature(config))
        A write is accepted only if there is `room`.
    room : Out(1)
    line_write : Out(stream.Signature(beat_write_layout(config)))
    line_written : In(stream.Signature(write_answer_layout(config)))
        The oldest write is complete; 1 if it failed.
    written : Out(stream.Signature(write_answer_layout(config)))
        The same.
    failed : Out(1)
        A write failed.
    search : In(ConflictSignature(config.cache))
        Conflict: a write to the line is in flight.
    busy : Out(1)
        Any write is in flight.
    """

    def __init__(self, config: DataCacheConfig):
        self.config = config
        super().__init__({
            "request": In(BeatRequestSignature(config)),
            "room": Out(1),
            "line_write": Out(stream.Signature(beat_write_layout(config))),
            "line_written": In(stream.Signature(write_answer_layout(config))),
            "written": Out(stream.Signature(write_answer_layout(config))),
            "failed": Out(1),
            "search": In(ConflictSignature(config.cache)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, request = self.config, self.request
        m.submodules.outgoing = outgoing = Queue(beat_write_layout(config), WRITES_AHEAD)
        connect(m, outgoing.o, flipped(self.line_write))
        connect(m, flipped(self.line_written), flipped(self.written))
        # The oldest write, and the place of the next: one-hot.
        oldest, following = Signal(config.waiters, init=1), Signal(config.waiters, init=1)
        begins, ends = Signal(config.waiters), Signal(config.waiters)
        line, done = config.line_of(request.write.beat), Signal()
        used, conflict = in_flight(m, begins, ends, line, self.search.line)
        m.d.comb += [
            outgoing.i.valid.eq(request.writes),
            outgoing.i.payload.eq(request.write),
            done.eq(self.line_written.valid & self.line_written.ready),
            begins.eq(Mux(request.writes, following, 0)),
            ends.eq(Mux(done, oldest, 0)),
            self.room.eq(~(used & following).any() & outgoing.i.ready),
            self.search.conflict.eq(conflict),
            self.failed.eq(done & write_failed(config, self.line_written.payload)),
            self.busy.eq(used.any()),
        ]
        with m.If(request.writes):
            m.d.sync += following.eq(following.rotate_left(1))
        with m.If(done):
            m.d.sync += oldest.eq(oldest.rotate_left(1))
        return m
