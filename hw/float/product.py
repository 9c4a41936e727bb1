"""The exact product of two unpacked floats."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..formats import FloatFormat
from .carry_select import CarrySelectAdd, CarrySelectAddConfig
from .pipeline import cut
from .unpack import UnpackConfig

__all__ = ["Product", "ProductConfig"]


@dataclass(frozen=True, kw_only=True)
class ProductConfig:
    """The factors, and how wide ones are multiplied.

    Parameters
    ----------
    operand : FloatFormat
        Format of both factors.
    halves : bool
        Whether significands are multiplied in halves, four short products in place of a long one.
    registered : bool
        Whether the (short) products are registered; those of halves are summed after that.

    """

    operand: FloatFormat
    halves: bool = False
    registered: bool = False

    @property
    def unpacked(self) -> UnpackConfig:
        """Codes of the factors."""
        return UnpackConfig(form=self.operand)

    @property
    def offset(self) -> int:
        """What the product's exponent exceeds the true one by."""
        return 2 * self.unpacked.offset + 1

    @property
    def significand_width(self) -> int:
        """Bits of the exact product."""
        return 2 * self.operand.significand_width


class Product(wiring.Component):
    """``o = a * b``, exact, its significand at least 1 and below 4.

    Combinational, or one cycle later if `config.registered`.

    Parameters
    ----------
    config : ProductConfig

    Members
    -------
    a, b : In(config.unpacked.layout)
        The factors.
    sign : Out(1)
    exponent : Out(config.unpacked.exponent_width)
        The true exponent plus `config.offset`; meaningful if the product is finite and not zero.
    significand : Out(config.significand_width)
        With two bits before the point.
    is_number : Out(1)
        Neither factor has significand 0: the product is neither zero nor NaN.
    is_special : Out(1)
        The product is infinite if `is_number`, else NaN.

    """

    a: data.View
    b: data.View
    sign: Signal
    exponent: Signal
    significand: Signal
    is_number: Signal
    is_special: Signal

    def __init__(self, config: ProductConfig):
        self.config = config
        super().__init__({
            "a": In(config.unpacked.layout),
            "b": In(config.unpacked.layout),
            "sign": Out(1),
            "exponent": Out(config.unpacked.exponent_width),
            "significand": Out(config.significand_width),
            "is_number": Out(1),
            "is_special": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        a, b = self.a, self.b
        registered = self.config.registered
        width = self.config.unpacked.exponent_width

        # The ones below the exponents are a carry in.
        exponent = Signal(width + 2)
        m.d.comb += exponent.eq(Cat(C(1, 1), a.exponent) + Cat(C(1, 1), b.exponent))
        sign, exponent, is_number, is_special = cut(
            m,
            "product",
            registered=registered,
            sign=a.sign ^ b.sign,
            exponent=exponent[1 : 1 + width],
            is_number=a.significand[-1] & b.significand[-1],
            is_special=exponent[-1],
        )
        if self.config.halves:
            significand = self.product_of_halves(m)
        else:
            (significand,) = cut(
                m, "product", registered=registered, significand=a.significand * b.significand
            )
        m.d.comb += [
            self.sign.eq(sign),
            self.exponent.eq(exponent),
            self.significand.eq(significand),
            self.is_number.eq(is_number),
            self.is_special.eq(is_special),
        ]
        return m

    def product_of_halves(self, m):
        """Return the significands' product, summed from those of their halves."""
        a, b = self.a.significand, self.b.significand
        width = self.config.operand.significand_width
        half = width // 2
        low, low_high, high_low, high = cut(
            m,
            "product",
            registered=self.config.registered,
            low=a[:half] * b[:half],
            low_high=a[:half] * b[half:],
            high_low=a[half:] * b[:half],
            high=a[half:] * b[half:],
        )
        middle_width = width + 1
        m.submodules.middle = middle = CarrySelectAdd(
            CarrySelectAddConfig(width=middle_width, blocks=(middle_width // 2,))
        )
        m.d.comb += [middle.a.eq(low_high), middle.b.eq(high_low)]
        upper_width = 2 * width - half
        m.submodules.upper = upper = CarrySelectAdd(
            CarrySelectAddConfig(width=upper_width, blocks=(upper_width // 3, upper_width * 2 // 3))
        )
        m.d.comb += [upper.a.eq(Cat(low[half:], high)), upper.b.eq(middle.o)]
        return Cat(low[:half], upper.o)
