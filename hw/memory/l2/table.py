"""Table with read, decision and write in consecutive cycles, and forwarding between them."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from ...emit.shared_block import SharedBlock
from ...lib.sram import Sram, SramWriteSignature
from ...lib.streams import ResponseSignature
from .signatures import SweepSignature

__all__ = ["L2Table", "TableShape"]


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """Rows of pieces that are written separately.

    Parameters
    ----------
    rows, pieces : int
    width : int
        Bits of a piece.

    """

    rows: int
    pieces: int = 1
    width: int


class L2Table(SharedBlock):
    """Read-modify-write table: one row per cycle, in any order.

    A row read in one cycle is at `row` in the next, in which it may be written. If the same row
    is read in that cycle, the written value is forwarded. After a reset a sweep clears one row
    per cycle, in ascending order, except in cycles after a read. Meanwhile only rows below
    `sweep.swept` may be read.

    Parameters
    ----------
    config : TableShape

    Members
    -------
    read : In(ResponseSignature(ceil_log2(config.rows)))
        Read a row.
    row : Out(config.pieces * config.width)
        The row read in the last cycle.
    write : In(config.pieces)
        Pieces of that row that are set to `written`.
    written : In(config.width)
    sweep : Out(SweepSignature(ceil_log2(config.rows)))
    """

    def __init__(self, config: TableShape):
        self.config = config
        row_width = ceil_log2(config.rows)
        super().__init__({
            "read": In(ResponseSignature(row_width)),
            "row": Out(config.pieces * config.width),
            "write": In(config.pieces),
            "written": In(config.width),
            "sweep": Out(SweepSignature(row_width)),
        })

    def build(self, platform):
        m = Module()
        rows, pieces, width = self.config.rows, self.config.pieces, self.config.width
        reads, read_row = self.read.valid, self.read.payload
        m.submodules.store = store = Sram(depth=rows, width=pieces * width, granularity=width)
        read: Any = ResponseSignature(store.shape.address_width).create()
        write: Any = SramWriteSignature(store.shape).create()
        connect(m, read, store.read)
        connect(m, write, store.write)
        sweeps, next_row, clears = Signal(init=1), Signal.like(read_row), Signal()
        shown, shown_row = Signal(), Signal.like(read_row, reset_less=True)
        again, forwarded = Signal(), Signal.like(self.row, reset_less=True)
        same = reads & shown & (read_row == shown_row)
        becomes = Cat(
            Mux(self.write[n], self.written, self.row.word_select(n, width)) for n in range(pieces)
        )
        m.d.comb += [
            clears.eq(sweeps & ~shown),  # a row that was read may be written
            self.sweep.swept.eq(next_row),
            self.row.eq(Mux(again, forwarded, store.data)),
            read.valid.eq(reads & ~same),
            read.payload.eq(read_row),
            write.mask.eq(Mux(clears, ~C(0, pieces), self.write)),
            write.address.eq(Mux(clears, next_row, shown_row)),
            write.data.eq(Mux(clears, 0, self.written.replicate(pieces))),
            self.sweep.sweeping.eq(sweeps),
        ]
        m.d.sync += [shown.eq(reads), again.eq(same)]
        with m.If(same):
            m.d.sync += forwarded.eq(becomes)
        with m.If(reads):
            m.d.sync += shown_row.eq(read_row)
        with m.If(clears):
            m.d.sync += [next_row.eq(next_row + 1), sweeps.eq(~next_row.all())]
        return m
