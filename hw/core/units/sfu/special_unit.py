"""Special function unit: reciprocals, roots, powers, logarithms and sines of a warp."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import connect

from ....arith.special.special_function import SpecialFunction, SpecialFunctionConfig
from ....isa.operations import Port
from ..credit_fifo import CreditFifo, CreditFifoConfig
from ..lane_unit import LaneUnit

__all__ = ["SpecialUnit"]


class SpecialUnit(LaneUnit):
    """Special function unit: executes `SpecialFunction`; see `LaneUnit` for its ports.

    One beat per cycle, with the latency of a lane. A warp of several beats waits for them in a
    register in front. Results leave in order and raise no flags. While they stall, beats are
    accepted up to the depth of the queue behind the lanes.

    """

    port = Port.SPECIAL
    has_flags = False
    holds = True
    lane = SpecialFunctionConfig()

    def connect_lanes(self, m: Module, beats: stream.Interface, parts: stream.Interface):
        """Connect the pipelines of all lanes and the queue behind them."""
        m.submodules.queue = queue = CreditFifo(
            CreditFifoConfig(
                common=self.result_fields,
                result=self.parts.arrays(self.lanes)["result"],
                latency=self.lane.latency,
            )
        )
        connect(m, self.results_pending(m, beats), queue.i)
        connect(m, queue.o, parts)
        for number in range(self.lanes):
            m.submodules[f"lane_{number}"] = lane = SpecialFunction(self.lane)
            m.d.comb += [
                lane.operation.eq(beats.payload.common.operation),
                lane.a.eq(beats.payload.operands[number].a),
                queue.result[number].value.eq(lane.o),
            ]
