"""Tag array of an L2 slice, with its replacement policy."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest, number_of, select
from ..cache.replacement_policy import ReplacementPolicy
from .layouts import (
    L2SliceConfig,
    entry_layout,
    operation_layout,
)
from .signatures import TagUpdateSignature
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
    read : In(1)
        Look up `line`.
    line : In(config.l2.line_width)
    valid : In(1)
        A look-up was requested in the last cycle. The members below refer to it.
    operation : In(operation_layout(config))
        Its operation.
    stage : In(TagUpdateSignature(config))
    sweeping : Out(1)
        The sets are being cleared after a reset.
    swept : Out(config.l2.set_width)
        Lowest set that is not cleared; look-ups of sets from it on are not allowed.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "read": In(1),
            "line": In(config.l2.line_width),
            "valid": In(1),
            "operation": In(operation_layout(config)),
            "stage": In(TagUpdateSignature(config)),
            "sweeping": Out(1),
            "swept": Out(config.l2.set_width),
        })

    def build(self, platform):
        m = Module()
        config, ways, layout = self.config, range(self.config.l2.ways), entry_layout(self.config)
        m.submodules.tags = tags = L2Table(
            TableShape(rows=config.l2.sets, pieces=len(ways), width=layout.size)
        )
        m.submodules.victims = victims = ReplacementPolicy(config.replacement)
        entries = [Signal(layout, name=f"entry_{way}") for way in ways]
        hits, dirty, leaves, target = (
            Signal(len(ways), name=name) for name in ("hits", "dirty_ways", "leaves", "target")
        )
        tag, found, change = config.tag_of(self.operation.line), self.stage.found, self.stage.change
        m.d.comb += [
            tags.read.eq(self.read),
            tags.row.eq(config.set_of(self.line)),
            Cat(Value.cast(entry) for entry in entries).eq(tags.found),
            hits.eq(Cat(entry.valid & (entry.tag == tag) for entry in entries)),
            # A line in flight is not written back: its refill would replace the written bytes.
            dirty.eq(Cat(entry.valid & entry.dirty & ~entry.pending for entry in entries)),
            leaves.eq(Mux(self.operation.walk, lowest(dirty), victims.victim)),
            target.eq(Mux(found.present & ~self.operation.walk, hits, leaves)),
            found.present.eq(hits.any()),
            Value.cast(found.entry).eq(select(hits, [Value.cast(entry) for entry in entries])),
            Value.cast(found.gone).eq(select(leaves, [Value.cast(entry) for entry in entries])),
            found.given_up.eq((victims.victim & dirty).any()),
            found.dirty.eq(dirty.any()),
            found.has_way.eq(victims.has_way),
            found.way.eq(number_of(target)),
            tags.write.eq(Mux(change.write, target, 0)),
            tags.written.eq(change.entry),
            self.sweeping.eq(tags.sweeping),
            self.swept.eq(tags.swept),
            victims.valid.eq(Cat(entry.valid for entry in entries)),
            victims.pending.eq(Cat(entry.valid & entry.pending for entry in entries)),
            victims.needed.eq(Mux(self.valid & change.needed, hits, 0)),
            victims.replaces.eq(change.replaces),
            victims.ahead.eq(change.ahead),
        ]
        if config.l2.prefetch:
            shape = TableShape(rows=config.l2.sets, width=config.replacement.layout.size)
            m.submodules.chances = chances = L2Table(shape)
            m.d.comb += [
                chances.read.eq(tags.read),
                chances.row.eq(tags.row),
                Value.cast(victims.chances).eq(chances.found),
                chances.write.eq(victims.changes),
                chances.written.eq(victims.becomes),
            ]
        return m
