"""Entries of the unit of transaction barriers: the bytes of barriers in progress."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from ...emit.component import Component
from ...isa.transaction_barrier import BARRIER_BYTES
from ...lib.arbiter import Arbiter, ArbitrationSignature
from ...lib.interfaces.shared_memory import WideWriteSignature
from ...lib.one_hot import lowest, select_one
from .layouts import BarrierUnitConfig

__all__ = ["BarrierEntries", "EntryLookupSignature", "EntryUpdateSignature"]


class EntryLookupSignature(wiring.Signature):
    """Search for the entry of a barrier, seen from the operation.

    Members
    -------
    place : Out(config.place_width)
    accept : Out(1)
        The operation takes `entry`: that of its barrier, or a free one, whose bytes it reads.
    hit : In(1)
        The barrier has an entry.
    available : In(1)
        There is a free entry.
    entry : In(config.entries)
        One-hot.
    """

    def __init__(self, config: BarrierUnitConfig):
        super().__init__({
            "place": Out(config.place_width),
            "accept": Out(1),
            "hit": In(1),
            "available": In(1),
            "entry": In(config.entries),
        })


class EntryUpdateSignature(wiring.Signature):
    """Update of an entry, seen from the operation.

    Members
    -------
    entry : Out(config.entries)
        One-hot, 0 without an update.
    read_word : Out(64)
        The bytes from shared memory, for the first operation of an entry.
    word : In(64)
        The bytes before the update.
    writes : Out(1)
    new_word : Out(64)
    """

    def __init__(self, config: BarrierUnitConfig):
        super().__init__({
            "entry": Out(config.entries),
            "read_word": Out(64),
            "word": In(64),
            "writes": Out(1),
            "new_word": Out(64),
        })


class BarrierEntries(Component):
    """Bytes of barriers in progress, each from the read of its first operation to its write.

    `lookup` and `update` are combinational, one of each per cycle. A changed entry goes to the
    write buffer in the next cycle in which the buffer is free; entries take turns. An entry is free
    again when no operation uses it and shared memory has its bytes, so the next operation reads
    them. The payload of `write` stays while it is stalled.

    Parameters
    ----------
    config : BarrierUnitConfig

    Members
    -------
    lookup : In(EntryLookupSignature(config))
    update : In(EntryUpdateSignature(config))
    used : In(config.entries)
        Entries with operations that are not updated in this cycle, without the accepted one.
    write : Out(WideWriteSignature(config.shared, 8))
    busy : Out(1)
        An entry is not free.
    """

    def __init__(self, config: BarrierUnitConfig):
        self.config = config
        super().__init__({
            "lookup": In(EntryLookupSignature(config)),
            "update": In(EntryUpdateSignature(config)),
            "used": In(config.entries),
            "write": Out(WideWriteSignature(config.shared, BARRIER_BYTES)),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        lookup, update, count = self.lookup, self.update, self.config.entries
        valid, has_word, dirty, writing = (
            Signal(count, name=name) for name in ("valid", "has_word", "dirty", "writing")
        )
        places = [
            Signal(self.config.place_width, name=f"place_{k}", reset_less=True)
            for k in range(count)
        ]
        words = [Signal(64, name=f"word_{k}", reset_less=True) for k in range(count)]
        matches, allocated = Signal(count), Signal(count)
        m.d.comb += [
            matches.eq(Cat(places[k] == lookup.place for k in range(count)) & valid),
            lookup.hit.eq(matches.any()),
            lookup.available.eq(~valid.all()),
            lookup.entry.eq(Mux(lookup.hit, matches, lowest(~valid))),
            allocated.eq(Mux(lookup.accept, lookup.entry, 0)),
            update.word.eq(
                Mux(
                    (update.entry & has_word).any(),
                    select_one(update.entry, words),
                    update.read_word,
                )
            ),
            self.busy.eq(valid.any()),
        ]
        loaded, is_accepted = self.write_back(m, dirty, places, words)
        occupied = Signal(count)
        changed = Mux(update.writes, update.entry, 0)
        still_dirty = (dirty & ~loaded) | changed
        still_writing = Mux(is_accepted, 0, writing) | loaded
        m.d.comb += occupied.eq(self.used | still_dirty | still_writing)
        m.d.sync += [
            valid.eq((valid & occupied) | allocated),
            dirty.eq(still_dirty),
            writing.eq(still_writing),
            has_word.eq(
                (has_word | update.entry) & ((valid & occupied) | allocated) & ~(allocated & ~valid)
            ),
        ]
        for k in range(count):
            with m.If(allocated[k] & ~valid[k]):
                m.d.sync += places[k].eq(lookup.place)
            with m.If(update.entry[k]):
                m.d.sync += words[k].eq(Mux(update.writes, update.new_word, update.word))
        return m

    def write_back(
        self, m: Module, dirty: Value, places: list[Signal], words: list[Signal]
    ) -> tuple[Value, Value]:
        """Write changed entries; return the one that goes to the buffer, and the acceptance."""
        arbitration: Any = ArbitrationSignature(self.config.entries).create()
        m.submodules.arbiter = arbiter = Arbiter(self.config.entries)
        connect(m, arbitration, arbiter)
        request = self.write.request
        is_free, loaded = Signal(), Signal(self.config.entries)
        place = Signal(self.config.place_width, reset_less=True)
        m.d.comb += [
            is_free.eq(~request.valid | request.ready),
            arbitration.requests.eq(dirty),
            arbitration.accept.eq(is_free),
            loaded.eq(Mux(is_free, arbitration.grant, 0)),
            request.payload.address.eq(place << ceil_log2(BARRIER_BYTES)),
            request.payload.mask.eq(~0),
        ]
        with m.If(is_free):
            m.d.sync += [
                request.valid.eq(dirty.any()),
                place.eq(select_one(arbitration.grant, places)),
                request.payload.data.eq(select_one(arbitration.grant, words)),
            ]
        return loaded, request.valid & request.ready
