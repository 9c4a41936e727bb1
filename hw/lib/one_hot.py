"""Sets of bits: number, lowest; decoder, encoder and multiplexer of one-hot values."""

from collections.abc import Sequence

from amaranth import *
from amaranth.utils import ceil_log2

__all__ = ["lowest", "number_of", "one_hot", "ones", "select", "select_one", "union"]

#: Widest value whose lowest set bit is found by a carry chain; wider ones are split in halves.
CARRIED = 8


def lowest(requests: Value) -> Value:
    """Return the lowest set bit of `requests`, one-hot."""
    width = len(requests)
    if width <= CARRIED:
        return (requests & -requests)[:width]
    half = width // 2
    low, high = requests[:half], requests[half:]
    return Cat(lowest(low), lowest(high) & ~low.any().replicate(width - half))


def ones(bits: Value) -> Value:
    """Return the number of set bits of `bits`, by a balanced tree of adders."""
    if len(bits) == 1:
        return bits
    half = len(bits) // 2
    return ones(bits[:half]) + ones(bits[half:])


def union(sets: Sequence[Value]) -> Value:
    """Return the set of all bits that are set in one of `sets`, by a balanced tree of OR."""
    if len(sets) == 1:
        return sets[0]
    half = len(sets) // 2
    return union(sets[:half]) | union(sets[half:])


def one_hot(m: Module, index: Value, choices: int, name: str) -> Signal:
    """Return a signal with only bit `index` set; `choices` is a power of two."""
    chosen = Signal(choices, name=name)
    if choices == 1:
        m.d.comb += chosen.eq(1)
        return chosen
    with m.Switch(index):
        for number in range(choices):
            with m.Case(number):
                m.d.comb += chosen.eq(1 << number)
    return chosen


def number_of(chosen: Value) -> Value:
    """Return the index of the set bit of a one-hot value, as wide as the highest index needs."""
    return Cat(
        Cat(chosen[n] for n in range(len(chosen)) if n >> bit & 1).any()
        for bit in range(ceil_log2(len(chosen)))
    )


def select_one(grant: Value, values: Sequence[Value]) -> Value:
    """Return the one of `values` whose bit is set in the one-hot `grant`, 0 if there is none.

    A balanced tree of OR, less deep than `select`.
    """
    if len(values) == 1:
        return Mux(grant, values[0], 0)
    half = len(values) // 2
    return select_one(grant[:half], values[:half]) | select_one(grant[half:], values[half:])


def select(grant: Value, values: Sequence[Value]) -> Value:
    """Return the one of `values` at the highest bit set in `grant`, for example a one-hot value.

    A balanced tree of ``len(values) - 1`` multiplexers. The result is undefined if `grant` is 0.
    """
    if len(values) == 1:
        return Value.cast(values[0])
    half = (len(values) + 1) // 2
    return Mux(
        grant[half:].any(), select(grant[half:], values[half:]), select(grant[:half], values[:half])
    )
