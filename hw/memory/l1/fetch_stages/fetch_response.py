"""Response stage of the L1 instruction cache."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ....config import MemoryUnitConfig
from ....emit.shared_block import SharedBlock
from ....lib.interfaces.core_memory import fetch_response_layout
from ....lib.streams import ResponseSignature
from ..cluster_layouts import instruction_mshr_config
from ..signatures import ReplaySignature, WordSignature, data_read_layout, replay_layout
from .signatures import hit_layout

__all__ = ["FetchResponse"]


class FetchResponse(SharedBlock):
    """Response stage: answers a hit in its cycle, or a replay in the next.

    Never both in one cycle, as no request is accepted in the cycle of a replay.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    hit : In(ResponseSignature(hit_layout(config)))
    replay : In(ReplaySignature)
    read : Out(ResponseSignature(data_read_layout))
        Read of the data array for a replay.
    selection : Out(WordSignature)
        Pair of the read in the last cycle.
    fetched : Out(ResponseSignature(fetch_response_layout(config.core)))
    busy : Out(1)
        A replay is answered.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        self.mshr_config = mshr_config = instruction_mshr_config(config)
        super().__init__({
            "hit": In(ResponseSignature(hit_layout(config))),
            "replay": In(ReplaySignature(mshr_config)),
            "read": Out(ResponseSignature(data_read_layout(mshr_config))),
            "selection": Out(WordSignature(mshr_config)),
            "fetched": Out(ResponseSignature(fetch_response_layout(config.core))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        replayed = Signal(replay_layout(self.mshr_config), reset_less=True)
        replayed_valid = Signal()
        hit, replay, answer = self.hit.payload, self.replay.payload, self.fetched.payload
        m.d.sync += [replayed_valid.eq(self.replay.valid), replayed.eq(replay)]
        m.d.comb += [
            self.read.valid.eq(self.replay.valid),
            self.read.payload.ways.eq(replay.way),
            self.read.payload.set.eq(replay.set),
            self.read.payload.place.eq(replay.place),
            self.selection.way.eq(Mux(replayed_valid, replayed.way, hit.way)),
            self.fetched.valid.eq(self.hit.valid | replayed_valid),
            answer.data.eq(self.selection.word),
            answer.error.eq(Mux(replayed_valid, replayed.error, hit.error)),
            Cat(answer.tag.pair, answer.tag.warp).eq(
                Mux(replayed_valid, replayed.waiter, Cat(hit.tag.pair, hit.tag.warp))
            ),
            self.busy.eq(replayed_valid),
        ]
        return m
