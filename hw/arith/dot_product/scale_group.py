"""Group of narrow products with a pair of scales: one term of a fused sum."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.formats import FloatFormat
from ...emit.shared_block import SharedBlock
from ...lib.pipeline import cut
from ...lib.prefix_add import PrefixAdd, PrefixAddConfig
from .fused_product import decode
from .fused_total import carry_save, magnitude_of

__all__ = ["ScaleGroup", "ScaleGroupConfig", "ScaleProduct", "ScaleProductConfig"]


@dataclass(frozen=True, kw_only=True)
class ScaleProductConfig:
    """Formats of two factors with few exponents.

    Parameters
    ----------
    a, b : FloatFormat
        Formats without infinity and NaN.

    """

    a: FloatFormat
    b: FloatFormat

    @property
    def width(self) -> int:
        """Bits of the product's magnitude."""
        return sum(integer_width(form) for form in (self.a, self.b))


def integer_width(form: FloatFormat) -> int:
    """Return the bits of a format's largest magnitude in units of its smallest."""
    return form.significand_width + (form.largest >> form.fraction_width) - 1


class ScaleProduct(SharedBlock):
    """Product as an integer: ``a * b`` in units of the smallest, complemented if negative.

    Combinational.

    Parameters
    ----------
    config : ScaleProductConfig

    Members
    -------
    a : In(config.a.width)
    b : In(config.b.width)
    sign : Out(1)
    o : Out(config.width)

    """

    def __init__(self, config: ScaleProductConfig):
        self.config = config
        super().__init__({
            "a": In(config.a.width),
            "b": In(config.b.width),
            "sign": Out(1),
            "o": Out(config.width),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        integers = []
        for stored, form in ((self.a, config.a), (self.b, config.b)):
            significand, exponent, _ = decode(stored, form)
            integer = Signal(integer_width(form), name=f"integer_{len(integers)}")
            m.d.comb += integer.eq((significand << exponent) >> 1)
            integers.append(integer)
        product = integers[0] * integers[1]
        m.d.comb += [
            self.sign.eq(self.a[-1] ^ self.b[-1]),
            self.o.eq(product ^ self.sign.replicate(config.width)),
        ]
        return m


@dataclass(frozen=True, kw_only=True)
class ScaleGroupConfig:
    """Products and scales of a group.

    Parameters
    ----------
    product : ScaleProductConfig
    terms : int
        Products in the group.
    scale : FloatFormat
        Format of the scales, without sign.
    width : int
        Bits of the magnitude of the products' sum.
    significand_width : int
        Bits of the result.
    zero_groups : bool
        Whether a zero sum has the exponent of the scales.

    """

    product: ScaleProductConfig
    terms: int
    scale: FloatFormat
    width: int
    significand_width: int
    zero_groups: bool


class ScaleGroup(SharedBlock):
    """Exact scaled sum: ``(a[0] * b[0] + a[1] * b[1] + ...) * a_scale * b_scale``.

    Latency 1, one result per cycle, no handshake. The exponent is that of the scales alone: the
    sum of their stored exponents. It is 0 if a scale is zero, and unless `config.zero_groups`
    also if the sum is.

    Parameters
    ----------
    config : ScaleGroupConfig

    Members
    -------
    a, b : In(ArrayLayout(width, config.terms))
    a_scale, b_scale : In(config.scale.width)
    sign : Out(1)
    exponent : Out(config.scale.exponent_width + 1)
    significand : Out(config.significand_width)

    """

    def __init__(self, config: ScaleGroupConfig):
        self.config = config
        super().__init__({
            "a": In(data.ArrayLayout(config.product.a.width, config.terms)),
            "b": In(data.ArrayLayout(config.product.b.width, config.terms)),
            "a_scale": In(config.scale.width),
            "b_scale": In(config.scale.width),
            "sign": Out(1),
            "exponent": Out(config.scale.exponent_width + 1),
            "significand": Out(config.significand_width),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        a_factor, a_exponent, a_some = decode(self.a_scale, config.scale)
        b_factor, b_exponent, b_some = decode(self.b_scale, config.scale)
        total, factor, exponent, is_scaled = cut(
            m,
            "group",
            registered=True,
            total=self.total(m),
            factor=a_factor * b_factor if config.significand_width > config.width else C(1, 1),
            exponent=a_exponent + b_exponent,
            is_scaled=a_some & b_some,
        )
        magnitude, is_some = magnitude_of(m, total)
        m.d.comb += [
            self.sign.eq(total[-1]),
            self.exponent.eq(Mux(is_scaled & (is_some | config.zero_groups), exponent, 0)),
            self.significand.eq(magnitude * factor),
        ]
        return m

    def total(self, m):
        """Return the signed sum of the products."""
        config = self.config
        words, signs = [], []
        for k in range(config.terms):
            m.submodules[f"product_{k}"] = product = ScaleProduct(config.product)
            m.d.comb += [product.a.eq(self.a[k]), product.b.eq(self.b[k])]
            # As in a fused sum, each word has an excess of 2**width.
            words.append(Cat(product.o, ~product.sign))
            signs.append(product.sign)
        width = config.width + 1
        above = width - config.product.width
        excess = C(-config.terms & ((1 << above) - 1), above)
        words.append(Cat(C(0, config.product.width), excess))
        first, second, (carry,) = carry_save(m, words, signs, width)
        m.submodules.total = adder = PrefixAdd(PrefixAddConfig(width=width + 1))
        m.d.comb += [adder.a.eq(Cat(carry, first)), adder.b.eq(Cat(carry, second))]
        return adder.o[1:]
