"""Tag array of an L2 slice, with its replacement policy."""

from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, number_of, select
from ...lib.streams import ResponseSignature
from ..cache.replacement_policy import ReplacementPolicy, ReplacementSignature
from .layouts import L2SliceConfig, entry_layout, operation_layout
from .signatures import SweepSignature, TagUpdateSignature
from .table import L2Table, TableShape

__all__ = ["L2TagArray"]


class L2TagArray(SharedBlock):
    """Tag array: looks up a line in its set and selects a victim, with a latency of 1 cycle.

    An update is forwarded to a look-up of the same set in the same cycle.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    start : In(ResponseSignature(operation_layout(config)))
        Read the set of an operation's line.
    lookup : In(ResponseSignature(operation_layout(config)))
        The operation of the last cycle. `stage` refers to it.
    stage : In(TagUpdateSignature(config))
    sweep : Out(SweepSignature(config.l2.set_width))
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "start": In(ResponseSignature(operation_layout(config))),
            "lookup": In(ResponseSignature(operation_layout(config))),
            "stage": In(TagUpdateSignature(config)),
            "sweep": Out(SweepSignature(config.l2.set_width)),
        })

    def build(self, platform):
        m = Module()
        config, ways, layout = self.config, range(self.config.l2.ways), entry_layout(self.config)
        m.submodules.tags = tags = L2Table(
            TableShape(rows=config.l2.sets, pieces=len(ways), width=layout.size)
        )
        m.submodules.victims = policy = ReplacementPolicy(config.replacement)
        victims: Any = ReplacementSignature(config.replacement).create()
        connect(m, victims, policy)
        connect(m, tags.sweep, flipped(self.sweep))
        read: Any = ResponseSignature(config.l2.set_width).create()
        connect(m, read, tags.read)
        entries = [Signal(layout, name=f"entry_{way}") for way in ways]
        hits, dirty, leaves, target = (
            Signal(len(ways), name=name) for name in ("hits", "dirty_ways", "leaves", "target")
        )
        operation, result, change = self.lookup.payload, self.stage.result, self.stage.change
        tag = config.tag_of(operation.line)
        valid = Cat(entry.valid for entry in entries)
        m.d.comb += [
            read.valid.eq(self.start.valid),
            read.payload.eq(config.set_of(self.start.payload.line)),
            Cat(Value.cast(entry) for entry in entries).eq(tags.row),
            hits.eq(Cat(entry.valid & (entry.tag == tag) for entry in entries)),
            # A line in flight is not written back: its refill would replace the written bytes.
            dirty.eq(Cat(entry.valid & entry.dirty & ~entry.pending for entry in entries)),
            leaves.eq(Mux(operation.walk, lowest(dirty), victims.victim)),
            target.eq(Mux(result.present & ~operation.walk, hits, leaves)),
            result.present.eq(hits.any()),
            Value.cast(result.entry).eq(select(hits, [Value.cast(entry) for entry in entries])),
            Value.cast(result.gone).eq(select(leaves, [Value.cast(entry) for entry in entries])),
            result.given_up.eq((victims.victim & dirty).any()),
            result.dirty.eq(dirty.any()),
            result.has_way.eq(victims.has_way),
            result.way.eq(number_of(target)),
            tags.write.eq(Mux(change.write, target, 0)),
            tags.written.eq(change.entry),
            victims.valid.eq(valid),
            victims.pending.eq(valid & Cat(entry.pending for entry in entries)),
            victims.needed.eq(Mux(self.lookup.valid & change.needed, hits, 0)),
            victims.replaces.eq(change.replaces),
            victims.ahead.eq(change.ahead),
        ]
        if config.l2.prefetch:
            shape = TableShape(rows=config.l2.sets, width=config.replacement.layout.size)
            m.submodules.chances = chances = L2Table(shape)
            connect(m, read, chances.read)
            m.d.comb += [
                Value.cast(victims.chances).eq(chances.row),
                chances.write.eq(victims.changes),
                chances.written.eq(victims.becomes),
            ]
        return m
