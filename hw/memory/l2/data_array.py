"""Data array of an L2 slice, with the dirty mask of each line."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.sram import Sram
from .layouts import L2SliceConfig, access_layout

__all__ = ["L2DataArray"]


class L2DataArray(SharedBlock):
    """Data array: reads, merges and writes one line per cycle, and holds its dirty bytes.

    | cycle | an access                                                             |
    |-------|-----------------------------------------------------------------------|
    | 0     | `access` is given; the line and its dirty mask are read               |
    | 1     | `line` and `dirty` are the old contents, `becomes` is the new line    |

    An access right after another to the same line sees its result by forwarding. Data from DRAM
    never overwrites dirty bytes.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    valid : In(1)
    access : In(access_layout(config))
    done : Out(1)
        `last` is the access of the last cycle. The members below refer to it.
    last : Out(access_layout(config))
    write_data : In(8 * config.l2.line_bytes)
    write_strobes : In(config.l2.line_bytes)
        Bytes of its write.
    fill_data : In(8 * config.l2.line_bytes)
        Its refill data from DRAM.
    line : Out(8 * config.l2.line_bytes)
    dirty : Out(config.l2.line_bytes)
    becomes : Out(8 * config.l2.line_bytes)
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        size = config.l2.line_bytes
        super().__init__({
            "valid": In(1),
            "access": In(access_layout(config)),
            "done": Out(1),
            "last": Out(access_layout(config)),
            "write_data": In(8 * size),
            "write_strobes": In(size),
            "fill_data": In(8 * size),
            "line": Out(8 * size),
            "dirty": Out(size),
            "becomes": Out(8 * size),
        })

    def build(self, platform):
        m = Module()
        size, lines = self.config.l2.line_bytes, self.config.l2.lines
        m.submodules.words = words = Sram(depth=lines, width=8 * size)
        m.submodules.masks = masks = Sram(depth=lines, width=size)
        last, again = self.last, Signal()
        kept, kept_dirty = Signal(8 * size, reset_less=True), Signal(size, reset_less=True)
        touched, same, becomes_dirty = Signal(), Signal(), Signal(size)
        m.d.comb += [
            touched.eq(self.done & last.touches),
            same.eq(touched & self.access.touches & (self.access.place == last.place)),
            words.read_enable.eq(self.valid & self.access.touches & ~same),
            words.read_address.eq(self.access.place),
            masks.read_enable.eq(words.read_enable),
            masks.read_address.eq(self.access.place),
            self.line.eq(Mux(again, kept, words.read_data)),
            self.dirty.eq(Mux(again, kept_dirty, masks.read_data)),
        ]
        m.d.sync += self.done.eq(self.valid)
        with m.If(self.valid):
            m.d.sync += [self.last.eq(self.access), again.eq(same)]
            with m.If(same):
                m.d.sync += [kept.eq(self.becomes), kept_dirty.eq(becomes_dirty)]
        self.merge(m)
        m.d.comb += [
            becomes_dirty.eq(
                Mux(last.cleans | last.fresh, 0, self.dirty)
                | Mux(last.writes & ~last.cleans, self.write_strobes, 0)
            ),
            words.write_mask.eq(touched & (last.writes | last.fills)),
            words.write_address.eq(last.place),
            words.write_data.eq(self.becomes),
            masks.write_mask.eq(touched & (last.writes | last.cleans | last.fresh)),
            masks.write_address.eq(last.place),
            masks.write_data.eq(becomes_dirty),
        ]
        return m

    def merge(self, m: Module):
        """Merge into the line the written bytes, or refill data for bytes that are not dirty."""
        size, last = self.config.l2.line_bytes, self.last
        new = Mux(last.writes, self.write_data, self.fill_data)
        mask = Mux(last.writes, self.write_strobes, ~self.dirty)
        m.d.comb += self.becomes.eq(self.line)
        with m.If(last.writes | last.fills):
            m.d.comb += self.becomes.eq(
                Cat(
                    Mux(mask[n], new.word_select(n, 8), self.line.word_select(n, 8))
                    for n in range(size)
                )
            )
