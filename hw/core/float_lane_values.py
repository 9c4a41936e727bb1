"""Values of several lanes side by side: a bit of each lane in a word, so one operator does all."""

from collections.abc import Callable

from amaranth import *

__all__ = ["each", "each_word", "join", "named", "spread"]


def each(lanes: int, bit: Callable[[int], Value]) -> Value:
    """Return a word with ``bit(lane)`` of every lane."""
    return Cat(bit(lane) for lane in range(lanes))


def each_word(words: Value, width: int) -> list[Value]:
    """Return the bits of every lane."""
    return [words[start : start + width] for start in range(0, len(words), width)]


def named(m: Module, name: str, value: Value) -> Signal:
    """Return a signal of that name for `value`: whoever takes parts of it does not repeat it."""
    signal = Signal(len(value), name=name)
    m.d.comb += signal.eq(value)
    return signal


def spread(bits: Value, width: int) -> Value:
    """Return a word with every bit of `bits` `width` times: a mask of lanes so wide."""
    return Cat(bits[lane].replicate(width) for lane in range(len(bits)))


def join(*fields: tuple[Value, int]) -> Value:
    """Return each lane's fields together, the lowest first.

    A field is a word of all lanes, best a signal, and how many bits of it belong to each.
    """
    lanes = len(fields[0][0]) // fields[0][1]
    return Cat(
        word[lane * width : (lane + 1) * width] for lane in range(lanes) for word, width in fields
    )
