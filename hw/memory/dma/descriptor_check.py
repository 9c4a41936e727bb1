"""Descriptor check of the DMA: refuses transfers outside memory."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import DRAM_BASE, DRAM_END
from ...lib.carry_select import add_in_halves
from ...lib.interfaces.shared_memory import Direction
from .layouts import dma_request, dma_work

__all__ = ["DescriptorCheck"]


class DescriptorCheck(SharedBlock):
    """Descriptor check: computes the end of a transfer on both sides and refuses invalid ones.

    Refused are sizes of zero, bytes outside ``DRAM_BASE .. DRAM_END`` if DRAM takes part, and
    bytes outside shared memory if that takes part. ``(rows - 1) * pitch`` is multiplied one bit
    per cycle until no set bit is left. Latency 2 cycles and one per bit of ``rows - 1``; one
    descriptor at a time.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    i : In(stream.Signature(dma_request(config)))
    o : Out(stream.Signature(dma_work(config)))
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(dma_request(config))),
            "o": Out(stream.Signature(dma_work(config))),
        })

    def build(self, platform):
        m = Module()
        i = self.i.payload
        held = Signal(dma_request(self.config), reset_less=True)
        width = Signal(16, reset_less=True)
        loads = i.direction == Direction.LOAD
        fills_rows = loads & (i.fill_rows > i.rows)

        active, based = Signal(), Signal()
        accepts, bases = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~active),
            accepts.eq(self.i.valid & self.i.ready),
            bases.eq(active & ~based),
        ]
        dram_end, dram_left = self.multiply(
            m, accepts, i.rows - 1, i.dram_pitch, bases, held.dram, held.bytes
        )
        local_rows = Mux(fills_rows, i.fill_rows - 1, i.rows - 1)
        local_end, local_left = self.multiply(
            m, accepts, local_rows, i.local_pitch, bases, held.local, width
        )
        # The end in an accumulator is not checked: a matrix unit only names its own rows.
        uses_dram = (held.direction != Direction.SPILL) & (held.direction != Direction.REFILL)
        uses_local = (held.direction != Direction.DRAIN) & (held.direction != Direction.FILL)
        from_matrix = (held.direction == Direction.DRAIN) | (held.direction == Direction.SPILL)
        empty = ~held.rows.any() | ~held.bytes.any() | (from_matrix & ~held.block.any())
        outside_dram = (held.dram < DRAM_BASE) | (dram_end > DRAM_END)
        outside_local = local_end > self.config.shared.size

        work = self.o.payload
        m.d.comb += [
            self.o.valid.eq(based & ~dram_left & ~local_left),
            work.host.eq(held.host),
            work.refused.eq(empty | (uses_dram & outside_dram) | (uses_local & outside_local)),
        ]
        m.d.comb += [work.descriptor[name].eq(held[name]) for name, _ in work.descriptor.shape()]
        with m.If(accepts):
            fills = loads & (i.fill_bytes > i.bytes)
            m.d.sync += [active.eq(1), held.eq(i), width.eq(Mux(fills, i.fill_bytes, i.bytes))]
        with m.If(bases):
            m.d.sync += based.eq(1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [active.eq(0), based.eq(0)]
        return m

    def multiply(
        self,
        m: Module,
        accepts: Value,
        rows: Value,
        step: Value,
        bases: Value,
        start: Value,
        width: Value,
    ):
        """Return ``start + width + rows * step``, and a value that is 0 once the sum is valid.

        `rows` and `step` are sampled a cycle before `start` and `width`. For a sum of 2**33 or more
        only the top bit is valid.
        """
        total = Signal(34, reset_less=True)
        shifted = Signal(33, reset_less=True)
        bits_left = Signal(16, reset_less=True)
        lost = Signal(reset_less=True)  # set bits of `shifted` were shifted out
        added = add_in_halves(total[:33], shifted, 34)
        with m.If(accepts):
            m.d.sync += [shifted.eq(step), bits_left.eq(rows), lost.eq(0)]
        with m.Elif(bases):
            m.d.sync += total.eq(add_in_halves(start, width, 34))
        with m.Else():
            m.d.sync += [
                shifted.eq(shifted << 1),
                lost.eq(lost | shifted[-1]),
                bits_left.eq(bits_left >> 1),
            ]
            with m.If(bits_left[0]):
                m.d.sync += total.eq(added | Cat(Const(0, 33), total[33] | lost))
        return total, bits_left.any()
