"""Weight loader: offers rows of weights one tile ahead of the rows of A that use them."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import SystolicConfig
from ...emit.component import Component
from ...lib.streams import ResponseSignature
from .weight_stationary import array_weights

__all__ = ["Weights"]


class Weights(Component):
    """Weight loader: offers the weight rows of successive tiles and marks usable tiles.

    Rows of a tile are consecutive from row 0. With L cycles per array row, the first row comes
    more than ``(rows - 1) * (L - 1)`` cycles after the last `swap`. Even at one row per cycle, row
    r is then more than ``r * L`` cycles after that swap, as the array requires. A tile may be
    swapped in once all its rows are offered, or in a cycle in which one is offered and the rest
    are queued; these then keep within ``r * L`` cycles.

    Tiles of ``max(rows, 1 + (rows - 1) * (L - 1))`` rows of A or more therefore follow without a
    pause.

    Parameters
    ----------
    config : SystolicConfig

    Members
    -------
    i : In(stream.Signature(columns * operand width))
        Rows of weights, `rows` to a tile.
    level : In(ceil_log2(rows * 2 + 1))
        Number of queued rows, at most twice the rows; they can be accepted one per cycle.
    available : Out(1)
        The next tile may be swapped in now.
    swap : In(1)
        The tile is swapped in in this cycle. Only while `available`.
    o : Out(ResponseSignature(array_weights(config)))

    """

    def __init__(self, config: SystolicConfig, level_width: int):
        self.config = config
        width = config.columns * config.operand_format.width
        super().__init__({
            "i": In(stream.Signature(width)),
            "level": In(level_width),
            "available": Out(1),
            "swap": In(1),
            "o": Out(ResponseSignature(array_weights(config))),
        })

    def elaborate(self, platform):
        m = Module()
        rows, latency = self.config.rows, self.config.element_latency
        pause = (rows - 1) * (latency - 1)
        loaded = Signal()  # all rows of the next tile are offered
        swapped = Signal()  # the tile being offered is already in use
        cooling = Signal(range(pause + 1))
        row, valid = Signal(ceil_log2(rows)), self.o.valid

        m.d.comb += [
            valid.eq(self.i.valid & ~loaded & (row.any() | (cooling == 0))),
            self.o.payload.row.eq(row),
            self.o.payload.b.eq(self.i.payload),
            self.i.ready.eq(valid),
            self.available.eq(loaded | (valid & ~swapped & (self.level + row >= rows))),
        ]
        is_last = Signal()
        m.d.comb += is_last.eq(valid & (row == rows - 1))
        with m.If(valid):
            m.d.sync += row.eq(row + 1)
        with m.If(is_last):
            m.d.sync += [loaded.eq(~swapped & ~self.swap), swapped.eq(0)]
        with m.Elif(self.swap):
            m.d.sync += [loaded.eq(0), swapped.eq(~loaded)]

        with m.If(self.swap):
            m.d.sync += cooling.eq(pause)
        with m.Elif(cooling.any()):
            m.d.sync += cooling.eq(cooling - 1)
        return m
