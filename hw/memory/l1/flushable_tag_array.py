"""Tag array of a cache that is invalidated often."""

from amaranth import *

from ...emit.sram_macros import TWO_PORTS
from .tag_array import TagArray

__all__ = ["EPOCHS", "FlushableTagArray"]

#: Bits of an epoch's number; 0 marks an invalid way.
EPOCH_WIDTH = 4
#: Invalidations between two sweeps of all sets.
EPOCHS = (1 << EPOCH_WIDTH) - 1


class FlushableTagArray(TagArray):
    """Tag array with epochs: a line is valid only in the epoch of its refill.

    `invalidate` begins the next epoch, so that all lines are invalid from the next cycle on.
    After a reset, and when the epochs wrap around (every `EPOCHS` invalidations), the array is
    swept, one set per cycle. No set may be read meanwhile.

    Parameters
    ----------
    config : CacheConfig

    Members
    -------
    As of `TagArray`, except that a set may be read while another is written.
    """

    PORTS = TWO_PORTS

    def mark(self, m: Module) -> tuple[Value, Value]:
        epoch = Signal(EPOCH_WIDTH, init=1)
        with m.If(self.invalidate):
            m.d.sync += epoch.eq(Mux(epoch.all(), 1, epoch + 1))
        return epoch, self.invalidate & epoch.all()
