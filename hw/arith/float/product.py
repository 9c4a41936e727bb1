"""Exact product of two unpacked floats."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.formats import FloatFormat
from ...emit.component import Component
from ...lib.pipeline import cut
from .significand_product import SignificandProduct, SignificandProductConfig
from .unpack import UnpackConfig

__all__ = ["Product", "ProductConfig"]


@dataclass(frozen=True, kw_only=True)
class ProductConfig:
    """Format of the factors and an optional register.

    Parameters
    ----------
    operand : FloatFormat
        Format of both factors.
    registered : bool
        Whether the product is registered. If significands are multiplied in halves, these are
        added after the register.

    """

    operand: FloatFormat
    registered: bool = False

    @property
    def unpacked(self) -> UnpackConfig:
        """Config of the unpacked factors."""
        return UnpackConfig(form=self.operand)

    @property
    def offset(self) -> int:
        """Product's exponent minus its true exponent."""
        return 2 * self.unpacked.offset + 1

    @property
    def significands(self) -> SignificandProductConfig:
        """Config of the significand multiplier."""
        return SignificandProductConfig(
            width=self.operand.significand_width, registered=self.registered
        )

    @property
    def significand_width(self) -> int:
        """Bits of the exact product."""
        return 2 * self.operand.significand_width


class Product(Component):
    """Exact multiplier: ``o = a * b`` with a significand of at least 1 and below 4.

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
        The true exponent plus `config.offset`; valid if the product is finite and not zero.
    significand : Out(config.significand_width)
        Two bits are before the point.
    is_number : Out(1)
        Neither factor has significand 0: the product is not zero or NaN.
    is_special : Out(1)
        The product is infinite if `is_number`, else NaN.

    """

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

        # The ones below the exponents serve as a carry in.
        exponent = Signal(width + 2)
        m.d.comb += exponent.eq(Cat(C(1, 1), a.exponent) + Cat(C(1, 1), b.exponent))
        sign, exponent, is_number, is_special = cut(
            m,
            "product",
            registered=registered,
            sign=a.sign ^ b.sign,
            exponent=exponent[1 : 1 + width],
            is_number=a.significand[-1] & b.significand[-1],
            is_special=exponent[-1] & self.config.operand.has_nan,
        )
        m.submodules.significands = significands = SignificandProduct(self.config.significands)
        m.d.comb += [
            significands.a.eq(a.significand),
            significands.b.eq(b.significand),
        ]
        m.d.comb += [
            self.sign.eq(sign),
            self.exponent.eq(exponent),
            self.significand.eq(significands.o),
            self.is_number.eq(is_number),
            self.is_special.eq(is_special),
        ]
        return m
