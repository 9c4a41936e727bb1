"""Result drain: registers of a finished tile of accumulators on their way to writeback."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.interfaces.execution_unit import REGISTERS, result_layout
from .config import SharedFedConfig
from .layouts import product_layout

__all__ = ["ResultDrain"]


class ResultDrain(Component):
    """Result drain: offers the 32 registers of one product after the other as results.

    The first result follows two cycles after `drainable`, the others one per cycle. The results of
    a product are in order, all but the last marked ``more``.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    drainable : In(1), info : In(product_layout(config))
        A product has its results; until `drained`.
    read : Out(1), register : Out(range(32)), values : In(ArrayLayout(32, 8))
        Registers of its tile, one cycle later; they hold.
    drained : Out(1)
        The last result leaves.
    o : Out(stream.Signature(result_layout(config)))
    """

    def __init__(self, config: PipelineConfig):
        self.registers = registers = SharedFedConfig.of(config.tensor).registers
        super().__init__({
            "drainable": In(1),
            "info": In(product_layout(config)),
            "read": Out(1),
            "register": Out(range(registers)),
            "values": In(data.ArrayLayout(32, config.threads)),
            "drained": Out(1),
            "o": Out(stream.Signature(result_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        first_float, result = REGISTERS - self.registers, self.o.payload
        number = Signal(range(self.registers + 1))  # registers read so far
        offered = Signal(range(self.registers), reset_less=True)
        is_last = offered == self.registers - 1
        leaves = ~self.o.valid | self.o.ready
        m.d.comb += [
            self.read.eq(self.drainable & (number != self.registers) & leaves),
            self.register.eq(number),
            self.drained.eq(self.o.valid & self.o.ready & is_last),
            *(result[name].eq(self.info[name]) for name in ("warp", "mask", "pc")),
            result.rd.eq(first_float + offered),
            result.writes.eq(1),
            result.more.eq(~is_last),
            Value.cast(result.values).eq(Value.cast(self.values)),
        ]
        m.d.sync += number.eq(Mux(self.drained, 0, number + self.read))
        with m.If(leaves):
            m.d.sync += self.o.valid.eq(self.read)
        with m.If(self.read):
            m.d.sync += offered.eq(number)
        return m
