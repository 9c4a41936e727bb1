"""FP32 unit of a core: multiply-adds, comparisons and conversions of a warp."""

from amaranth import *
from amaranth.lib import wiring

from ....isa.operations import Port
from ....lib.pipeline import delayed
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

    def connect_lanes(self, m, beats, parts):
        """Connect the pipeline of all lanes and the queue behind it."""
        latency = self.config.fma_latency
        m.submodules.lanes = lanes = FloatLanes(FloatLanesConfig(lanes=self.lanes, latency=latency))
        m.submodules.queue = queue = CreditFifo(
            CreditFifoConfig(shape=self.parts.part_layout, latency=latency)
        )
        (kept,) = delayed(m, latency, kept=beats.payload.common.kept)
        m.d.comb += [
            lanes.operands.operation.eq(beats.payload.common.operation),
            lanes.operands.rounding.eq(beats.payload.common.rounding),
            queue.payload.common.eq(kept),
            queue.begins.eq(beats.valid),
            beats.ready.eq(queue.ready),
        ]
        for lane in range(self.lanes):
            operands, result = beats.payload.operands[lane], queue.payload.result[lane]
            m.d.comb += [
                *(getattr(lanes.operands, name)[lane].eq(operands[name]) for name in self.operands),
                result.value.eq(lanes.result.o[lane]),
                result.flags.eq(lanes.result.flags[lane]),
            ]
        wiring.connect(m, queue.o, parts)
