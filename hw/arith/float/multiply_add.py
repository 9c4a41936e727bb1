"""Multiply-add of a matrix unit: narrow operands, a wide accumulator."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config.checks import require_choice, require_integer
from ...config.formats import FORMATS, FloatFormat, IntFormat
from ...emit.shared_block import SharedBlock
from ...lib.pipeline import cut, delayed
from .fused_sum import FusedSum, FusedSumConfig
from .product import Product, ProductConfig
from .sum import STAGES, Sum, SumConfig
from .unpack import operand_layout

__all__ = ["MultiplyAdd", "MultiplyAddConfig", "MultiplyAddSignature"]

LATENCIES = 6

#: Registered stages by latency, if products fit the accumulator and if not. Any remaining latency
#: delays the result.
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
    ("product", "add"),
    ("product", "align", "normalise"),
    ("product", "align", "add", "normalise"),
)


@dataclass(frozen=True, kw_only=True)
class MultiplyAddConfig:
    """Formats and latency of a multiply-add.

    Parameters
    ----------
    operand : str
        Format of the factors.
    accumulator : str
        Format of the addend and the result; for floats, with infinities and at least the
        operand's range.
    latency : int
        Cycles from the operands to the result, 1 to 6; `least_latency` gives short stages.

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
        if isinstance(self.operand_format, FloatFormat):
            self.require_range(self.operand_format, self.accumulator_format)

    def require_range(self, operand, accumulator):
        """Raise unless `accumulator` has the kind and range that sums of products need."""
        if not (accumulator.has_infinity and accumulator.signed and accumulator.subnormals):
            raise ValueError(
                f"accumulator must have signs, infinities and subnormals, unlike {self.accumulator}"
            )
        if operand.largest_exponent > accumulator.largest_exponent:
            raise ValueError(
                f"accumulator must have at least the range of {self.operand}, with a largest "
                f"exponent of {operand.largest_exponent}, not {accumulator.largest_exponent}"
            )

    @property
    def is_exact(self) -> bool:
        """Whether the adder after the product has only bounded results.

        If so, products are exactly zero or normal values of the accumulator's format. Sums with
        them are not subnormal: even after cancellation a sum is at least one unit in the last
        place of the smallest product. They do not overflow either: the largest product is below
        half a unit in the last place of the largest addend.
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
    def least_latency(self) -> int:
        """Smallest latency from which on no stage has more than 60 gates."""
        if isinstance(self.operand_format, IntFormat):
            return 2
        return 3 if self.product.significands.in_halves else 2

    @property
    def product(self) -> ProductConfig:
        """Config of the float multiplier."""
        assert isinstance(self.operand_format, FloatFormat)
        return ProductConfig(operand=self.operand_format, registered="product" in self.cuts)

    @property
    def cuts(self) -> tuple[str, ...]:
        """Stages whose results are registered."""
        cuts = EXACT_CUTS if self.is_exact else FUSED_CUTS
        return cuts[min(self.latency, len(cuts)) - 1]


class MultiplyAddSignature(wiring.Signature):
    """Operands of a multiply-add and its result, seen from the element that computes with it.

    Parameters
    ----------
    config : MultiplyAddConfig

    Members
    -------
    a, b : Out(config.operand_layout)
        In the format of `Unpack`.
    c : Out(config.accumulator_format.width)
    o : In(config.accumulator_format.width)
    """

    def __init__(self, config: MultiplyAddConfig):
        width = config.accumulator_format.width
        super().__init__({
            "a": Out(config.operand_layout),
            "b": Out(config.operand_layout),
            "c": Out(width),
            "o": In(width),
        })


class MultiplyAdd(SharedBlock):
    """Multiply-add: ``o = a * b + c``; floats are rounded once, integers wrap at ``2**width``.

    Floats round to nearest, ties to even, with full subnormal support and canonical NaN results.
    If products fit the accumulator's format exactly, an adder whose sums neither overflow nor
    become subnormal follows (`Sum`). If not, an adder of any range and twice the significand
    follows (`FusedSum`).

    Latency `config.latency`, one result per cycle, no handshake; `a`, `b` and `c` belong to the
    same cycle.

    Parameters
    ----------
    config : MultiplyAddConfig

    Members are those of `MultiplyAddSignature`, seen from the other side.
    """

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        super().__init__(MultiplyAddSignature(config).flip())

    def build(self, platform):
        m = Module()
        if isinstance(self.config.operand_format, IntFormat):
            self.build_integer(m)
        else:
            self.build_float(m)
        return m

    def build_float(self, m):
        config = self.config
        accumulator = config.accumulator_format
        assert isinstance(accumulator, FloatFormat)

        m.submodules.product = product = Product(config.product)
        m.d.comb += [product.a.eq(self.a), product.b.eq(self.b)]
        m.submodules.sum = total = self.sum()
        (addend,) = cut(m, "product", registered=product.config.registered, c=self.c)
        fill = len(total.a.significand) - len(product.significand)
        m.d.comb += [
            total.a.significand.eq(product.significand << fill),
            total.a.exponent.eq(product.exponent + (accumulator.bias - product.config.offset)),
            total.a.sign.eq(product.sign),
            total.a.is_number.eq(product.is_number),
            total.a.is_special.eq(product.is_special),
            total.b.eq(addend),
        ]
        (o,) = delayed(m, config.latency - len(config.cuts) - 1, o=total.o)
        m.d.comb += self.o.eq(o)

    def sum(self):
        """Return the adder after the product: the cheap one if it is sufficient."""
        config = self.config
        product, accumulator = config.product, config.accumulator_format
        assert isinstance(accumulator, FloatFormat)
        cuts = tuple(stage for stage in config.cuts if stage in STAGES)
        if config.is_exact:
            return Sum(
                SumConfig(
                    form=accumulator,
                    cuts=cuts,
                    overflows=False,
                    subnormals=False,
                    infinities=product.operand.has_infinity,
                )
            )
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
        # The multiplier takes the first cycle; remaining latency delays the sum.
        if self.config.latency > 1:
            product_registered = Signal(signed(len(product)), reset_less=True)
            product_c = Signal(width, reset_less=True)
            m.d.sync += [product_registered.eq(product), product_c.eq(addend)]
            product, addend = product_registered, product_c
        total = Signal(width)
        m.d.comb += total.eq(product + addend)
        (o,) = delayed(m, max(1, self.config.latency - 1), o=total)
        m.d.comb += self.o.eq(o)
