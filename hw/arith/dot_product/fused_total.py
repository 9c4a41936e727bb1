"""Exact sum of many aligned terms."""

from amaranth import *

__all__ = ["carry_save", "largest_two", "magnitude_of"]


def carry_save(m: Module, words: list, carries: list, width: int) -> tuple[Value, Value, list]:
    """Return two words with the sum of `words` and `carries`, and the unused carries.

    A tree of carry-save adders (Wallace, "A suggestion for a fast multiplier", 1964) reduces three
    words to two, a sum and a carry word. The lowest bit of the carry word is free for one of
    `carries`, bits added as 1. Each level of the tree is one wide operation. The sum is modulo
    ``2**width``.
    """
    carries = list(carries)
    level = 0
    while len(words) > 2:
        triples = len(words) // 3
        words = [Cat(word, C(0, width - len(word))) for word in words]
        a, b, c = (Cat(words[first : 3 * triples : 3]) for first in range(3))
        differ = Signal(triples * width, name=f"level_{level}_differ")
        sums = Signal(triples * width, name=f"level_{level}_sums")
        carried = Signal(triples * width, name=f"level_{level}_carried")
        m.d.comb += [
            differ.eq(a ^ b),
            sums.eq(differ ^ c),
            carried.eq((a & b) | (differ & c)),
        ]
        reduced = []
        for k in range(triples):
            low = carries.pop() if carries else C(0, 1)
            reduced += [
                sums[k * width : (k + 1) * width],
                Cat(low, carried[k * width : (k + 1) * width - 1]),
            ]
        words = reduced + words[3 * triples :]
        level += 1
    return words[0], words[1], carries


def largest_two(m: Module, values: list) -> tuple[Value, Value]:
    """Return two of the unsigned `values`, one of them the largest.

    It is a tree of comparisons without its root. A single value is paired with a zero.
    """
    level = 0
    while len(values) > 2:
        larger = []
        for k, (a, b) in enumerate(zip(values[::2], values[1::2], strict=False)):
            value = Signal(max(len(a), len(b)), name=f"larger_{level}_{k}")
            m.d.comb += value.eq(Mux(a > b, a, b))
            larger.append(value)
        values = larger + values[2 * len(larger) :]
        level += 1
    return values[0], values[1] if len(values) > 1 else C(0, 1)


def magnitude_of(m: Module, total: Value) -> tuple[Value, Value]:
    """Return the magnitude of a two's complement number, and whether it is nonzero.

    The sign bit is dropped, so the most negative number must not occur.
    """
    width = len(total)
    has_one = total
    reach = 1
    while reach < width:
        wider = Signal(width, name=f"has_one_{2 * reach}")
        m.d.comb += wider.eq(has_one | (has_one << reach))
        has_one = wider
        reach *= 2
    # Negation complements all bits above the lowest 1.
    complemented = Cat(C(0, 1), has_one[:-1]) & total[-1].replicate(width)
    return (total ^ complemented)[:-1], has_one[-1]
