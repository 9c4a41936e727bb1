"""Conversion between the lanes of a group and the bytes that they access together."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import select
from .layouts import group_layout

__all__ = ["BeatConfig", "BeatOfLanes", "word_of"]


@dataclass(frozen=True, kw_only=True)
class BeatConfig:
    """Bytes that the lanes of a group access together: a beat of DRAM or a row of shared memory.

    Parameters
    ----------
    unit : MemoryUnitConfig
    size : int
        Bytes, a power of two of at least a word.

    """

    unit: MemoryUnitConfig
    size: int


def word_of(beat: Value, place: Value) -> Value:
    """Return the word of a beat or row that `place` selects."""
    words = len(beat) // (8 * WORD_BYTES)
    return beat.word_select(place[: exact_log2(words)], 32)


class BeatOfLanes(SharedBlock):
    """Beat assembly: places the stored words of a group's lanes in their beat or row.

    Combinational. If several lanes store to one byte, the highest lane wins.

    Parameters
    ----------
    config : BeatConfig

    Members
    -------
    group : In(group_layout(config.unit))
    data : Out(8 * size)
    strobes : Out(size)
    """

    def __init__(self, config: BeatConfig):
        self.config = config
        super().__init__({
            "group": In(group_layout(config.unit)),
            "data": Out(8 * config.size),
            "strobes": Out(config.size),
        })

    def build(self, platform):
        m = Module()
        group, lanes = self.group, range(self.config.unit.core.request_lanes)
        words = self.config.size // WORD_BYTES
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
