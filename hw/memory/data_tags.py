"""Which lines a cache has that is emptied often."""

from amaranth import *

from ..sram import Sram
from .cache_tags import CacheTags

__all__ = ["EPOCHS", "DataTags"]

#: Bits of the number of an epoch; 0 is none.
EPOCH_WIDTH = 4
#: How often a cache may be emptied before its sets must be.
EPOCHS = (1 << EPOCH_WIDTH) - 1


class DataTags(CacheTags):
    """A `CacheTags` that forgets all at once: a line is there in the epoch in which it came.

    What was read before `invalidate` is forgotten in the cycle after it. Where the epochs begin
    anew, each `EPOCHS` times, and after a reset, sets are forgotten one per cycle; nothing may be
    read meanwhile.

    Parameters
    ----------
    config : CacheConfig

    Members
    -------
    As of `CacheTags`.
    """

    def build(self, platform):
        m = Module()
        config = self.config
        width = config.tag_width + EPOCH_WIDTH
        m.submodules.lines = lines = Sram(
            depth=config.sets, width=config.ways * width, granularity=width
        )
        epoch = Signal(EPOCH_WIDTH, init=1)
        sweeps, next_set = Signal(init=1), Signal(config.set_width)
        written = Signal(width)
        m.d.comb += [
            lines.read_enable.eq(self.read),
            lines.read_address.eq(self.read_set),
            self.sweeping.eq(sweeps),
            lines.write_mask.eq(self.write),
            lines.write_address.eq(self.write_set),
            written.eq(Cat(self.write_tag, Mux(self.write_valid, epoch, 0))),
            lines.write_data.eq(written.replicate(config.ways)),
        ]
        for way in range(config.ways):
            line = lines.read_data.word_select(way, width)
            m.d.comb += [
                self.valids[way].eq(line[config.tag_width :] == epoch),
                self.hits[way].eq(line == Cat(self.tag, epoch)),
            ]
        with m.If(sweeps & ~self.write.any()):
            m.d.comb += [
                lines.write_mask.eq(~0),
                lines.write_address.eq(next_set),
                written.eq(0),
            ]
            m.d.sync += [next_set.eq(next_set + 1), sweeps.eq(~next_set.all())]
        with m.If(self.invalidate):
            m.d.sync += epoch.eq(Mux(epoch.all(), 1, epoch + 1))
            with m.If(epoch.all()):
                m.d.sync += [next_set.eq(0), sweeps.eq(1)]
        return m
