"""Address generator of the DMA: walks the rows of a descriptor and cuts them into segments."""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.carry_select import add_in_halves
from ...lib.interfaces.shared_memory import dma_descriptor
from .layouts import dma_segment

__all__ = ["AddressGenerator"]


def walk_registers(local_width: int) -> SimpleNamespace:
    """Return the registers of the address generator."""
    widths = {
        "dram": 32,  # of the next segment
        "dram_pitch": 32,
        "next_dram": 32,  # of the next row
        "local": local_width,
        "local_pitch": local_width,
        "next_local": local_width,
        "bytes": 16,  # of a row
        "tail": 16,  # zeros after the bytes of a row
        "width": 16,  # bytes and zeros of a row
        "left": 16,  # of these bytes or zeros
        "rows_left": 16,  # rows after this one that are read
        "zeros_left": 16,  # rows of zeros after those
        "has_tail": 1,
        "zero": 1,
    }
    return SimpleNamespace(**{
        name: Signal(width, name=name, reset_less=True) for name, width in widths.items()
    })


class AddressGenerator(SharedBlock):
    """Address generator: cuts a 2-D descriptor into segments within blocks of DRAM.

    No segment crosses a block of `axi.interleave_bytes`. Rows are in order, with ascending
    addresses within a row. Zeros follow the bytes of a row up to `fill_bytes`, and rows of zeros
    follow the last row up to `fill_rows`. Zeros are cut as if they were in the blocks that
    follow. The first segment is valid one cycle after the descriptor, then one per cycle; a
    refused segment is held. The next descriptor is accepted the cycle after the last segment.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    i : In(stream.Signature(dma_descriptor(config.shared)))
        Only its geometry is used.
    o : Out(stream.Signature(dma_segment(config)))
    busy : Out(1)
        Segments remain.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(dma_descriptor(config.shared))),
            "o": Out(stream.Signature(dma_segment(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        segment = self.o.payload
        block = self.config.axi.interleave_bytes
        at = walk_registers(self.config.shared.address_width)
        room = Signal(range(block + 1))
        run_ends = Signal()
        m.d.comb += [
            room.eq(block - at.dram[: exact_log2(block)]),
            run_ends.eq(at.left <= room),
            self.i.ready.eq(~self.busy),
            self.o.valid.eq(self.busy),
            segment.dram.eq(at.dram),
            segment.local.eq(at.local),
            segment.bytes.eq(Mux(run_ends, at.left, room)),
            segment.zero.eq(at.zero),
        ]
        with m.If(self.o.valid & self.o.ready):
            self.advance(m, at, room, run_ends)
            with m.If(run_ends & (at.zero | ~at.has_tail)):
                self.enter_row(m, at)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += self.busy.eq(1)
            self.begin(m, at, self.i.payload)
        return m

    def advance(self, m: Module, at: SimpleNamespace, room: Value, run_ends: Value):
        """Step past a segment that does not end its row."""
        width = exact_log2(self.config.axi.interleave_bytes)
        # Both possible ends of the segment, computed before `run_ends` is known.
        after_left = add_in_halves(at.local, at.left, len(at.local))
        after_room = add_in_halves(at.local, room, len(at.local))
        m.d.sync += [
            at.dram.eq(Cat(Const(0, width), at.dram[width:] + 1)),
            at.local.eq(Mux(run_ends, after_left, after_room)),
            at.left.eq(Mux(run_ends, at.tail, at.left - room)),
            at.zero.eq(at.zero | run_ends),
        ]

    def enter_row(self, m: Module, at: SimpleNamespace):
        """Step to the next row, or end the walk."""
        m.d.sync += [
            at.dram.eq(at.next_dram),
            at.local.eq(at.next_local),
            at.next_dram.eq(add_in_halves(at.next_dram, at.dram_pitch, 32)),
            at.next_local.eq(at.next_local + at.local_pitch),
        ]
        with m.If(at.rows_left.any()):
            m.d.sync += [at.rows_left.eq(at.rows_left - 1), at.left.eq(at.bytes), at.zero.eq(0)]
        with m.Else():
            m.d.sync += [at.zeros_left.eq(at.zeros_left - 1), at.left.eq(at.width), at.zero.eq(1)]
            m.d.sync += self.busy.eq(at.zeros_left.any())

    def begin(self, m: Module, at: SimpleNamespace, descriptor: data.View):
        """Start at the first byte of a descriptor."""
        wider = descriptor.fill_bytes > descriptor.bytes
        m.d.sync += [
            at.dram.eq(descriptor.dram),
            at.dram_pitch.eq(descriptor.dram_pitch),
            at.next_dram.eq(add_in_halves(descriptor.dram, descriptor.dram_pitch, 32)),
            at.local.eq(descriptor.local),
            at.local_pitch.eq(descriptor.local_pitch),
            at.next_local.eq(descriptor.local + descriptor.local_pitch),
            at.bytes.eq(descriptor.bytes),
            at.left.eq(descriptor.bytes),
            at.zero.eq(0),
            at.has_tail.eq(wider),
            at.tail.eq(descriptor.fill_bytes - descriptor.bytes),
            at.width.eq(Mux(wider, descriptor.fill_bytes, descriptor.bytes)),
            at.rows_left.eq(descriptor.rows - 1),
            at.zeros_left.eq(
                Mux(
                    descriptor.fill_rows > descriptor.rows,
                    descriptor.fill_rows - descriptor.rows,
                    0,
                )
            ),
        ]
