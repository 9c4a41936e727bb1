"""Operand buffers: the lines of A and B of the products that are computed or fetched."""

from amaranth import *
from amaranth.lib.wiring import In

from ...emit.component import Component
from ...lib.sram import Sram
from .config import READ_BYTES, SharedFedConfig
from .layouts import OPERAND_LINES, SLOTS, numbers_layout
from .signatures import BlockReadSignature, OperandLineSignature, RowReadSignature

__all__ = ["OperandBuffers"]


class OperandBuffers(Component):
    """Operand buffers: an SRAM for A and one for B, with a slot for each of `SLOTS` products.

    Parameters
    ----------
    config : SharedFedConfig

    Members
    -------
    line : In(OperandLineSignature())
    row : In(RowReadSignature(config))
        Numbers of A for a step.
    block : In(BlockReadSignature())
        Lines of B.
    """

    def __init__(self, config: SharedFedConfig):
        self.config = config
        super().__init__({
            "line": In(OperandLineSignature()),
            "row": In(RowReadSignature(config)),
            "block": In(BlockReadSignature()),
        })

    def elaborate(self, platform):
        m = Module()
        slot = Signal(range(SLOTS))
        m.d.sync += slot.eq(slot + self.row.free)
        m.submodules.a = a = Sram(depth=SLOTS * OPERAND_LINES, width=8 * READ_BYTES)
        m.submodules.b = b = Sram(depth=SLOTS * OPERAND_LINES, width=8 * READ_BYTES)
        for sram, arrives in ((a, ~self.line.is_b), (b, self.line.is_b)):
            m.d.comb += [
                sram.write.mask.eq(self.line.write & arrives),
                sram.write.address.eq(Cat(self.line.line, self.line.slot)),
                sram.write.data.eq(self.line.data),
            ]
        m.d.comb += [
            a.read.valid.eq(self.row.read),
            a.read.payload.eq(Cat(self.row.step.row, self.row.step.set[-1], slot)),
            b.read.valid.eq(self.block.enable),
            b.read.payload.eq(self.block.address),
            self.block.data.eq(b.data),
        ]
        self.select_row(m, a.data)
        return m

    def select_row(self, m: Module, line: Value):
        """Select the numbers of A of the step that started in the previous cycle."""
        config = self.config
        width = 32 * config.step_words  # bits of a row in a set
        numbers = line.word_select(self.row.selected.set[:-1], width)  # of the half of a row
        row = Signal(numbers_layout(config), reset_less=True)
        # TF32 is the upper bits of a word.
        container, used = config.operand_width, len(Value.cast(row)) // config.terms
        ends = range(container, width + 1, container)
        m.d.sync += Value.cast(row).eq(Cat(numbers[end - used : end] for end in ends))
        m.d.comb += self.row.row.eq(row)
