"""Conversion between the lanes of a group and the bytes that they access together."""

from amaranth import *
from amaranth.lib import data
from amaranth.utils import exact_log2

from ...config import WORD_BYTES
from ...lib.one_hot import number_of, select, union

__all__ = ["stored_beat", "word_of", "written"]


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


def expected_beat(group: data.View, size: int) -> Value:
    """Return the expected value of an atomic group in its beat of `size` bytes, 0 of others.

    It is beside the operand's word: at an address with bit 2 inverted.
    """
    words = size // WORD_BYTES
    place = select(group.lanes, group.places)[: exact_log2(words)]
    expected = select(group.lanes, group.expected)
    return Cat(
        Mux(group.atomic & (place == (word ^ 1)), expected, C(0, 8 * WORD_BYTES))
        for word in range(words)
    )


def written(m: Module, group: data.View, write: data.View) -> list:
    """Return the assignments of a group to the write of its beat, a `beat_write_layout`."""
    size, user = len(write.strobes), []
    stored, strobes = stored_beat(m, group, size)
    if "user" in write.shape().members:
        stored = stored | expected_beat(group, size)
        lane = number_of(group.lanes)  # of an atomic, the only one
        user = [
            write.user.atomic.eq(group.atomic),
            write.user.operation.eq(group.operation),
            write.user.owner.eq(Cat(lane, group.owner)),
        ]
    return [write.beat.eq(group.beat), write.data.eq(stored), write.strobes.eq(strobes), *user]
