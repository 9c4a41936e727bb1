"""Conversion between the lanes of a group and the bytes that they access together."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import union
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


def winners(stores: list) -> list:
    """Return the strobes of each lane without the bytes that a higher lane stores too."""
    if len(stores) == 1:
        return stores
    half = len(stores) // 2
    over = union(stores[half:])
    return [*(lower & ~over for lower in winners(stores[:half])), *winners(stores[half:])]


class BeatOfLanes(SharedBlock):
    """Beat assembly: places the stored words of a group's lanes in their beat or row.

    Combinational. If several lanes store to one byte, the highest lane wins. Bytes without a
    strobe are 0.

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
        stores = [Signal(self.config.size, name=f"stores_{lane}") for lane in lanes]
        wins = [Signal(self.config.size, name=f"wins_{lane}") for lane in lanes]
        for lane in lanes:
            first = Cat(C(0, exact_log2(WORD_BYTES)), group.places[lane][: exact_log2(words)])
            with m.If(group.lanes[lane]):
                m.d.comb += stores[lane].eq(group.strobes[lane] << first)
        placed = [
            Cat(byte.replicate(8) for byte in strobes) & group.data[lane].replicate(words)
            for lane, strobes in enumerate(wins)
        ]
        m.d.comb += [
            *(strobes.eq(value) for strobes, value in zip(wins, winners(stores), strict=True)),
            self.strobes.eq(union(stores)),
            self.data.eq(union(placed)),
        ]
        return m
