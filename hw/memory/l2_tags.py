"""Which lines a slice of the L2 cache has, and how much of them."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..emit import SharedBlock
from ..sram import Sram
from .l2_layouts import L2SliceConfig, entry_layout

__all__ = ["L2Tags"]


class L2Tags(SharedBlock):
    """Give all entries of a set, and take what becomes of them: one set per cycle, of any order.

    A set that is read in one cycle is at `entries` in the next, in which it may be written. Where
    it is read in the cycle in which it is at `entries`, that is what it becomes then. All sets are
    emptied after a reset, one per cycle; nothing may be read meanwhile.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    read : In(1)
    read_set : In(config.l2.set_width)
    entries : Out(ArrayLayout(entry_layout(config), config.l2.ways))
        Of the set of the last cycle.
    write : In(config.l2.ways)
        Ways of it that become `written`.
    written : In(entry_layout(config))
    sweeping : Out(1)
        Sets are being emptied.
    """

    read: Signal
    read_set: Signal
    entries: data.View
    write: Signal
    written: data.View
    sweeping: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        entry = entry_layout(config)
        super().__init__({
            "read": In(1),
            "read_set": In(config.l2.set_width),
            "entries": Out(data.ArrayLayout(entry, config.l2.ways)),
            "write": In(config.l2.ways),
            "written": In(entry),
            "sweeping": Out(1),
        })

    def build(self, platform):
        m = Module()
        l2 = self.config.l2
        width = entry_layout(self.config).size
        m.submodules.sets = sets = Sram(depth=l2.sets, width=l2.ways * width, granularity=width)
        sweeps, next_set = Signal(init=1), Signal(l2.set_width)
        shown, shown_set = Signal(), Signal(l2.set_width, reset_less=True)
        again, kept = Signal(), Signal(l2.ways * width, reset_less=True)
        becomes = Signal(l2.ways * width)
        entries = Mux(again, kept, sets.read_data)
        same = self.read & shown & (self.read_set == shown_set)
        m.d.comb += [
            Value.cast(self.entries).eq(entries),
            becomes.eq(
                Cat(
                    Mux(self.write[way], self.written, entries.word_select(way, width))
                    for way in range(l2.ways)
                )
            ),
            sets.read_enable.eq(self.read & ~same),
            sets.read_address.eq(self.read_set),
            sets.write_mask.eq(Mux(sweeps, ~C(0, l2.ways), self.write)),
            sets.write_address.eq(Mux(sweeps, next_set, shown_set)),
            sets.write_data.eq(Mux(sweeps, 0, Value.cast(self.written).replicate(l2.ways))),
            self.sweeping.eq(sweeps),
        ]
        m.d.sync += [shown.eq(self.read), again.eq(same), kept.eq(becomes)]
        with m.If(self.read):
            m.d.sync += shown_set.eq(self.read_set)
        with m.If(sweeps):
            m.d.sync += [next_set.eq(next_set + 1), sweeps.eq(~next_set.all())]
        return m
