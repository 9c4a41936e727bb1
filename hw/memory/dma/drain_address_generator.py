"""Address generator of the DMA for the results of matrix units."""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.carry_select import add_in_halves
from ...lib.interfaces.shared_memory import Direction, dma_descriptor
from .layouts import port_width

__all__ = ["DrainAddressGenerator", "drain_place"]

#: Destination of a beat, and the number of its low bytes to write.
drain_place = data.StructLayout({"address": 32, "bytes": 8})


def place_registers() -> SimpleNamespace:
    """Return the registers of a walk over column blocks."""
    widths = {
        "address": 32,  # of the next beat
        "next_row": 32,
        "next_block": 32,
        "pitch": 32,
        "block": 8,
        "block_left": 8,  # bytes of this row of the block, from here on
        "row_valid": 8,  # bytes of a row of this block within the matrix
        "valid_left": 8,  # the same, from here on
        "columns_left": 16,  # bytes of a row of the matrix, after this block
        "last_block": 1,
        "rows": 16,  # after the first
        "rows_left": 16,  # of this block, after this one
    }
    return SimpleNamespace(**{
        name: Signal(width, name=name, reset_less=True) for name, width in widths.items()
    })


class DrainAddressGenerator(SharedBlock):
    """Address generator for results: by column block, then by row, then by beat.

    A row of a block has ``ceil(block / drain_bytes)`` beats of the matrix unit that drains. In the
    last block only bytes within the matrix are written; a beat outside has 0 bytes. The first
    address is valid one cycle after the descriptor, then one per cycle.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    i : In(stream.Signature(dma_descriptor(config.shared)))
    unit : In(port_width(config))
        Number of the matrix unit that drains for `i`.
    o : Out(stream.Signature(drain_place))
    busy : Out(1)
        Beats remain.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(dma_descriptor(config.shared))),
            "unit": In(port_width(config)),
            "o": Out(stream.Signature(drain_place)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        at = place_registers()
        beat = self.beat_bytes(m)
        row_ends = Signal()
        m.d.comb += [
            row_ends.eq(at.block_left <= beat),
            self.i.ready.eq(~self.busy),
            self.o.valid.eq(self.busy),
            self.o.payload.address.eq(at.address),
            self.o.payload.bytes.eq(Mux(at.valid_left <= beat, at.valid_left, beat)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [
                at.address.eq(add_in_halves(at.address, beat, 32)),
                at.block_left.eq(at.block_left - beat),
                at.valid_left.eq(Mux(at.valid_left <= beat, 0, at.valid_left - beat)),
            ]
            with m.If(row_ends & at.rows_left.any()):
                m.d.sync += [
                    at.address.eq(at.next_row),
                    at.next_row.eq(add_in_halves(at.next_row, at.pitch, 32)),
                    at.block_left.eq(at.block),
                    at.valid_left.eq(at.row_valid),
                    at.rows_left.eq(at.rows_left - 1),
                ]
            with m.Elif(row_ends):
                m.d.sync += self.busy.eq(~at.last_block)
                self.enter_block(m, at, at.next_block, at.pitch, at.block, at.columns_left)
                m.d.sync += at.rows_left.eq(at.rows)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += self.busy.eq(1)
            self.begin(m, at, self.i.payload)
        return m

    def beat_bytes(self, m: Module) -> Value:
        """Return the bytes of a beat of the descriptor in progress."""
        sizes = self.config.drain_bytes
        if len(set(sizes)) == 1:
            return Const(sizes[0])
        beat = Signal(8, reset_less=True)
        with m.If(self.i.valid & self.i.ready), m.Switch(self.unit):
            for unit, size in enumerate(sizes):
                with m.Case(unit):
                    m.d.sync += beat.eq(size)
        return beat

    def enter_block(
        self,
        m: Module,
        at: SimpleNamespace,
        start: Value,
        pitch: Value,
        width: Value,
        columns: Value,
    ):
        """Start the first row of a block of `width` bytes, with `columns` of the matrix left."""
        valid = Mux(columns < width, columns, width)
        m.d.sync += [
            at.address.eq(start),
            at.next_row.eq(add_in_halves(start, pitch, 32)),
            at.next_block.eq(add_in_halves(start, width, 32)),
            at.block_left.eq(width),
            at.valid_left.eq(valid),
            at.row_valid.eq(valid),
            at.last_block.eq(columns <= width),
            at.columns_left.eq(columns - width),
        ]

    def begin(self, m: Module, at: SimpleNamespace, descriptor: data.View):
        """Start at the first beat of a descriptor."""
        spills = descriptor.direction == Direction.SPILL
        start = Mux(spills, descriptor.local, descriptor.dram)
        pitch = Mux(spills, descriptor.local_pitch, descriptor.dram_pitch)
        self.enter_block(m, at, start, pitch, descriptor.block, descriptor.bytes)
        m.d.sync += [
            at.pitch.eq(pitch),
            at.block.eq(descriptor.block),
            at.rows.eq(descriptor.rows - 1),
            at.rows_left.eq(descriptor.rows - 1),
        ]
