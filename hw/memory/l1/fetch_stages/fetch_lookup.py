"""Lookup stage of the L1 instruction cache."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....config import MemoryUnitConfig
from ....emit.shared_block import SharedBlock
from ....lib.address_range import is_dram
from ....lib.streams import ResponseSignature
from ..cluster_layouts import PAIR_BYTES, instruction_mshr_config
from ..prefetcher import PrefetchSignature
from ..signatures import LookupSignature, MissSignature
from .signatures import FetchStateSignature, hit_layout, lookup_layout

__all__ = ["FetchLookup"]


class FetchLookup(SharedBlock):
    """Lookup stage: holds a look-up until its outcome is known.

    Latency 1 cycle. A request hits, allocates or joins an MSHR, or is answered with an error if
    its address is not DRAM. It stalls until one of them is possible. A look-up for a prefetch
    leaves after a cycle, served or not.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    request : In(ResponseSignature(lookup_layout(config)))
        Only if the stage `is_free`.
    tags : Out(LookupSignature(config.core.l1i))
    mshrs : Out(MissSignature)
    prefetcher : Out(PrefetchSignature(config.core.l1i))
    hit : Out(ResponseSignature(hit_layout(config)))
        A request that is answered in this cycle.
    state : Out(FetchStateSignature())
    busy : Out(1)
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        self.cache = config.core.l1i
        self.mshr_config = instruction_mshr_config(config)
        super().__init__({
            "request": In(ResponseSignature(lookup_layout(config))),
            "tags": Out(LookupSignature(self.cache)),
            "mshrs": Out(MissSignature(self.mshr_config)),
            "prefetcher": Out(PrefetchSignature(self.cache)),
            "hit": Out(ResponseSignature(hit_layout(config))),
            "state": Out(FetchStateSignature()),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        entry = Signal(lookup_layout(self.config), reset_less=True)
        lookup_valid, leaves, is_present = Signal(), Signal(), Signal()
        is_outside, is_served = Signal(), Signal()
        mshrs, prefetcher = self.mshrs, self.prefetcher
        line = entry.pair[self.mshr_config.place_width :]
        m.d.comb += [
            is_present.eq(self.tags.hits.any()),
            is_outside.eq(~is_dram(Cat(C(0, exact_log2(PAIR_BYTES)), entry.pair))),
            is_served.eq(is_outside | is_present | mshrs.joins | mshrs.begins),
            leaves.eq(~entry.is_demand | is_served),
            self.busy.eq(lookup_valid),
            self.state.is_free.eq(~lookup_valid | leaves),
            self.state.is_probe.eq(lookup_valid & ~entry.is_demand),
            self.hit.valid.eq(lookup_valid & entry.is_demand & (is_present | is_outside)),
            self.hit.payload.tag.eq(entry.tag),
            self.hit.payload.way.eq(self.tags.hits),
            self.hit.payload.error.eq(is_outside),
            self.tags.tag.eq(line[self.cache.set_width :]),
            mshrs.valid.eq(lookup_valid & ~is_outside),
            mshrs.present.eq(is_present),
            mshrs.valids.eq(self.tags.valids),
            mshrs.line.eq(line),
            mshrs.is_demand.eq(entry.is_demand),
            mshrs.waiter.eq(Cat(entry.tag.pair, entry.tag.warp)),
            mshrs.place.eq(entry.pair),
            prefetcher.line.eq(line),
            prefetcher.trigger.eq(entry.is_demand & (mshrs.begins | mshrs.first_use)),
            prefetcher.served.eq(self.state.is_probe & is_served),
        ]
        with m.If(self.request.valid):
            m.d.sync += [lookup_valid.eq(1), entry.eq(self.request.payload)]
        with m.Elif(leaves):
            m.d.sync += lookup_valid.eq(0)
        return m
