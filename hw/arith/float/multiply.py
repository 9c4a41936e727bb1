"""Multipliers of stored floats."""

from dataclasses import dataclass

from amaranth import *

from ...lib.pipeline import cut
from .product import Product, ProductConfig
from .round import Round, RoundConfig
from .two_operands import TwoOperandConfig, TwoOperandUnit
from .unpack import Unpack

__all__ = ["Multiply", "MultiplyConfig"]

#: Registered stages by latency.
CUTS = (
    (),
    ("factors",),
    ("factors", "product"),
    ("unpack", "factors", "product"),
    ("unpack", "factors", "product", "shift"),
)


@dataclass(frozen=True, kw_only=True)
class MultiplyConfig(TwoOperandConfig):
    """A multiplier; see `TwoOperandConfig`. Its latency is 1 to 5."""

    latency: int = 4

    latencies = len(CUTS)


class Multiply(TwoOperandUnit):
    """Floating-point multiplier: ``o = a * b``, with subnormals. See `TwoOperandUnit`."""

    def build(self, platform):
        m = Module()
        form = self.config.form
        cuts = CUTS[self.config.latency - 1]

        m.submodules.product = product = Product(
            ProductConfig(operand=form, registered="factors" in cuts)
        )
        for name in ("a", "b"):
            m.submodules[f"unpack_{name}"] = unpack = Unpack(product.config.unpacked)
            m.d.comb += unpack.i.eq(getattr(self, name))
            (factor,) = cut(m, "unpack", registered="unpack" in cuts, **{name: unpack.o})
            m.d.comb += getattr(product, name).eq(factor)

        is_two_or_more = product.significand[-1]
        normalised = Signal(product.config.significand_width)
        m.d.comb += normalised.eq(
            Mux(is_two_or_more, product.significand, product.significand << 1)
        )
        # Rounding needs only guard, round and sticky bits of the lower half.
        lowest = product.config.significand_width - form.significand_width - 2
        sign, is_number, is_special, exponent, significand = cut(
            m,
            "product",
            registered="product" in cuts,
            sign=product.sign,
            is_number=product.is_number,
            is_special=product.is_special,
            exponent=product.exponent + is_two_or_more - (product.config.offset - form.bias),
            significand=Cat(normalised[:lowest].any(), normalised[lowest:]),
        )
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=form,
                significand_width=len(significand),
                exponent_width=len(exponent),
                overflows=True,
                underflows=True,
                registered="shift" in cuts,
            )
        )
        m.d.comb += [rounder.exponent.eq(exponent), rounder.significand.eq(significand)]
        sign, is_number, is_special = cut(
            m,
            "shifted",
            registered="shift" in cuts,
            sign=sign,
            is_number=is_number,
            is_special=is_special,
        )
        magnitude = Mux(is_special, form.infinity, Mux(is_number, rounder.o, 0))
        is_nan = is_special & ~is_number
        rounded = Signal(form.width, reset_less=True)
        m.d.sync += rounded.eq(Mux(is_nan, form.nan, Cat(magnitude[: form.width - 1], sign)))
        m.d.comb += self.o.eq(rounded)
        return m
