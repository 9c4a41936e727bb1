"""Conversion between the lanes of a group and the bytes that they access together."""

from amaranth import *
from amaranth.lib import data
from amaranth.utils import exact_log2

from ...config import WORD_BYTES
from ...lib.one_hot import union

__all__ = ["stored_beat", "word_of"]


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


def stored_beat(m: Module, group: data.View, size: int) -> tuple[Value, Value]:
    """Return the stored words of a group's lanes in their beat or row of `size` bytes.

    The second value has the strobes of the bytes. If several lanes store to one byte, the highest
    lane wins. Bytes without a strobe are 0. `group` has a `group_layout`.
    """
    lanes, words = range(len(group.lanes)), size // WORD_BYTES
    stores = [Signal(size, name=f"stores_{lane}") for lane in lanes]
    wins = [Signal(size, name=f"wins_{lane}") for lane in lanes]
    for lane in lanes:
        first = Cat(C(0, exact_log2(WORD_BYTES)), group.places[lane][: exact_log2(words)])
        with m.If(group.lanes[lane]):
            m.d.comb += stores[lane].eq(group.strobes[lane] << first)
    m.d.comb += [strobes.eq(value) for strobes, value in zip(wins, winners(stores), strict=True)]
    placed = [
        Cat(byte.replicate(8) for byte in strobes) & group.data[lane].replicate(words)
        for lane, strobes in enumerate(wins)
    ]
    return union(placed), union(stores)
