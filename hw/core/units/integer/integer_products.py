"""Products of the integer unit: a multiply lane for each lane of a beat."""

from amaranth import *
from amaranth.lib.wiring import In, connect, flipped

from ....config import PipelineConfig
from ....emit.component import Component
from ....isa.operations import Port
from ..writeback_slots import LateResultSignature
from .integer_beats import slots_config
from .multiply_lane import FactorsSignature, MultiplyLane, MultiplyLaneConfig

__all__ = ["IntegerProducts"]


class IntegerProducts(Component):
    """Products of a beat, in step with the late results of the writeback slots.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    factors : In(FactorsSignature()).array(lanes)
    result : In(LateResultSignature(slots_config(config)))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.lanes = config.lanes(Port.INT)
        super().__init__({
            "factors": In(FactorsSignature()).array(self.lanes),
            "result": In(LateResultSignature(slots_config(config))),
        })

    def elaborate(self, platform):
        m = Module()
        result = self.result
        config = MultiplyLaneConfig(registers=self.config.multiply_latency - 1)
        for k in range(self.lanes):
            m.submodules[f"multiply_{k}"] = lane = MultiplyLane(config)
            connect(m, flipped(self.factors[k]), lane.factors)
            m.d.comb += [
                lane.enable.eq(result.enable),
                lane.high.eq(result.next_common.is_high),
                result.late_value[k].eq(lane.o),
            ]
        return m
