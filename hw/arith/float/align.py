"""Alignment: order two addends by exponent and shift the smaller right."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.formats import FloatFormat
from ...emit.component import Component

__all__ = ["Align", "AlignConfig"]


@dataclass(frozen=True, kw_only=True)
class AlignConfig:
    """Formats of the addends.

    Parameters
    ----------
    form : FloatFormat
        Format of `b`.
    significand_width : int or None
        Bits of the significand of `a`, two of them before the point; None for one more than
        `form` has.
    exponent_shape : Shape or None
        Shape of the exponent of `a`; None for that of `form`.
    subnormals : bool
        Whether a subnormal `b` must be aligned exactly.
    zeros : bool
        Whether `a` can be zero, with any exponent.

    """

    form: FloatFormat
    significand_width: int | None = None
    exponent_shape: Shape | None = None
    subnormals: bool = True
    zeros: bool = False

    @property
    def a_width(self) -> int:
        """Bits of the significand of `a`."""
        return self.significand_width or self.form.significand_width + 1

    @property
    def a_exponent_shape(self) -> Shape:
        """Shape of the exponent of `a`."""
        return self.exponent_shape or unsigned(self.form.exponent_width)

    @property
    def width(self) -> int:
        """Bits of the big addend: two before the point, then the fraction bits of both."""
        return max(self.a_width, self.form.significand_width + 1)

    @property
    def small_width(self) -> int:
        """Bits of the small addend: those of the big one and a sticky bit.

        More than one leading bit can cancel only if the exponent of `b` exceeds that of `a` by 1
        or 2, as `a` is below 4. Then all bits of `a` are kept. Otherwise a guard and a round bit
        before the sticky bit are enough.
        """
        return max(self.a_width + 2, self.form.significand_width + 4)


class Align(Component):
    """Aligner: brings two significands below 4 to the larger exponent for an exact addition.

    Combinational. Only exponents are compared, so the small addend may be the larger value by up
    to a factor of 4. In that case neither loses a bit, unless `b` is subnormal.

    Parameters
    ----------
    config : AlignConfig

    Members
    -------
    a : In(config.a_width)
    a_exponent : In(config.a_exponent_shape)
    is_a_zero : In(1)
        Present if `config.zeros`: selects `b` as the big addend.
    b : In(config.form.width - 1)
        A stored magnitude.
    is_b_big : Out(1)
        The exponent of `b` is the larger one, or `a` is zero.
    exponent : Out(config.form.exponent_width + 1)
        The big addend's exponent plus 2: the stored exponent of a sum of 4 or more.
    big : Out(config.width)
    small : Out(config.small_width)
        Extended by low bits; the last one is sticky (OR of all bits shifted out).

    """

    def __init__(self, config: AlignConfig):
        self.config = config
        super().__init__({
            "a": In(config.a_width),
            "a_exponent": In(config.a_exponent_shape),
            **({"is_a_zero": In(1)} if config.zeros else {}),
            "b": In(config.form.width - 1),
            "is_b_big": Out(1),
            "exponent": Out(config.form.exponent_width + 1),
            "big": Out(config.width),
            "small": Out(config.small_width),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        form = config.form
        b_exponent = self.b[form.fraction_width :]
        b_hidden = C(1, 1)
        if config.subnormals:
            # A subnormal uses the exponent of the smallest normals.
            b_hidden = b_exponent.any()
            b_exponent = b_exponent | ~b_hidden
        a = Cat(C(0, config.width - config.a_width), self.a)
        b = Cat(C(0, config.width - form.significand_width - 1), self.b[: form.fraction_width])
        b = Cat(b, b_hidden)

        distance = Signal(config.a_exponent_shape.width + 1)
        is_b_big = distance[-1]
        m.d.comb += [
            distance.eq(self.a_exponent - b_exponent),
            self.is_b_big.eq(is_b_big | self.is_a_zero if config.zeros else is_b_big),
            self.exponent.eq(Mux(self.is_b_big, b_exponent, self.a_exponent) + 2),
            self.big.eq(Mux(self.is_b_big, b, a)),
        ]
        # The complement of a negative distance is one too small, so `a` starts halved.
        half_units = Signal(config.width + 1)
        m.d.comb += half_units.eq(Mux(self.is_b_big, a, Cat(C(0, 1), b)))
        magnitude = distance[:-1] ^ is_b_big.replicate(len(distance) - 1)
        m.d.comb += self.small.eq(self.shifted(m, half_units, magnitude))
        return m

    def shifted(self, m, half_units, distance):
        """Return `half_units`, extended by low bits, shifted right by `distance`."""
        config = self.config
        places_width = (config.small_width - 2).bit_length()
        largest = (1 << places_width) - 1
        places = Signal(places_width)
        is_far = distance[places_width:].any()
        m.d.comb += places.eq(distance[:places_width] | is_far.replicate(places_width))
        word = Cat(C(0, config.small_width - config.width - 1), half_units)
        shifted = Signal(len(word) + largest)
        m.d.comb += shifted.eq(Cat(C(0, largest), word) >> places)
        return Cat(shifted[: largest + 1].any(), shifted[largest + 1 :])
