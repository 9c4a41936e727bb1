"""Normalisation and rounding of a fused sum."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config.formats import FloatFormat
from ...emit.component import Component
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig

__all__ = ["FusedRound", "FusedRoundConfig"]


@dataclass(frozen=True, kw_only=True)
class FusedRoundConfig:
    """Width of a sum and its result format.

    Parameters
    ----------
    form : FloatFormat
        Format of the result.
    fraction_width : int
        Fraction bits of the result; the format's remaining fraction bits are 0.
    to_nearest : bool
        Whether to round to nearest, ties to even; otherwise toward zero.
    width : int
        Bits of the magnitude.
    room_width : int
        Bits of the normalisation room.

    """

    form: FloatFormat
    fraction_width: int
    to_nearest: bool
    width: int
    room_width: int


class FusedRound(Component):
    """Rounder of a fused sum: ``o = magnitude * 2**k`` rounded once; `room` gives the scale.

    Combinational. The magnitude is shifted left until its leading one is at the top, for a
    subnormal result as far as there is room. Overflow becomes infinity.

    Parameters
    ----------
    config : FusedRoundConfig

    Members
    -------
    magnitude : In(config.width)
    room : In(config.room_width)
        The stored exponent of a result that needs no shift, minus 1.
    o : Out(config.form.magnitude_width)

    """

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
        shifted, count = self.normalised(m)
        # The top bit, which is hidden, adds 1 to the exponent of a normal number.
        exponent = Signal(config.room_width + 1)
        m.d.comb += exponent.eq(Mux(shifted[-1], self.room - count + 1, 0))
        lowest = config.width - 1 - config.fraction_width
        fraction = shifted[lowest:-1]
        stored = Cat(C(0, form.fraction_width - config.fraction_width), fraction, exponent)
        if config.to_nearest:
            rest = shifted[: lowest - 1].any()
            width = len(stored)
            m.submodules.increment = increment = CarrySelectAdd(
                CarrySelectAddConfig(width=width, blocks=(width // 3, width * 2 // 3))
            )
            m.d.comb += [
                increment.a.eq(stored),
                increment.carry.eq(shifted[lowest - 1] & (shifted[lowest] | rest)),
            ]
            stored = increment.o
        is_overflow = stored[form.fraction_width :] >= form.exponent_mask
        m.d.comb += self.o.eq(Mux(is_overflow, form.infinity, stored))
        return m

    def normalised(self, m):
        """Return the magnitude shifted left as far as allowed, and the shift distance.

        One step per bit of the distance, the largest first; each step tests half as many bits.
        """
        width = self.config.width
        limit = C(1 << (width - 1), width) >> self.room
        steps = ceil_log2(width)
        tested = Signal(1 << steps)
        m.d.comb += tested[-width:].eq(self.magnitude | limit)
        word = self.magnitude
        zeros = []
        for step in reversed(range(steps)):
            places = 1 << step
            is_zero = Signal(name=f"is_zero_{places}")
            shifted = Signal(width, name=f"shifted_{places}")
            following = Signal(places, name=f"tested_{places}")
            m.d.comb += [
                is_zero.eq(~tested[places:].any()),
                shifted.eq(Mux(is_zero, word << places, word)),
                following.eq(Mux(is_zero, tested[:places], tested[places:])),
            ]
            word, tested = shifted, following
            zeros.insert(0, is_zero)
        return word, Cat(zeros)
