"""Result stage of the integer unit: beats gathered to the results of whole warps."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....config import PipelineConfig
from ....emit.component import Component
from ....lib.interfaces.execution_unit import result_layout
from ....lib.register_slices import SkidBuffer
from ..lane_dispatch import LaneGather
from .integer_beats import PASSED, result_beats, slots_config

__all__ = ["IntegerResults"]


class IntegerResults(Component):
    """Result stage: a lane gather for products and one for other results, which may overtake them.

    Latency 0; `i.ready` does not depend on `o.ready` combinationally.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(slots_config(config).layout))
    o : Out(stream.Signature(result_layout(config)))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(slots_config(config).layout)),
            "o": Out(stream.Signature(result_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        beats, slot = result_beats(self.config), self.i.payload
        kinds = {"early": ~slot.is_late, "late": slot.is_late}
        if beats.beats == 1:
            kinds = {"all": Const(1)}
        m.submodules.refused = refused = SkidBuffer(result_layout(self.config))
        connect(m, refused.o, flipped(self.o))
        offered = stream.Signature(result_layout(self.config)).create(path=("offered",))
        connect(m, offered, refused.i)
        parts, warps = [], []
        for kind, belongs in kinds.items():
            m.submodules[f"lane_gather_{kind}"] = gather = LaneGather(beats)
            part = stream.Signature(beats.part_layout).create(path=(kind,))
            warp = stream.Signature(beats.warp_layout).create(path=(f"{kind}_warp",))
            connect(m, part, gather.i)
            connect(m, gather.o, flipped(warp))
            m.d.comb += [
                part.valid.eq(self.i.valid & belongs),
                part.payload.common.eq(slot.common),
                part.payload["values"].eq(slot.value),
                warp.ready.eq(offered.ready),
            ]
            parts.append(part)
            warps.append(warp)
        values = [Value.cast(warp.payload["values"]) for warp in warps]
        m.d.comb += [
            self.i.ready.eq(Mux(slot.is_late, parts[-1].ready, parts[0].ready)),
            offered.valid.eq(Cat(warp.valid for warp in warps).any()),
            Value.cast(offered.payload["values"]).eq(Mux(slot.is_late, values[-1], values[0])),
            *(offered.payload[name].eq(slot.common[name]) for name in PASSED),
        ]
        return m
