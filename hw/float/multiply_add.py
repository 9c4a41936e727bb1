"""The multiply-add of a matrix unit: narrow operands, a wide accumulator."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import require_choice, require_integer
from ..emit import SharedBlock
from ..formats import FORMATS, FloatFormat, IntFormat
from .fused_sum import FusedSum, FusedSumConfig
from .pipeline import cut
from .product import Product, ProductConfig
from .sum import STAGES, Sum, SumConfig
from .unpack import operand_layout

__all__ = ["MultiplyAdd", "MultiplyAddConfig"]

LATENCIES = 6

#: Registered stages by latency, where products fit the accumulator, and where not. What latency is
#: left delays the result.
EXACT_CUTS = (
    (),
    ("align",),
    ("product", "add"),
    ("product", "align", "add"),
    ("product", "align", "add", "normalise"),
)
FUSED_CUTS = (
    (),
    ("align",),
    ("align", "normalise"),
    ("product", "align", "normalise"),
    ("product", "align", "add", "normalise"),
)
#: Bits of the longest significands that are multiplied in one piece.
SHORT = 12


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
        require_integer("latency", self.latency, 1, LATENCIES)
        if isinstance(self.operand_format, IntFormat) != isinstance(
            self.accumulator_format, IntFormat
        ):
            raise ValueError(
                f"operand and accumulator must be both integers or both floats, "
                f"not {self.operand} and {self.accumulator}"
            )

    @property
    def is_exact(self) -> bool:
        """Whether all that follows a product is an adder of bounded results.

        Products are zero or normal values of the accumulator's format, exactly; sums with them
        are not subnormal, since even a cancelled one is at least one unit in the last place of
        the least product, and they do not overflow, since the largest product is below half a
        unit in the last place of the largest addend.
        """
        operand, accumulator = self.operand_format, self.accumulator_format
        if isinstance(operand, IntFormat) or isinstance(accumulator, IntFormat):
            return True
        least = 2 * operand.least_exponent - accumulator.fraction_width
        most = 2 * operand.largest_exponent + 2
        return (
            2 * operand.significand_width <= accumulator.significand_width
            and least + accumulator.bias >= 1
            and most <= accumulator.largest_exponent - accumulator.significand_width
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

    @property
    def cuts(self) -> tuple[str, ...]:
        """Stages whose results are registered."""
        cuts = EXACT_CUTS if self.is_exact else FUSED_CUTS
        return cuts[min(self.latency, len(cuts)) - 1]


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

        m.submodules.product = product = Product(
            ProductConfig(
                operand=operand,
                halves=operand.significand_width > SHORT,
                registered="product" in config.cuts,
            )
        )
        m.d.comb += [product.a.eq(self.a), product.b.eq(self.b)]
        m.submodules.sum = total = self.sum(product.config)
        (addend,) = cut(m, "product", registered=product.config.registered, c=self.c)
        fill = len(total.a.significand) - len(product.significand)
        m.d.comb += [
            total.a.significand.eq(product.significand << fill),
            total.a.exponent.eq(product.exponent + (accumulator.bias - product.config.offset)),
            total.a.sign.eq(product.sign),
            total.a.is_number.eq(product.is_number),
            total.a.is_special.eq(product.is_special),
            total.b.eq(addend),
            self.o.eq(delayed(m, total.o, config.latency - len(config.cuts) - 1)),
        ]

    def sum(self, product: ProductConfig):
        """Return the adder of products, the cheap one where that is enough."""
        config = self.config
        accumulator = config.accumulator_format
        cuts = tuple(stage for stage in config.cuts if stage in STAGES)
        if config.is_exact:
            return Sum(SumConfig(form=accumulator, cuts=cuts, overflows=False, subnormals=False))
        return FusedSum(
            FusedSumConfig(
                form=accumulator,
                significand_width=max(product.significand_width, accumulator.significand_width + 1),
                exponent_width=max(product.unpacked.exponent_width, accumulator.exponent_width + 2),
                cuts=cuts,
            )
        )

    def build_integer(self, m):
        width = self.config.accumulator_format.width
        product, addend = Value.cast(self.a) * Value.cast(self.b), self.c
        # A multiplier comes first; what latency is left delays the sum.
        if self.config.latency > 1:
            product_registered = Signal(signed(len(product)), reset_less=True)
            product_c = Signal(width, reset_less=True)
            m.d.sync += [product_registered.eq(product), product_c.eq(addend)]
            product, addend = product_registered, product_c
        total = Signal(width)
        m.d.comb += total.eq(product + addend)
        m.d.comb += self.o.eq(delayed(m, total, max(1, self.config.latency - 1)))


def delayed(m: Module, value: Signal, cycles: int) -> Signal:
    """Return `value` as it was `cycles` before."""
    for cycle in range(cycles):
        later = Signal.like(value, name=f"delayed_{cycle + 1}", reset_less=True)
        m.d.sync += later.eq(value)
        value = later
    return value
