"""Streaming transposer of square blocks, one vector per cycle."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ....config.checks import require_integer
from ....emit.component import Component
from ....lib.streams import ResponseSignature

__all__ = ["Transposer", "TransposerConfig"]


@dataclass(frozen=True, kw_only=True)
class TransposerConfig:
    """Size of the transposed blocks.

    Parameters
    ----------
    size : int
        Vectors of a block, and elements of a vector; 2 or more.
    width : int
        Bits of an element.

    """

    size: int
    width: int

    def __post_init__(self):
        require_integer("size", self.size, 2, 64)
        require_integer("width", self.width, 1, 64)


class Transposer(Component):
    """Streaming n x n transposer: rows in, columns out, one vector per cycle without a pause.

    A step is a cycle with `i.valid`. Steps are counted in blocks of n from reset. Row j of block q
    enters in step ``q * n + j``. Its column j is on `o` in step ``(q + 1) * n + j``, while the
    rows of the next block enter. The latency is therefore n steps, and n more steps with any
    input push out the last block. Nothing changes while `i.valid` is low; `o` is combinational
    from registers.

    n x n registers shift towards row 0 during one block and towards column 0 during the next:
    vectors written as rows are read as columns.

    Parameters
    ----------
    config : TransposerConfig

    Members
    -------
    i : In(ResponseSignature(size * width))
        Step: a vector enters, element 0 lowest, and one leaves.
    o : Out(size * width)
    """

    def __init__(self, config: TransposerConfig):
        self.config = config
        width = config.size * config.width
        super().__init__({"i": In(ResponseSignature(width)), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        size, width = self.config.size, self.config.width
        rows = [Signal(size * width, reset_less=True, name=f"row_{r}") for r in range(size)]
        step = Signal(ceil_log2(size))
        along = Signal()

        with m.If(self.i.valid):
            m.d.sync += step.eq(step + 1)
            with m.If(step == size - 1):
                m.d.sync += [step.eq(0), along.eq(~along)]
            for r, row in enumerate(rows):
                after = rows[r + 1] if r + 1 < size else self.i.payload
                shifted = Cat(row[width:], self.i.payload.word_select(r, width))
                m.d.sync += row.eq(Mux(along, shifted, after))

        m.d.comb += self.o.eq(Mux(along, Cat(row[:width] for row in rows), rows[0]))
        return m
