"""Operand stage of the integer unit: operands of whole warps, split into beats."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....config import PipelineConfig
from ....emit.component import Component
from ....lib.carry_select import CarrySelectAddConfig, carry_select
from ....lib.interfaces.execution_unit import operation_layout
from ..lane_dispatch import LaneDispatch
from .integer_beats import PASSED, operand_beats
from .integer_lanes import properties

__all__ = ["IntegerOperands"]


class IntegerOperands(Component):
    """Operand stage: pc and immediate multiplexed into the operands. Combinational.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
        Accepted with the last beat.
    o : Out(stream.Signature(operand_beats(config).beat_layout))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.beats = operand_beats(config)
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "o": Out(stream.Signature(self.beats.beat_layout)),
        })

    def elaborate(self, platform):
        m = Module()
        i, threads = self.i.payload, self.config.threads
        m.submodules.lane_dispatch = lane_dispatch = LaneDispatch(self.beats)
        warp = stream.Signature(self.beats.warp_layout).create(path=("operands",))
        operands = warp.payload
        (by_register,) = properties(m, i.operation, "by_register")
        takes_immediate = i.b_is_immediate | by_register
        relative = CarrySelectAddConfig(width=32, blocks=(10, 21))
        carry_select(m, platform, relative, o=operands.common.relative, a=i.pc, b=i.immediate)
        m.d.comb += [
            warp.valid.eq(self.i.valid),
            self.i.ready.eq(warp.ready),
            operands.a.eq(Mux(i.a_is_pc, i.pc.replicate(threads), i.operands[0])),
            operands.b.eq(Mux(takes_immediate, i.immediate.replicate(threads), i.operands[1])),
            operands.common.next.eq(i.pc + 4),
            *(operands.common[name].eq(i[name]) for name in (*PASSED, "operation")),
        ]
        if self.config.warp_operations:
            m.d.comb += operands.common.sources.eq(operands.a)
        connect(m, warp, lane_dispatch.i)
        connect(m, lane_dispatch.o, flipped(self.o))
        return m
