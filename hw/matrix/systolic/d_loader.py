"""Loader of D: issues the DMA descriptors that fill the accumulator rows of a tile."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...lib.interfaces.shared_memory import Direction, dma_descriptor
from ...lib.streams import ResponseSignature
from ..operation import OperationLimits
from .tracker import SLOT_WIDTH, descriptor_tag

__all__ = ["DLoadSignature", "DLoader", "d_work"]


def d_work(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of the load of D into accumulator rows `base` to `end` - 1.

    D has `height` rows of `bytes` bytes, `pitch` bytes apart, from `address` on, in shared memory
    if `shared`. Column blocks are `i_blocks` blocks of accumulator rows apart.
    """
    width = config.matrix.accumulator_address_width
    return data.StructLayout({
        "slot": SLOT_WIDTH,
        "shared": 1,
        "address": 32,
        "pitch": 32,
        "height": 16,
        "bytes": 16,
        "i_blocks": bits_for(OperationLimits(config=config).i_blocks),
        "base": width,
        "end": width + 1,
    })


class DLoadSignature(wiring.Signature):
    """Start and progress of a load of D.

    Members
    -------
    valid : Out(1)
        `work` begins in this cycle; only while not `active`.
    work : Out(d_work(config))
    active : In(1)
        From the cycle after `valid` until all of D is in the accumulator.
    base, end : In
        Rows `base` to `end` - 1 are filled.
    """

    def __init__(self, config: MatrixUnitConfig):
        width = config.matrix.accumulator_address_width
        super().__init__({
            "valid": Out(1),
            "work": Out(d_work(config)),
            "active": In(1),
            "base": In(width),
            "end": In(width + 1),
        })


class DLoader(Component):
    """Loader of D: one FILL or REFILL per column block, for one operation at a time.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    load : In(DLoadSignature(config))
    descriptor : Out(stream.Signature(dma_descriptor(config.shared)))
        The tag holds the slot, as in `descriptor_tag`.
    done : In(1)
        A descriptor of D has completed.
    arriving : In(1)
        A row of D is valid at the accumulator.
    loaded : Out(ResponseSignature(3))
        Last cycle of a load, with the slot of its operation.

    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__({
            "load": In(DLoadSignature(config)),
            "descriptor": Out(stream.Signature(dma_descriptor(config.shared))),
            "done": In(1),
            "arriving": In(1),
            "loaded": Out(ResponseSignature(SLOT_WIDTH)),
        })

    def elaborate(self, platform):
        m = Module()
        matrix, load = self.config.matrix, self.load
        size, shift = matrix.fill_bytes, exact_log2(matrix.rows)
        work = Signal(d_work(self.config), reset_less=True)
        row = Signal(matrix.accumulator_address_width, reset_less=True)  # first of the block
        # Blocks to be sent, and those sent and not completed.
        sending = Signal()
        unfinished = Signal(range(OperationLimits(config=self.config).j_blocks + 1))
        sends, is_last = Signal(), Signal()
        m.d.comb += [
            load.base.eq(work.base),
            load.end.eq(work.end),
            self.loaded.payload.eq(work.slot),
            self.descriptor.valid.eq(sending),
            sends.eq(sending & self.descriptor.ready),
            is_last.eq(work.bytes <= size),
            self.loaded.valid.eq(load.active & ~sending & ~unfinished.any() & ~self.arriving),
        ]
        m.d.sync += unfinished.eq(unfinished + sends - self.done)
        with m.If(sends):
            m.d.sync += [
                sending.eq(~is_last),
                row.eq(row + (work.i_blocks << shift)),
                work.address.eq(work.address + size),
                work.bytes.eq(work.bytes - size),
            ]
        with m.If(self.loaded.valid):
            m.d.sync += load.active.eq(0)
        with m.If(load.valid):
            m.d.sync += [
                work.eq(load.work),
                row.eq(load.work.base),
                load.active.eq(1),
                sending.eq(1),
            ]
        self.form_descriptor(m, work, row, Mux(is_last, work.bytes, size))
        return m

    def form_descriptor(self, m: Module, work: data.View, row: Value, width: Value):
        """Set the descriptor of one column block, `width` bytes wide."""
        descriptor, size = self.descriptor.payload, self.config.matrix.fill_bytes
        place = row << exact_log2(size)
        m.d.comb += [
            descriptor.direction.eq(Mux(work.shared, Direction.REFILL, Direction.FILL)),
            descriptor.dram.eq(Mux(work.shared, place, work.address)),
            descriptor.dram_pitch.eq(Mux(work.shared, size, work.pitch)),
            descriptor.local.eq(Mux(work.shared, work.address, place)),
            descriptor.local_pitch.eq(Mux(work.shared, work.pitch, size)),
            descriptor.rows.eq(work.height),
            descriptor.bytes.eq(width),
            descriptor.tag.eq(descriptor_tag(work.slot)),
        ]
