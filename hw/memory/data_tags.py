"""Which lines a cache has that is emptied often."""

from amaranth import *

from ..sram_macros import TWO_PORTS
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
    As of `CacheTags`, but that other sets than that which is written may be read.
    """

    PORTS = TWO_PORTS

    def mark(self, m: Module) -> tuple[Value, Value]:
        epoch = Signal(EPOCH_WIDTH, init=1)
        with m.If(self.invalidate):
            m.d.sync += epoch.eq(Mux(epoch.all(), 1, epoch + 1))
        return epoch, self.invalidate & epoch.all()
