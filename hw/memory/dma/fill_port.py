"""Fill port of the DMA: lines of FILL and REFILL descriptors as rows of accumulators."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...config import DmaBlockConfig
from ...config.memory import WORD_BYTES
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import numbered
from ...lib.interfaces.shared_memory import fill_row
from ...lib.merge import Merge
from .layouts import dma_line, port_width

__all__ = ["FillPort", "fill_line"]


def fill_line(config: DmaBlockConfig) -> data.StructLayout:
    """Return the layout of a line and the number of the matrix unit that it is for."""
    return data.StructLayout({"line": dma_line(config), "unit": port_width(config)})


class FillPort(SharedBlock):
    """Fill port: merges lines round-robin and forwards each to its unit as a masked row.

    A line lies within one row of an accumulator; it covers part of a row, or a row is part of it.
    Latency 1 cycle, one line per cycle.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    line_0, line_1, … : In(stream.Signature(fill_line(config)))
        From the read side and the write side of each master.
    fill, fill1, … : Out(stream.Signature(fill_row(config.shared, fill_bytes)))
        To each matrix unit that loads D.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        members: dict[str, Any] = {
            f"line_{k}": In(stream.Signature(fill_line(config)))
            for k in range(2 * config.axi.masters)
        }
        for number, size in enumerate(config.fill_bytes):
            if size:
                row = fill_row(config.shared, size)
                members[numbered("fill", number)] = Out(stream.Signature(row))
        super().__init__(members)

    def build(self, platform):
        m = Module()
        lines = 2 * self.config.axi.masters
        m.submodules.merge = merge = Merge(fill_line(self.config), lines)
        for k in range(lines):
            connect(m, flipped(getattr(self, f"line_{k}")), merge.i[k])
        for number, size in enumerate(self.config.fill_bytes):
            if size:
                self.form_row(m, merge.o, number, size)
        return m

    def form_row(self, m: Module, merged: stream.Interface, number: int, size: int):
        """Forward lines of matrix unit `number` as rows of `size` bytes."""
        line, beat = merged.payload.payload.line, self.config.axi.beat_bytes
        row = getattr(self, numbered("fill", number))
        is_own = merged.payload.payload.unit == number
        words = Cat(line.mask[byte] for byte in range(0, beat, WORD_BYTES))
        m.d.comb += row.valid.eq(merged.valid & is_own)
        with m.If(is_own):
            m.d.comb += merged.ready.eq(row.ready)
        low, high = exact_log2(min(beat, size)), exact_log2(max(beat, size))
        if size >= beat:
            parts = size // beat
            place = line.address[low:high]
            m.d.comb += [
                row.p.row.eq(line.address[high:]),
                row.p.data.eq(line.data.replicate(parts)),
                row.p.mask.eq(Cat(Mux(place == part, words, 0) for part in range(parts))),
            ]
            return
        count = size // WORD_BYTES
        for part in range(beat // size):
            of_part = words.word_select(part, count)
            with m.If(of_part.any()):
                m.d.comb += [
                    row.p.row.eq(Cat(C(part, high - low), line.address[high:])),
                    row.p.data.eq(line.data.word_select(part, 8 * size)),
                    row.p.mask.eq(of_part),
                ]
