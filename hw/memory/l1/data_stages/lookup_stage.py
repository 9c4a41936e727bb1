"""Lookup stage of the L1 data cache."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ....emit.shared_block import SharedBlock
from ....lib.streams import ResponseSignature
from ..data_cache_layouts import DataCacheConfig, beat_write_layout, data_cache_events
from ..signatures import (
    ConflictSignature,
    LookupSignature,
    MissSignature,
    data_write_layout,
    tag_write_layout,
)
from .signatures import (
    BeatRequestSignature,
    LookupStateSignature,
    hit_layout,
    waiter_layout,
)

__all__ = ["LookupStage"]


class LookupStage(SharedBlock):
    """Lookup stage: holds the request accepted last until its outcome is known.

    Latency 1 cycle. A read hits, or allocates or joins an MSHR, and stalls until one of them is
    possible. A miss stalls while a write to its line is pending. A write leaves after a cycle; it
    writes the array if the cache holds its line. An atomic removes its line instead.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    request : In(BeatRequestSignature(config))
        Only if the stage `is_free`.
    tags : Out(LookupSignature(config.cache))
    mshrs : Out(MissSignature(config))
    stores : Out(ConflictSignature(config.cache))
        Conflict: a write to the line is pending.
    hit : Out(stream.Signature(hit_layout(config)))
        A read that hits.
    waiting : Out(ResponseSignature(waiter_layout(config)))
        A read that waits for its line from now on.
    store : Out(ResponseSignature(data_write_layout(config)))
        Valid for each write; to no way if the cache does not hold its line.
    removal : Out(ResponseSignature(tag_write_layout(config.cache)))
        With atomics: the line of one, if the cache holds it. Valid for each.
    state : Out(LookupStateSignature(config))
    events : Out(data_cache_events(config))
    busy : Out(1)
    """

    def __init__(self, config: DataCacheConfig):
        self.config = config
        removal = {"removal": Out(ResponseSignature(tag_write_layout(config.cache)))}
        super().__init__({
            **(removal if config.has_atomics else {}),
            "request": In(BeatRequestSignature(config)),
            "tags": Out(LookupSignature(config.cache)),
            "mshrs": Out(MissSignature(config)),
            "stores": Out(ConflictSignature(config.cache)),
            "hit": Out(stream.Signature(hit_layout(config))),
            "waiting": Out(ResponseSignature(waiter_layout(config))),
            "store": Out(ResponseSignature(data_write_layout(config))),
            "state": Out(LookupStateSignature(config)),
            "events": Out(data_cache_events(config)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config, request, state = self.config, self.request, self.state
        entry = Signal(beat_write_layout(config), reset_less=True)
        waiter = Signal(waiter_layout(config), reset_less=True)  # of a read
        is_read, is_write, leaves, is_present = Signal(), Signal(), Signal(), Signal()
        with m.If(request.reads):
            m.d.sync += [
                entry.beat.eq(request.read.beat),
                waiter.id.eq(request.read.id),
                waiter.context.eq(request.read.context),
            ]
        with m.If(request.writes):
            m.d.sync += entry.eq(request.write)
        m.d.sync += [
            is_read.eq(request.reads | (is_read & ~leaves)),
            is_write.eq(request.writes),
            state.is_new.eq(request.reads),
        ]
        m.d.comb += [
            is_present.eq(self.tags.hits.any()),
            leaves.eq(
                is_write | (is_present & self.hit.ready) | self.mshrs.joins | self.mshrs.begins
            ),
            self.busy.eq(is_read | is_write),
            state.is_free.eq(~(is_read | is_write) | leaves),
            state.misses.eq(is_read & ~is_present),
            state.is_write.eq(is_write),
            state.stalls.eq(is_read & ~state.is_new),
            state.beat.eq(entry.beat),
            self.hit.valid.eq(is_read & is_present),
            self.hit.payload.id.eq(waiter.id),
            self.hit.payload.context.eq(waiter.context),
            self.hit.payload.way.eq(self.tags.hits),
            self.waiting.valid.eq(self.mshrs.joins | self.mshrs.begins),
            self.waiting.payload.eq(waiter),
        ]
        self.search(m, entry, waiter)
        self.write_array(m, entry)
        return m

    def search(self, m: Module, entry: data.View, waiter: data.View):
        """Search tags, MSHRs and pending stores for the line."""
        config, mshrs, misses = self.config, self.mshrs, self.state.misses
        line, events = config.line_of(entry.beat), self.events
        m.d.comb += [
            self.tags.tag.eq(line[config.cache.set_width :]),
            self.stores.line.eq(line),
            mshrs.valid.eq(misses & ~self.stores.conflict),
            mshrs.valids.eq(self.tags.valids),
            mshrs.line.eq(line),
            mshrs.is_demand.eq(1),
            mshrs.waiter.eq(waiter.id),
            mshrs.place.eq(config.place_of(entry.beat)),
            events.misses.eq(mshrs.begins),
            events.joins.eq(mshrs.joins),
            events.entry_waits.eq(mshrs.valid & ~mshrs.joins & ~mshrs.begins),
            events.order_waits.eq(misses & self.stores.conflict),
        ]

    def write_array(self, m: Module, entry: data.View):
        """Write a line that the cache holds."""
        config, store = self.config, self.store.payload
        m.d.comb += [
            self.store.valid.eq(self.state.is_write),
            store.ways.eq(self.tags.hits),
            store.set.eq(config.set_of(entry.beat)),
            store.beat.eq(config.place_of(entry.beat)),
            store.data.eq(entry.data),
            store.strobes.eq(entry.strobes),
        ]
        if config.has_atomics:
            self.remove(m, entry)

    def remove(self, m: Module, entry: data.View):
        """Remove the line of an atomic, and do not write it."""
        removal, line = self.removal.payload, self.config.line_of(entry.beat)
        set_width = self.config.cache.set_width
        m.d.comb += [
            self.state.is_atomic.eq(self.state.is_write & entry.user.atomic),
            self.removal.valid.eq(self.state.is_atomic),
            removal.ways.eq(self.tags.hits),
            removal.set.eq(line[:set_width]),
            removal.tag.eq(line[set_width:]),
            removal.is_valid.eq(0),
        ]
        with m.If(self.state.is_atomic):
            m.d.comb += self.store.payload.ways.eq(0)
