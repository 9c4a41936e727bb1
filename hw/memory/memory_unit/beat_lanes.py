"""Conversion between the lanes of a group and their beat of DRAM."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import select
from .layouts import group_layout

__all__ = ["BeatOfLanes", "word_of"]


def word_of(config: MemoryUnitConfig, beat: Value, place: Value) -> Value:
    """Return the word of a beat that `place` selects."""
    words = config.axi.beat_bytes // WORD_BYTES
    return beat.word_select(place[: exact_log2(words)], 32)


class BeatOfLanes(SharedBlock):
    """Beat assembly: places the stored words of a group's lanes in their beat. Combinational.

    If several lanes store to one byte, the highest lane wins.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    group : In(group_layout(config))
    data : Out(config.axi.data_width)
    strobes : Out(config.axi.beat_bytes)
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        super().__init__({
            "group": In(group_layout(config)),
            "data": Out(config.axi.data_width),
            "strobes": Out(config.axi.beat_bytes),
        })

    def build(self, platform):
        m = Module()
        group, lanes = self.group, range(self.config.core.request_lanes)
        words = self.config.axi.beat_bytes // WORD_BYTES
        goes_to = [Signal(words, name=f"goes_to_{lane}") for lane in lanes]
        for lane in lanes:
            place = group.places[lane][: exact_log2(words)]
            with m.If(group.lanes[lane]):
                m.d.comb += goes_to[lane].eq(C(1, words) << place)
        for word in range(words):
            for byte in range(WORD_BYTES):
                stores = [goes_to[lane][word] & group.strobes[lane][byte] for lane in lanes]
                values = [group.data[lane].word_select(byte, 8) for lane in lanes]
                at = word * WORD_BYTES + byte
                m.d.comb += [
                    self.strobes[at].eq(Cat(stores).any()),
                    self.data.word_select(at, 8).eq(select(Cat(stores), values)),
                ]
        return m
