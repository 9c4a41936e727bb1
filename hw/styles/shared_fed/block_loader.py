"""Block loader: collects the numbers of B that 16 steps of a matrix product share."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.formats import FORMATS
from ...emit.component import Component
from .config import READ_BYTES, SharedFedConfig
from .layouts import HALF_LINES, OPERAND_LINES, SLOTS, columns_layout, step_layout
from .signatures import BlockReadSignature, BlockSignature

__all__ = ["BlockLoader"]


def set_lines(config: SharedFedConfig) -> int:
    """Return the lines of B in a set: 4, 8 or 16."""
    return OPERAND_LINES // config.sets


class BlockLoader(Component):
    """Block loader: reads the lines of a block's set, and keeps the numbers of its columns.

    It loads the blocks of all products in their order. A block takes one cycle for each line of a
    set, at most the 16 cycles of its steps, so blocks follow each other without a gap. Two
    registers hold the block in use and the next one.

    ===========================  ================================================================
    cycle                        event
    ===========================  ================================================================
    0                            the last line of the block is read, after it `arrived`
    1                            `ready`: the first step of the block may begin
    1 (or later)                 `begin`, with that step; the next block is read from now on
    3                            the block is on `columns`, for the 16 steps from `begin` on
    ===========================  ================================================================

    Parameters
    ----------
    config : SharedFedConfig

    Members
    -------
    arrived : In(range(2 * OPERAND_LINES + 1)).array(SLOTS)
        See `SharedFedFetch`.
    read : Out(BlockReadSignature())
    block : Out(BlockSignature(config))
    """

    def __init__(self, config: SharedFedConfig):
        self.config = config
        super().__init__({
            "arrived": In(range(2 * OPERAND_LINES + 1)).array(SLOTS),
            "read": Out(BlockReadSignature()),
            "block": Out(BlockSignature(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lines = set_lines(config)
        place = data.StructLayout({
            "line": range(lines),
            "group": step_layout(config)["group"].shape,
            "set": step_layout(config)["set"].shape,
            "slot": range(SLOTS),
        })
        at = Signal(place)
        line = Signal(range(OPERAND_LINES))
        present = Mux(at.slot, self.arrived[1], self.arrived[0])
        # The second half of A arrives between the halves of B.
        before = Mux(line[-1], 2 * HALF_LINES, HALF_LINES)
        may_read = ~self.block.ready | self.block.begin
        m.d.comb += [
            line.eq(Cat(at.line, at.set)),
            self.read.request.valid.eq(may_read & (present > before + line)),
            self.read.request.payload.eq(Cat(line, at.slot)),
        ]
        is_last = at.line == lines - 1
        m.d.sync += self.block.ready.eq(
            (self.block.ready & ~self.block.begin) | (self.read.request.valid & is_last)
        )
        with m.If(self.read.request.valid):
            m.d.sync += Value.cast(at).eq(Value.cast(at) + 1)
        self.assemble(m, at)
        return m

    def assemble(self, m: Module, at: data.View):
        """Keep the numbers of the lines that were read, and pass on whole blocks."""
        config = self.config
        was_read, begun = Signal(), Signal()
        line, group = Signal.like(at.line), Signal.like(at.group)
        m.d.sync += [was_read.eq(self.read.request.valid), begun.eq(self.block.begin)]
        with m.If(self.read.request.valid):
            m.d.sync += [line.eq(at.line), group.eq(at.group)]
        following = Signal(columns_layout(config), reset_less=True)
        width = FORMATS[config.operand].width
        for column in range(config.dot_products):
            for term in range(config.terms):
                places = [
                    divmod(self.byte_of(term, column + first), READ_BYTES)
                    for first in range(0, config.side, config.dot_products)
                ]
                here = Cat(line == own for own, _ in places)
                numbers = [self.number_at(byte) for _, byte in places]
                with m.If(was_read & here.bit_select(group, 1)):
                    m.d.sync += following[column][term].eq(Cat(numbers).word_select(group, width))
        with m.If(begun):
            m.d.sync += Value.cast(self.block.columns).eq(following)

    def byte_of(self, term: int, column: int) -> int:
        """Return the first byte of a number of B within its set."""
        return (term * self.config.side + column) * self.config.operand_width // 8

    def number_at(self, byte: int) -> Value:
        """Return the number at a byte of the line; TF32 is the upper bits of a word."""
        last = 8 * byte + self.config.operand_width
        return self.read.data[last - FORMATS[self.config.operand].width : last]
