"""FP32 unit of a core: multiply-adds, comparisons and conversions of a warp."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import connect

from ....isa.operations import Port
from ..credit_fifo import CreditFifo, CreditFifoConfig
from ..lane_unit import LaneUnit
from .float_lanes import FloatLanes, FloatLanesConfig

__all__ = ["Fp32Unit"]


class Fp32Unit(LaneUnit):
    """FP32 unit: executes `FloatOperation`; see `LaneUnit` for its ports.

    Latency `config.fma_latency` for every operation, plus one cycle per beat after the first if
    there are fewer lanes than threads; one beat per cycle. Results leave in order. While they
    stall, beats are accepted up to the depth of the queue behind the lanes.

    """

    port = Port.FP32

    def connect_lanes(self, m: Module, beats: stream.Interface, parts: stream.Interface):
        """Connect the pipeline of all lanes and the queue behind it."""
        latency = self.config.fma_latency
        m.submodules.lanes = lanes = FloatLanes(FloatLanesConfig(lanes=self.lanes, latency=latency))
        m.submodules.queue = queue = CreditFifo(
            CreditFifoConfig(
                common=self.result_fields,
                result=self.parts.arrays(self.lanes)["result"],
                latency=latency,
            )
        )
        connect(m, self.results_pending(m, beats), queue.i)
        connect(m, queue.o, parts)
        m.d.comb += [
            lanes.operands.operation.eq(beats.payload.common.operation),
            lanes.operands.rounding.eq(beats.payload.common.rounding),
        ]
        for lane in range(self.lanes):
            operands, result = beats.payload.operands[lane], queue.result[lane]
            m.d.comb += [
                *(getattr(lanes.operands, name)[lane].eq(operands[name]) for name in self.operands),
                result.value.eq(lanes.result.o[lane]),
                result.flags.eq(lanes.result.flags[lane]),
            ]
