"""Operand buffers: the lines of A and B of the products that are computed or fetched."""

from amaranth import *
from amaranth.lib.wiring import In, connect, flipped

from ...emit.component import Component
from ...lib.sram import Sram
from .config import SharedFedConfig
from .layouts import SLOTS, numbers_layout
from .signatures import OPERAND_BUFFER, BlockReadSignature, OperandLineSignature, RowReadSignature

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
        m.submodules.a = a = Sram(depth=OPERAND_BUFFER.depth, width=OPERAND_BUFFER.width)
        m.submodules.b = b = Sram(depth=OPERAND_BUFFER.depth, width=OPERAND_BUFFER.width)
        connect(m, flipped(self.line.a), a.write)
        connect(m, flipped(self.line.b), b.write)
        connect(m, flipped(self.block.request), b.read)
        m.d.comb += [
            a.read.valid.eq(self.row.read),
            a.read.payload.eq(Cat(self.row.step.row, self.row.step.set[-1], slot)),
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
