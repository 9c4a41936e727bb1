"""Exact, unnormalised product of two stored factors."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.formats import FloatFormat
from ...emit.shared_block import SharedBlock
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig

__all__ = ["FusedProduct", "FusedProductConfig", "decode"]


@dataclass(frozen=True, kw_only=True)
class FusedProductConfig:
    """Formats of two factors.

    Parameters
    ----------
    a, b : FloatFormat

    """

    a: FloatFormat
    b: FloatFormat

    @property
    def significand_width(self) -> int:
        """Bits of the product's significand, two of them before the point."""
        return self.a.significand_width + self.b.significand_width

    @property
    def exponent_width(self) -> int:
        """Bits of the product's exponent code."""
        return (self.a.exponent_mask + self.b.exponent_mask).bit_length()


def decode(stored, form: FloatFormat):
    """Return significand and exponent code of a stored value, and whether it is nonzero.

    A subnormal keeps its leading zeros and has the exponent of the smallest normals.
    """
    fraction = stored[: form.fraction_width]
    exponent = stored[form.fraction_width : form.magnitude_width]
    if not form.subnormals:
        return Cat(fraction, C(1, 1)), exponent, C(1, 1)
    is_normal = exponent.any()
    significand = Cat(fraction, is_normal)
    return significand, Cat(exponent[0] | ~is_normal, exponent[1:]), significand.any()


def classes(stored, form: FloatFormat):
    """Return whether a stored value is infinite or NaN, and whether it is NaN.

    The former is never true in a format without infinity.
    """
    magnitude = stored[: form.magnitude_width]
    if form.has_infinity:
        is_special = magnitude[form.fraction_width :].all()
        return is_special, is_special & magnitude[: form.fraction_width].any()
    return C(0, 1), magnitude.all() if form.has_nan else C(0, 1)


class FusedProduct(SharedBlock):
    """Product for a fused sum: ``a * b`` as sign, significand and exponent code.

    Combinational. The significand is the product of the factors' significands, below 4 and without
    a leading one if a factor is subnormal. The exponent code is the sum of the stored exponents,
    with 1 for a subnormal; a zero product has code 0.

    Parameters
    ----------
    config : FusedProductConfig

    Members
    -------
    a : In(config.a.width)
    b : In(config.b.width)
    sign : Out(1)
    exponent : Out(config.exponent_width)
    significand : Out(config.significand_width)
    is_infinite : Out(1)
        The product is infinite or NaN; exponent and significand are then meaningless.
    is_nan : Out(1)

    """

    def __init__(self, config: FusedProductConfig):
        self.config = config
        super().__init__({
            "a": In(config.a.width),
            "b": In(config.b.width),
            "sign": Out(1),
            "exponent": Out(config.exponent_width),
            "significand": Out(config.significand_width),
            "is_infinite": Out(1),
            "is_nan": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        a_significand, a_exponent, a_some = decode(self.a, config.a)
        b_significand, b_exponent, b_some = decode(self.b, config.b)
        a_infinite, a_nan = classes(self.a, config.a)
        b_infinite, b_nan = classes(self.b, config.b)
        is_zero = ~(a_some & b_some)
        m.d.comb += [
            self.sign.eq(self.a[-1] ^ self.b[-1]),
            self.significand.eq(a_significand * b_significand),
            self.exponent.eq(Mux(is_zero, 0, self.exponents(m, a_exponent, b_exponent))),
            self.is_infinite.eq(a_infinite | b_infinite),
            self.is_nan.eq(a_nan | b_nan | (is_zero & (a_infinite | b_infinite))),
        ]
        return m

    def exponents(self, m, a, b):
        """Return the sum of the exponents, on the critical path of all comparisons."""
        width = self.config.exponent_width
        if width < 8:
            return a + b
        m.submodules.exponents = adder = CarrySelectAdd(
            CarrySelectAddConfig(width=width, blocks=(width // 2,))
        )
        m.d.comb += [adder.a.eq(a), adder.b.eq(b)]
        return adder.o
