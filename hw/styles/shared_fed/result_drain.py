"""Result drain: registers of a finished tile of accumulators on their way to writeback."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.interfaces.execution_unit import REGISTERS, result_layout
from .config import SharedFedConfig
from .signatures import DrainSignature, TileDrainSignature

__all__ = ["ResultDrain"]


class ResultDrain(Component):
    """Result drain: offers the 32 registers of one product after the other as results.

    The first result follows two cycles after the product is drainable, the others one per cycle.
    The results of a product are in order, all but the last marked ``more``.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    product : In(DrainSignature(config))
    tile : Out(TileDrainSignature(SharedFedConfig.of(config.tensor)))
    o : Out(stream.Signature(result_layout(config)))
    """

    def __init__(self, config: PipelineConfig):
        tensor = SharedFedConfig.of(config.tensor)
        self.registers = tensor.registers
        super().__init__({
            "product": In(DrainSignature(config)),
            "tile": Out(TileDrainSignature(tensor)),
            "o": Out(stream.Signature(result_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        first_float, result = REGISTERS - self.registers, self.o.payload
        number = Signal(range(self.registers + 1))  # registers read so far
        offered = Signal(range(self.registers), reset_less=True)
        is_last = offered == self.registers - 1
        leaves = ~self.o.valid | self.o.ready
        product, tile, read = self.product, self.tile, Signal()
        m.d.comb += [
            read.eq(product.drainable & (number != self.registers) & leaves),
            tile.tiles.eq(Mux(read, product.tile, 0)),
            tile.register.eq(number),
            product.drained.eq(self.o.valid & self.o.ready & is_last),
            *(result[name].eq(product.info[name]) for name in ("warp", "mask", "pc")),
            result.rd.eq(first_float + offered),
            result.writes.eq(1),
            result.more.eq(~is_last),
            Value.cast(result.values).eq(Value.cast(tile.values)),
        ]
        m.d.sync += number.eq(Mux(product.drained, 0, number + read))
        with m.If(leaves):
            m.d.sync += self.o.valid.eq(read)
        with m.If(read):
            m.d.sync += offered.eq(number)
        return m
