"""Background operations of an L2 slice: prefetches and early write-backs."""

from amaranth import *
from amaranth.lib.wiring import connect

from .early_writebacks import L2EarlyWritebacks
from .prefetcher import L2Prefetcher

__all__ = ["read_ahead", "write_early"]


def read_ahead(m: Module, l2, lookup, lookup_valid) -> Value:
    """Connect the prefetcher of slice `l2`, if any; return whether a prefetch is to be offered."""
    if not l2.config.l2.prefetch:
        return C(0, 1)
    m.submodules.prefetcher = prefetcher = L2Prefetcher(l2.config)
    tag_stage, is_demand = l2.tag_stage, lookup.beats.any()
    connect(m, prefetcher.o, l2.arbiter.ahead)
    m.d.comb += [
        prefetcher.demand.eq(lookup_valid & lookup.read & lookup.allocates & is_demand),
        prefetcher.missed.eq(tag_stage.read_miss),
        prefetcher.line.eq(lookup.line),
        prefetcher.begun.eq(tag_stage.mshrs.take & ~is_demand),
        prefetcher.finished.eq(
            (tag_stage.mshrs.free & ~is_demand) | tag_stage.mshrs.adopt | tag_stage.mshrs.claim
        ),
        prefetcher.drop.eq(l2.flush),
        l2.events.prefetch.eq(prefetcher.begun),
    ]
    return prefetcher.busy


def write_early(m: Module, l2, lookup, lookup_valid) -> tuple[Value, Value]:
    """Connect the early write-backs, if any; return whether they run, and whether none waits.

    A line that is not queued for them is written back by the flush.
    """
    # A line written to DRAM with its write is clean.
    writes = l2.tag_stage.access.writes & ~l2.tag_stage.access.passes
    if not l2.config.l2.early_write_backs:
        m.d.comb += l2.flusher.written.eq(writes)
        return C(0, 1), C(1, 1)
    m.submodules.early = early = L2EarlyWritebacks(l2.config)
    connect(m, early.walk, l2.arbiter.early)
    m.d.comb += [
        # A line in flight is left to the flush: it cannot be written back before it arrives.
        early.written.eq(writes & lookup.beats.all() & ~l2.tag_stage.tags.change.entry.pending),
        early.line.eq(lookup.line),
        early.requested.eq(l2.o.arvalid & l2.o.arready),
        early.returned.eq(l2.o.rvalid & l2.o.rlast),
        early.flush.eq(l2.flush),
        early.lookup.eq(lookup_valid & lookup.walk),
        early.clean.eq(l2.tag_stage.clean),
        l2.flusher.written.eq(writes & ~early.queued),
    ]
    return early.busy, early.empty
