"""The lines of a slice of the L2 cache by their sets: where one is, and which gives way."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..emit import SharedBlock
from .arbiter import lowest, number_of, select
from .l2_layouts import L2SliceConfig, chances_layout, entry_layout
from .l2_table import L2Table, TableShape
from .l2_victim import L2Victim

__all__ = ["L2Sets", "decide_upon"]


class L2Sets(SharedBlock):
    """Find a line in its set, and the line that gives way to it, in the cycle after it is asked.

    A set that is changed in that cycle and asked for in the same one is found as it becomes.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    ask : In(1)
        `asked` is looked for.
    asked : In(config.l2.line_width)
    valid : In(1)
        A line is looked for since the last cycle; what follows is about it:
    line : In(config.l2.line_width)
    walk : In(1)
        Its set is walked over: `gone` is a line that is dirty, if any is.
    wanted : In(1)
        Somebody wants the line.
    present : Out(1)
        It is here, or on its way.
    found : Out(entry_layout(config))
        What is known of it; 0 if it is not present.
    has_way : Out(1)
        A line may give way.
    gone : Out(entry_layout(config))
        What is known of the one that does.
    given_up : Out(1)
        That is dirty.
    dirty : Out(1)
        Some line of the set is.
    way : Out(config.way_width)
        Where it is, or else where the one is that gives way, as in a walk.
    write : In(1)
        What is known there becomes `written`.
    written : In(entry_layout(config))
    replaces : In(1)
        The other one gives way to it, which is read `ahead` or not.
    ahead : In(1)
    sweeping : Out(1)
        Sets are being emptied after a reset; nothing may be asked.
    """

    ask: Signal
    asked: Signal
    valid: Signal
    line: Signal
    walk: Signal
    wanted: Signal
    present: Signal
    found: data.View
    has_way: Signal
    gone: data.View
    given_up: Signal
    dirty: Signal
    way: Signal
    write: Signal
    written: data.View
    replaces: Signal
    ahead: Signal
    sweeping: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        flags_in = ("ask", "valid", "walk", "wanted", "write", "replaces", "ahead")
        flags_out = ("present", "has_way", "given_up", "dirty", "sweeping")
        entry = entry_layout(config)
        super().__init__(
            {name: In(1) for name in flags_in}
            | {name: Out(1) for name in flags_out}
            | {name: In(config.l2.line_width) for name in ("asked", "line")}
            | {
                "found": Out(entry),
                "gone": Out(entry),
                "way": Out(config.way_width),
                "written": In(entry),
            }
        )

    def build(self, platform):
        m = Module()
        config, ways, layout = self.config, range(self.config.l2.ways), entry_layout(self.config)
        m.submodules.tags = tags = L2Table(
            TableShape(rows=config.l2.sets, pieces=len(ways), width=layout.size)
        )
        m.submodules.victims = victims = L2Victim(config)
        entries = [Signal(layout, name=f"entry_{way}") for way in ways]
        hits, dirty, leaves, target = (
            Signal(len(ways), name=name) for name in ("hits", "dirty_ways", "leaves", "target")
        )
        tag = config.tag_of(self.line)
        m.d.comb += [
            tags.read.eq(self.ask),
            tags.row.eq(config.set_of(self.asked)),
            Cat(Value.cast(entry) for entry in entries).eq(tags.found),
            hits.eq(Cat(entry.valid & (entry.tag == tag) for entry in entries)),
            dirty.eq(Cat(entry.valid & entry.dirty for entry in entries)),
            leaves.eq(Mux(self.walk, lowest(dirty), victims.victim)),
            target.eq(Mux(self.present & ~self.walk, hits, leaves)),
            self.present.eq(hits.any()),
            Value.cast(self.found).eq(select(hits, [Value.cast(entry) for entry in entries])),
            Value.cast(self.gone).eq(select(leaves, [Value.cast(entry) for entry in entries])),
            self.given_up.eq((victims.victim & dirty).any()),
            self.dirty.eq(dirty.any()),
            self.has_way.eq(victims.has_way),
            self.way.eq(number_of(target)),
            tags.write.eq(Mux(self.write, target, 0)),
            tags.written.eq(self.written),
            self.sweeping.eq(tags.sweeping),
            victims.valid.eq(Cat(entry.valid for entry in entries)),
            victims.pending.eq(Cat(entry.valid & entry.pending for entry in entries)),
            victims.wanted.eq(Mux(self.valid & self.wanted, hits, 0)),
            victims.replaces.eq(self.replaces),
            victims.ahead.eq(self.ahead),
        ]
        if config.l2.prefetch:
            shape = TableShape(rows=config.l2.sets, width=chances_layout(config).size)
            m.submodules.chances = chances = L2Table(shape)
            m.d.comb += [
                chances.read.eq(tags.read),
                chances.row.eq(tags.row),
                Value.cast(victims.chances).eq(chances.found),
                chances.write.eq(victims.changes),
                chances.written.eq(victims.becomes),
            ]
        return m


def decide_upon(m: Module, sets: L2Sets, lookup):
    """Tell an `L2Lookup` what was found of what it looks for, and the sets what becomes of it."""
    m.d.comb += [
        sets.valid.eq(lookup.valid),
        sets.line.eq(lookup.operation.line),
        sets.walk.eq(lookup.operation.walk),
    ]
    for name in ("present", "found", "has_way", "gone", "given_up", "dirty", "way"):
        m.d.comb += Value.cast(getattr(lookup, name)).eq(getattr(sets, name))
    for name in ("wanted", "write", "written", "replaces", "ahead"):
        m.d.comb += Value.cast(getattr(sets, name)).eq(getattr(lookup, name))
