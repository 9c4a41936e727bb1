"""MSHR file of the L1 data cache, with a check of written lines."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from .mshr import MshrConfig
from .mshr_file import MshrFile

__all__ = ["DataMshrs"]


class DataMshrs(MshrFile):
    """MSHR file that also reports whether the line `written` is in flight or awaited.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    written : In(config.cache.line_width)
    meets : Out(1)
        Combinational: the line is being read, or a request still waits for it.
    """

    def __init__(self, config: MshrConfig):
        super().__init__(config, written=In(config.cache.line_width), meets=Out(1))

    def watch(self, m: Module, lines):
        m.d.comb += self.meets.eq(
            Cat(~line.free & (line.fill.line == self.written) for line in lines).any()
        )
