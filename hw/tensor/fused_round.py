"""Normalisation and rounding of a fused sum."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..formats import FloatFormat

__all__ = ["FusedRound", "FusedRoundConfig", "leading_zeros"]


@dataclass(frozen=True, kw_only=True)
class FusedRoundConfig:
    """A sum's width and the format it is rounded to.

    Parameters
    ----------
    form : FloatFormat
        Format of the result.
    fraction_width : int
        Fraction bits of the result; those the format has besides are 0.
    to_nearest : bool
        Whether to round to nearest, ties to even, rather than toward zero.
    width : int
        Bits of the magnitude.
    room_width : int
        Bits of the room to normalise.

    """

    form: FloatFormat
    fraction_width: int
    to_nearest: bool
    width: int
    room_width: int


def leading_zeros(m: Module, word: Value) -> Value:
    """Return how many zeros stand above the leading one of a word that is not 0."""
    levels = (len(word) - 1).bit_length()
    word = Cat(C(0, (1 << levels) - len(word)), word)
    # Of each block of bits: whether it has a one, and how many zeros are above it.
    blocks = [(bit, None) for bit in word]
    for level in range(levels):
        merged = []
        for low, high in zip(blocks[::2], blocks[1::2], strict=True):
            count = Signal(level + 1, name=f"zeros_{level}_{len(merged)}")
            below = Mux(high[0], high[1], low[1]) if level else C(0, 0)
            m.d.comb += count.eq(Cat(below, ~high[0]))
            merged.append((low[0] | high[0], count))
        blocks = merged
    count = blocks[0][1]
    assert count is not None
    return count


class FusedRound(wiring.Component):
    """``o = magnitude * 2**k`` rounded once, where `room` says what the top bit stands for.

    Combinational. The magnitude is shifted left until its leading one is at the top, or for a
    subnormal result as far as there is room. What is too large becomes infinity.

    Parameters
    ----------
    config : FusedRoundConfig

    Members
    -------
    magnitude : In(config.width)
    room : In(config.room_width)
        The stored exponent of a result that needs no shift, less 1.
    o : Out(config.form.magnitude_width)

    """

    magnitude: Signal
    room: Signal
    o: Signal

    def __init__(self, config: FusedRoundConfig):
        self.config = config
        super().__init__({
            "magnitude": In(config.width),
            "room": In(config.room_width),
            "o": Out(config.form.magnitude_width),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        form = config.form
        limit = Signal(config.width)
        m.d.comb += limit.eq(C(1 << (config.width - 1), config.width) >> self.room)
        count = leading_zeros(m, self.magnitude | limit)
        shifted = Signal(config.width)
        m.d.comb += shifted.eq(self.magnitude << count)

        # The top bit, the hidden one, makes the exponent of a normal number.
        exponent = Signal(config.room_width + 1)
        m.d.comb += exponent.eq(Mux(shifted[-1], self.room - count + 1, 0))
        lowest = config.width - 1 - config.fraction_width
        fraction = shifted[lowest:-1]
        stored = Cat(C(0, form.fraction_width - config.fraction_width), fraction, exponent)
        if config.to_nearest:
            rest = shifted[: lowest - 1].any()
            stored = stored + (shifted[lowest - 1] & (shifted[lowest] | rest))
        is_overflow = stored[form.fraction_width :] >= form.exponent_mask
        m.d.comb += self.o.eq(Mux(is_overflow, form.infinity, stored))
        return m
