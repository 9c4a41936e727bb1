"""The multiply-add of a matrix unit: narrow operands, a wide accumulator."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import require_choice, require_integer
from ..emit import SharedBlock
from ..formats import FORMATS, FloatFormat, IntFormat
from .pipeline import cut
from .product import Product, ProductConfig
from .sum import STAGES, Sum, SumConfig
from .unpack import operand_layout

__all__ = ["MultiplyAdd", "MultiplyAddConfig"]

CUTS = {
    1: (),
    2: ("align",),
    3: ("product", "add"),
    4: ("product", "align", "add"),
}


@dataclass(frozen=True, kw_only=True)
class MultiplyAddConfig:
    """A multiply-add.

    Parameters
    ----------
    operand : str
        Format of the factors. The product of two must be exact in the accumulator's.
    accumulator : str
        Format of the addend and of the result.
    latency : int
        Cycles from the operands to the result, 1 to 4.

    """

    operand: str = "fp16"
    accumulator: str = "fp32"
    latency: int = 2

    def __post_init__(self):
        require_choice("operand", self.operand, FORMATS)
        require_choice("accumulator", self.accumulator, FORMATS)
        require_integer("latency", self.latency, 1, len(CUTS))
        if isinstance(self.operand_format, IntFormat) != isinstance(
            self.accumulator_format, IntFormat
        ):
            raise ValueError(
                f"operand and accumulator must be both integers or both floats, "
                f"not {self.operand} and {self.accumulator}"
            )
        if isinstance(self.operand_format, FloatFormat):
            self.require_exact_product(self.operand_format, self.accumulator_format)

    def require_exact_product(self, operand, accumulator):
        """Raise unless each product of finite operands is zero or a normal accumulator value."""
        width = 2 * operand.significand_width
        if width > accumulator.significand_width:
            raise ValueError(
                f"accumulator must hold a product exactly, 2 x {operand.significand_width} = "
                f"{width} significand bits, not {accumulator.significand_width}"
            )
        product = ProductConfig(operand=operand)
        # A cancelled sum is at least one unit in the last place of the least product.
        least = 2 * operand.least_exponent + accumulator.bias - accumulator.fraction_width
        most = 2 * operand.bias + 1 + accumulator.bias
        if product.offset != accumulator.bias or least < 1 or most >= accumulator.exponent_mask:
            raise ValueError(
                f"accumulator must have room for the exponents of products of {operand.name}, "
                f"which {accumulator.name} has not"
            )

    @property
    def operand_format(self) -> FloatFormat | IntFormat:
        """Format of `a` and `b`."""
        return FORMATS[self.operand]

    @property
    def accumulator_format(self) -> FloatFormat | IntFormat:
        """Format of `c` and `o`."""
        return FORMATS[self.accumulator]

    @property
    def operand_layout(self) -> data.StructLayout | Shape:
        """Shape of `a` and `b`."""
        return operand_layout(self.operand_format)


class MultiplyAdd(SharedBlock):
    """``o = a * b + c``: floats exact and rounded once, integers modulo ``2**width``.

    Floats round to nearest, ties to even; subnormals are numbers like any other, NaN results are
    canonical. A product fits the accumulator's format exactly, so all that follows it is an adder
    in which sums neither overflow nor become subnormal.

    Latency `config.latency`, one result per cycle, no handshake; `a`, `b` and `c` belong to the
    same cycle.

    Parameters
    ----------
    config : MultiplyAddConfig

    Members
    -------
    a, b : In(config.operand_layout)
        As `Unpack` makes them.
    c : In(config.accumulator_format.width)
    o : Out(config.accumulator_format.width)

    """

    a: data.View
    b: data.View
    c: Signal
    o: Signal

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        width = config.accumulator_format.width
        super().__init__({
            "a": In(config.operand_layout),
            "b": In(config.operand_layout),
            "c": In(width),
            "o": Out(width),
        })

    def build(self, platform):
        m = Module()
        if isinstance(self.config.operand_format, IntFormat):
            self.build_integer(m)
        else:
            self.build_float(m)
        return m

    def build_float(self, m):
        config = self.config
        operand, accumulator = config.operand_format, config.accumulator_format
        assert isinstance(operand, FloatFormat) and isinstance(accumulator, FloatFormat)

        cuts = CUTS[config.latency]
        m.submodules.product = product = Product(
            ProductConfig(operand=operand, registered="product" in cuts)
        )
        m.d.comb += [product.a.eq(self.a), product.b.eq(self.b)]
        m.submodules.sum = total = Sum(
            SumConfig(
                form=accumulator,
                cuts=tuple(stage for stage in cuts if stage in STAGES),
                overflows=False,
                subnormals=False,
            )
        )
        (addend,) = cut(m, "product", registered=product.config.registered, c=self.c)
        fill = len(total.a.significand) - len(product.significand)
        m.d.comb += [
            total.a.significand.eq(product.significand << fill),
            total.a.exponent.eq(product.exponent),
            total.a.sign.eq(product.sign),
            total.a.is_number.eq(product.is_number),
            total.a.is_special.eq(product.is_special),
            total.b.eq(addend),
            self.o.eq(total.o),
        ]

    def build_integer(self, m):
        width = self.config.accumulator_format.width
        product, addend = Value.cast(self.a) * Value.cast(self.b), self.c
        # A multiplier comes first; what latency is left delays the sum.
        if self.config.latency > 1:
            product_registered = Signal(signed(len(product)), reset_less=True)
            product_c = Signal(width, reset_less=True)
            m.d.sync += [product_registered.eq(product), product_c.eq(addend)]
            product, addend = product_registered, product_c
        total = product + addend
        for stage in range(max(1, self.config.latency - 1)):
            total_registered = Signal(width, name=f"sum_{stage}", reset_less=True)
            m.d.sync += total_registered.eq(total)
            total = total_registered
        m.d.comb += self.o.eq(total)
