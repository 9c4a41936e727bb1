"""Helpers for values of several lanes packed in a word, so that one operator serves all lanes."""

from collections.abc import Callable

from amaranth import *

__all__ = ["each_word", "join", "named", "per_lane", "spread"]


def per_lane(lanes: int, bit: Callable[[int], Value]) -> Value:
    """Return a word with ``bit(lane)`` of every lane."""
    return Cat(bit(lane) for lane in range(lanes))


def each_word(words: Value, width: int) -> list[Value]:
    """Return the word of each lane."""
    return [words[start : start + width] for start in range(0, len(words), width)]


def named(m: Module, name: str, value: Value) -> Signal:
    """Return a signal `name` for `value`, so that slices of it do not repeat the expression."""
    signal = Signal(len(value), name=name)
    m.d.comb += signal.eq(value)
    return signal


def spread(bits: Value, width: int) -> Value:
    """Return a word with each bit of `bits` replicated `width` times, as a mask of lanes."""
    return Cat(bits[lane].replicate(width) for lane in range(len(bits)))


def join(*fields: tuple[Value, int]) -> Value:
    """Return the fields of each lane concatenated, the lowest first.

    A field is a word of all lanes, best a signal, and its width per lane.
    """
    lanes = len(fields[0][0]) // fields[0][1]
    return Cat(
        word[lane * width : (lane + 1) * width] for lane in range(lanes) for word, width in fields
    )
