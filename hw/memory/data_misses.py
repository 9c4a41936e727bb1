"""The lines that are being read into a cache of data, of which a write asks too."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from .line_miss import MissConfig
from .miss_table import MissTable

__all__ = ["DataMisses"]


class DataMisses(MissTable):
    """A `MissTable` that tells whether a line that is `written` is still needed as it was.

    Parameters
    ----------
    config : MissConfig

    Members
    -------
    written : In(config.cache.line_width)
    meets : Out(1)
        Combinational: that line is being read, or somebody still waits for it.
    """

    written: Signal
    meets: Signal

    def __init__(self, config: MissConfig):
        super().__init__(config, written=In(config.cache.line_width), meets=Out(1))

    def watch(self, m: Module, lines):
        m.d.comb += self.meets.eq(
            Cat(~line.free & (line.fill.line == self.written) for line in lines).any()
        )
