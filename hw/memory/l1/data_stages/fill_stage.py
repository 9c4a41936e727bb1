"""Fill stage of the L1 data cache."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....emit.shared_block import SharedBlock
from ....lib.streams import ResponseSignature
from ..data_cache_layouts import DataCacheConfig
from ..refill import Refill
from ..signatures import RefillSignature, data_write_layout, line_beat_layout, tag_write_layout
from .signatures import ArrivalSignature, LookupStateSignature

__all__ = ["REFUSALS", "FillStage"]

#: Cycles in a row in which an arriving beat may be refused.
REFUSALS = 3


class FillStage(SharedBlock):
    """Fill stage: writes an arriving beat or a store to the arrays.

    Combinational, except for the count of refusals. A beat waits for a store, and for reads of its
    set that are offered or were just accepted: those of its line then wait for it when it is
    accepted, and it is forwarded. It waits for no offered read while the lookup stage stalls, and
    for reads at most `REFUSALS` cycles.

    Parameters
    ----------
    config : DataCacheConfig

    Members
    -------
    line : In(stream.Signature(line_beat_layout(config)))
    beat : Out(ResponseSignature(line_beat_layout(config)))
        The accepted beat.
    mshrs : Out(RefillSignature(config))
    tags : Out(ResponseSignature(tag_write_layout(config.cache)))
    data : Out(ResponseSignature(data_write_layout(config)))
    store : In(ResponseSignature(data_write_layout(config)))
    removal : In(ResponseSignature(tag_write_layout(config.cache)))
        With atomics: line to remove, in a cycle with a `store`.
    lookup : In(LookupStateSignature(config))
    arrival : Out(ArrivalSignature(config))
        To the request arbiter.
    """

    def __init__(self, config: DataCacheConfig):
        self.config = config
        removal = {"removal": In(ResponseSignature(tag_write_layout(config.cache)))}
        super().__init__({
            **(removal if config.has_atomics else {}),
            "line": In(stream.Signature(line_beat_layout(config))),
            "beat": Out(ResponseSignature(line_beat_layout(config))),
            "mshrs": Out(RefillSignature(config)),
            "tags": Out(ResponseSignature(tag_write_layout(config.cache))),
            "data": Out(ResponseSignature(data_write_layout(config))),
            "store": In(ResponseSignature(data_write_layout(config))),
            "lookup": In(LookupStateSignature(config)),
            "arrival": Out(ArrivalSignature(config)),
        })

    def build(self, platform):
        m = Module()
        m.submodules.refill = refill = Refill(self.config)
        connect(m, refill.mshrs, flipped(self.mshrs))
        if self.config.has_atomics:
            self.write_tags(m, refill)
        else:
            connect(m, refill.tags, flipped(self.tags))
        self.admit(m)
        m.d.comb += [
            self.beat.valid.eq(self.line.valid & self.line.ready),
            self.beat.payload.eq(self.line.payload),
            refill.beat.valid.eq(self.beat.valid),
            refill.beat.payload.eq(self.line.payload),
            self.data.valid.eq(refill.data.valid | self.store.valid),
            self.data.payload.eq(refill.data.payload),
        ]
        with m.If(self.store.valid):
            m.d.comb += self.data.payload.eq(self.store.payload)
        return m

    def write_tags(self, m: Module, refill: Refill):
        """Write the tag of an arriving line, or remove a line; no beat arrives with a store."""
        m.d.comb += [
            self.tags.valid.eq(refill.tags.valid | self.removal.valid),
            self.tags.payload.eq(refill.tags.payload),
        ]
        with m.If(self.removal.valid):
            m.d.comb += self.tags.payload.eq(self.removal.payload)

    def admit(self, m: Module):
        """Accept an arriving beat or refuse it."""
        config, lookup, arrival = self.config, self.lookup, self.arrival
        refusals, yields = Signal(range(REFUSALS + 1)), Signal()
        is_filled = config.set_of(lookup.beat) == arrival.set
        m.d.comb += [
            arrival.valid.eq(self.line.valid),
            arrival.set.eq(self.mshrs.destination.line[: config.cache.set_width]),
            arrival.must_fill.eq(refusals >= REFUSALS - 1),
            yields.eq(arrival.yields | (lookup.is_new & (refusals != REFUSALS) & is_filled)),
            self.line.ready.eq(~self.store.valid & ~yields),
        ]
        m.d.sync += refusals.eq(Mux(self.line.valid & ~self.line.ready, refusals + 1, 0))
