"""Alignment: order two addends by exponent and shift the small one to the big one's."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..formats import FloatFormat

__all__ = ["Align", "AlignConfig"]


@dataclass(frozen=True, kw_only=True)
class AlignConfig:
    """The addends' format.

    Parameters
    ----------
    form : FloatFormat
    subnormals : bool
        Whether a subnormal `b` must be aligned exactly.

    """

    form: FloatFormat
    subnormals: bool = True

    @property
    def width(self) -> int:
        """Bits of a significand below 4."""
        return self.form.significand_width + 1


class Align(wiring.Component):
    """Bring two significands below 4 to the larger exponent, for an exact addition.

    Combinational. Only exponents are compared, so the small addend may be the larger one by up to
    a factor of 4; then neither loses a bit.

    Parameters
    ----------
    config : AlignConfig

    Members
    -------
    a : In(config.width)
    a_exponent : In(config.form.exponent_width)
    b : In(config.form.width - 1)
        A stored magnitude.
    is_b_big : Out(1)
        The exponent of `b` is the larger one.
    exponent : Out(config.form.exponent_width + 1)
        The big addend's and 2: the stored exponent of a sum of 4 or more.
    big : Out(config.width)
    small : Out(config.width + 3)
        With three bits more below: the last stands for all that were shifted out (sticky).

    """

    a: Signal
    a_exponent: Signal
    b: Signal
    is_b_big: Signal
    exponent: Signal
    big: Signal
    small: Signal

    def __init__(self, config: AlignConfig):
        self.config = config
        super().__init__({
            "a": In(config.width),
            "a_exponent": In(config.form.exponent_width),
            "b": In(config.form.width - 1),
            "is_b_big": Out(1),
            "exponent": Out(config.form.exponent_width + 1),
            "big": Out(config.width),
            "small": Out(config.width + 3),
        })

    def elaborate(self, platform):
        m = Module()
        form = self.config.form
        b_exponent = self.b[form.fraction_width :]
        b_hidden = C(1, 1)
        if self.config.subnormals:
            # A subnormal has the exponent of the least normal numbers.
            b_hidden = b_exponent.any()
            b_exponent = b_exponent | ~b_hidden
        b = Cat(self.b[: form.fraction_width], b_hidden)

        distance = Signal(form.exponent_width + 1)
        m.d.comb += [
            distance.eq(self.a_exponent - b_exponent),
            self.is_b_big.eq(distance[-1]),
            self.exponent.eq(Mux(self.is_b_big, b_exponent, self.a_exponent) + 2),
            self.big.eq(Mux(self.is_b_big, b, self.a)),
        ]
        # The complement of a negative distance is one too small: `a` is halved to begin with.
        half_units = Signal(self.config.width + 1)
        magnitude = Signal(form.exponent_width)
        m.d.comb += [
            half_units.eq(Mux(self.is_b_big, self.a, Cat(C(0, 1), b))),
            magnitude.eq(distance[:-1] ^ self.is_b_big.replicate(form.exponent_width)),
        ]
        places_width = (form.significand_width + 2).bit_length()
        largest = (1 << places_width) - 1
        places = Signal(places_width)
        is_far = magnitude[places_width:].any()
        m.d.comb += places.eq(magnitude[:places_width] | is_far.replicate(places_width))
        shifted = Signal(len(half_units) + largest)
        m.d.comb += shifted.eq(Cat(C(0, largest), half_units) >> places)
        m.d.comb += self.small.eq(Cat(shifted[: largest - 1].any(), shifted[largest - 1 :]))
        return m
