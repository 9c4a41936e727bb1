"""Request arbiter of the L1 data cache."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ....emit.shared_block import SharedBlock
from ....lib.streams import ResponseSignature
from ..data_cache_layouts import (
    DataCacheConfig,
    beat_read_layout,
    beat_write_layout,
    data_cache_events,
)
from ..signatures import ConflictSignature, data_read_layout
from .signatures import ArrivalSignature, BeatRequestSignature, LookupStateSignature

__all__ = ["RequestArbiter"]


class RequestArbiter(SharedBlock):
    """Request arbiter: accepts a read or a write, alternating if both may proceed.

    Combinational, except for the turn. A request is accepted if the lookup stage is free. A read
    needs room for its answer. It stalls while replays wait, for a write to the array entry that it
    reads, and for an arriving beat of its set that is written in this cycle. A write needs room in
    the pending stores. It stalls while a read waits for its line, or is about to wait. Both stall
    for an atomic that removes its line.

    An accepted read accesses tags and data, a write only the tags. Replays access the data; the
    arbiter accepts no read in their cycle.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    read : In(stream.Signature(beat_read_layout(config)))
    write : In(stream.Signature(beat_write_layout(config)))
    request : Out(BeatRequestSignature(config))
        The accepted request.
    tags : Out(ResponseSignature(config.cache.set_width))
    data : Out(ResponseSignature(data_read_layout(config)))
    replay : In(ResponseSignature(data_read_layout(config)))
        Read of a replay.
    replays_wait : In(1)
    lookup : In(LookupStateSignature(config))
    arrival : In(ArrivalSignature(config))
    order : Out(ConflictSignature(config.cache))
        Conflict: a read waits for the line of the offered write.
    may_answer, may_store, sweeping : In(1)
        There is room for an answer; for a write; the tags are being cleared.
    events : Out(data_cache_events(config))
    """

    def __init__(self, config: DataCacheConfig):
        self.config = config
        super().__init__({
            "read": In(stream.Signature(beat_read_layout(config))),
            "write": In(stream.Signature(beat_write_layout(config))),
            "request": Out(BeatRequestSignature(config)),
            "tags": Out(ResponseSignature(config.cache.set_width)),
            "data": Out(ResponseSignature(data_read_layout(config))),
            "replay": In(ResponseSignature(data_read_layout(config))),
            "replays_wait": In(1),
            "lookup": In(LookupStateSignature(config)),
            "arrival": In(ArrivalSignature(config)),
            "order": Out(ConflictSignature(config.cache)),
            "may_answer": In(1),
            "may_store": In(1),
            "sweeping": In(1),
            "events": Out(data_cache_events(config)),
        })

    def build(self, platform):
        m = Module()
        config, read, write, lookup = self.config, self.read, self.write, self.lookup
        request, will_wait = self.request, Signal()
        may_answer, may_store = Signal(), Signal()  # but for the arrays
        m.d.comb += [
            self.order.line.eq(config.line_of(write.payload.beat)),
            will_wait.eq(lookup.misses & (config.line_of(lookup.beat) == self.order.line)),
            may_answer.eq(lookup.is_free & self.may_answer),
            may_store.eq(lookup.is_free & self.may_store & ~self.order.conflict & ~will_wait),
            request.reads.eq(read.valid & read.ready),
            request.writes.eq(write.valid & write.ready),
            request.read.eq(read.payload),
            request.write.eq(write.payload),
            self.events.reads.eq(request.reads),
            self.events.writes.eq(request.writes),
            self.events.order_waits.eq(write.valid & self.order.conflict),
            # A request stalls only because the arrays are in use.
            self.events.bank_waits.eq(
                (read.valid & ~read.ready & may_answer) | (write.valid & ~write.ready & may_store)
            ),
        ]
        busy = self.sweeping  # the tags are
        if config.has_atomics:
            busy = busy | lookup.is_atomic
        self.choose(
            m,
            may_read=may_answer & ~busy & self.finds_beats(m),
            may_write=may_store & ~busy & self.finds_line(),
        )
        self.read_arrays(m)
        return m

    def choose(self, m: Module, *, may_read: Value, may_write: Value):
        """Accept a read or a write.

        If the read stalls only for the write before it, no other write overtakes.
        """
        config, read, write, request = self.config, self.read, self.write, self.request
        index = config.place_width + config.cache.set_width  # bits of the array address
        write_next, read_can, write_can, is_stored = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            is_stored.eq(
                self.lookup.is_write & (self.lookup.beat[:index] == read.payload.beat[:index])
            ),
            read_can.eq(may_read & ~is_stored),
            write_can.eq(may_write),
            read.ready.eq(read_can & ~(write_can & write.valid & write_next)),
            write.ready.eq(write_can & ~((read_can | is_stored) & read.valid & ~write_next)),
        ]
        with m.If(request.reads | request.writes):
            m.d.sync += write_next.eq(request.reads)

    def finds_beats(self, m: Module) -> Value:
        """Return whether a read may access the arrays: no replays, no beat written in its set.

        An arriving beat of its set yields to it: it then waits for that beat, which is forwarded.
        """
        arrival, is_filled, has_priority = self.arrival, Signal(), Signal()
        m.d.comb += [
            is_filled.eq(self.config.set_of(self.read.payload.beat) == arrival.set),
            has_priority.eq(~(arrival.must_fill | self.lookup.stalls)),
            arrival.yields.eq(self.read.valid & ~self.replays_wait & has_priority & is_filled),
        ]
        return ~self.replays_wait & (~(arrival.valid & is_filled) | has_priority)

    def finds_line(self) -> Value:
        """Return whether a write may look up its line, to write it in the next cycle."""
        arrival = self.arrival
        is_filled = self.config.set_of(self.write.payload.beat) == arrival.set
        return ~(arrival.valid & (arrival.must_fill | (is_filled & ~self.lookup.is_write)))

    def read_arrays(self, m: Module):
        """Read the arrays for a request or a replay."""
        config, read, write = self.config, self.read.payload, self.write.payload
        reads, writes, access = self.request.reads, self.request.writes, self.data.payload
        m.d.comb += [
            self.tags.valid.eq(reads | writes),
            self.tags.payload.eq(config.set_of(Mux(writes, write.beat, read.beat))),
            self.data.valid.eq(reads | self.replay.valid),
            access.ways.eq(~0),
            access.set.eq(config.set_of(read.beat)),
            access.place.eq(config.place_of(read.beat)),
        ]
        with m.If(self.replay.valid):
            m.d.comb += access.eq(self.replay.payload)
