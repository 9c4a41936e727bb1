"""Fused multiply-add unit of a core: RISC-V F arithmetic except division and square root."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...config.formats import FP32, FloatFormat
from ...emit.shared_block import SharedBlock
from ...lib.pipeline import cut, delayed
from .fused_sum import FusedSum, FusedSumConfig
from .normalise import Normalise, NormaliseConfig
from .rounding import FLAGS_LAYOUT, Rounding
from .significand_product import SignificandProduct, SignificandProductConfig
from .sum import STAGES

__all__ = ["Fma", "FmaConfig", "FmaOperandsSignature", "FmaOperation", "FmaResultSignature"]

LATENCIES = 6
#: Registered stages by latency. Any remaining latency delays the result.
CUTS = (
    (),
    ("align",),
    ("product", "add"),
    ("product", "align", "normalise"),
    ("product", "align", "add", "normalise"),
)


class FmaOperation(enum.IntEnum, shape=3):
    """Operations; the first four are encoded as in bits 3:2 of the instructions' opcodes."""

    FMADD = 0  # a * b + c
    FMSUB = 1  # a * b - c
    FNMSUB = 2  # -(a * b) + c
    FNMADD = 3  # -(a * b) - c
    FADD = 4  # a + b
    FSUB = 5  # a - b
    FMUL = 6  # a * b


@dataclass(frozen=True, kw_only=True)
class FmaConfig:
    """A fused multiply-add unit.

    Parameters
    ----------
    form : FloatFormat
        Format of operands and result, with infinities and subnormals.
    latency : int
        Cycles from the operands to the result, 1 to 6; below 3 the stages are deeper than 60
        gates.

    """

    form: FloatFormat = FP32
    latency: int = 3

    def __post_init__(self):
        require_integer("latency", self.latency, 1, LATENCIES)
        if not (self.form.has_infinity and self.form.signed and self.form.subnormals):
            raise ValueError(
                f"form must have signs, infinities and subnormals, unlike {self.form.name}"
            )

    @property
    def cuts(self) -> tuple[str, ...]:
        """Stages whose results are registered."""
        return CUTS[min(self.latency, len(CUTS)) - 1]

    @property
    def sum(self) -> FusedSumConfig:
        """Config of the sum after the product."""
        return FusedSumConfig(
            form=self.form,
            significand_width=2 * self.form.significand_width,
            exponent_width=self.form.exponent_width + 2,
            cuts=tuple(stage for stage in self.cuts if stage in STAGES),
            dynamic=True,
        )


class FmaOperandsSignature(wiring.Signature):
    """Operation of a multiply-add with its operands, as stored.

    Members
    -------
    operation : Out(FmaOperation)
    rounding : Out(Rounding)
    a, b, c : Out(form.width)
    """

    def __init__(self, form: FloatFormat):
        super().__init__({
            "operation": Out(FmaOperation),
            "rounding": Out(Rounding),
            **{name: Out(form.width) for name in ("a", "b", "c")},
        })


class FmaResultSignature(wiring.Signature):
    """Result of a multiply-add, as stored, and its flags.

    Members
    -------
    o : Out(form.width)
    flags : Out(FLAGS_LAYOUT)
    """

    def __init__(self, form: FloatFormat):
        super().__init__({"o": Out(form.width), "flags": Out(FLAGS_LAYOUT)})


class Fma(SharedBlock):
    """Fused multiply-add: computes an operation on `a`, `b` and, if used, `c`, rounded once.

    Conforms to RISC-V F (20191213, section 11) and IEEE 754-2008: five rounding modes, full
    subnormal support, canonical NaN results, tininess detected after rounding. Infinity times
    zero is invalid for any addend. Unused operands have no effect.

    Latency `config.latency`, one result per cycle, no handshake; all inputs belong to the same
    cycle. By default::

        cycle 0   products of the significands' halves, exponents, classes
        cycle 1   their sum, alignment, addition
        cycle 2   normalisation, rounding

    Subnormal factors are not normalised before the multiplication: the product is shifted
    instead. At most one factor needs it, since a product of two subnormals is far below every
    number. Of product and addend, the one with the smaller exponent is shifted. Sums are therefore
    twice the significand plus 3 bits wide; if only the addend could be shifted, they would be
    three times as wide.

    Parameters
    ----------
    config : FmaConfig

    Members
    -------
    operands : In(FmaOperandsSignature(config.form))
    result : Out(FmaResultSignature(config.form))

    """

    def __init__(self, config: FmaConfig):
        self.config = config
        super().__init__({
            "operands": In(FmaOperandsSignature(config.form)),
            "result": Out(FmaResultSignature(config.form)),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        form = config.form
        operands, result = self.operands, self.result
        operation = Value.cast(operands.operation)
        is_sum = operation[2] & ~operation[1]
        is_product = operation[2] & operation[1]
        a = FmaFactor(form, operands.a)
        b = FmaFactor(form, Mux(is_sum, form.bias << form.fraction_width, operands.b))
        c = Mux(is_sum, operands.b, operands.c)

        sign = a.sign ^ b.sign ^ (operation[1] & ~operation[2])
        # A lone product is added to a zero of its sign, which leaves it unchanged.
        magnitude = Mux(is_product, 0, c[:-1])
        addend = Cat(magnitude, Mux(is_product, sign, c[-1] ^ operation[0]))
        places = self.leading_zeros(m, a, b)
        exponent = a.exponent + b.exponent - form.bias - places
        product = {"exponent": exponent, "sign": sign, **classes(a, b)}
        *product_values, places, addend, rounding = cut(
            m,
            "product",
            registered="product" in config.cuts,
            **product,
            places=places,
            addend=addend,
            rounding=operands.rounding,
        )
        m.submodules.sum = total = FusedSum(config.sum)
        for name, value in zip(product, product_values, strict=True):
            m.d.comb += total.a[name].eq(value)
        m.d.comb += [
            total.a.significand.eq(self.significand(m, a, b) << places),
            total.b.eq(addend),
            total.rounding.eq(rounding),
        ]
        # A register of a constant 0 would have two initial values.
        raised = {
            name: total.flags[name] for name in ("inexact", "underflow", "overflow", "invalid")
        }
        late = delayed(m, config.latency - len(config.cuts) - 1, o=total.o, **raised)
        m.d.comb += result.o.eq(late[0])
        m.d.comb += [
            result.flags[name].eq(flag) for name, flag in zip(raised, late[1:], strict=True)
        ]
        return m

    def leading_zeros(self, m, a, b):
        """Return the left shift that normalises a product with one subnormal factor."""
        width = self.config.form.significand_width
        m.submodules.leading_zeros = leading_zeros = Normalise(
            NormaliseConfig(width=width, leading_zeros=width - 1)
        )
        m.d.comb += leading_zeros.i.eq(Mux(a.is_normal, b.significand, a.significand))
        return leading_zeros.shift

    def significand(self, m, a, b):
        """Return the product of the significands, after the stage ``product``."""
        width = self.config.form.significand_width
        m.submodules.significands = product = SignificandProduct(
            SignificandProductConfig(width=width, registered="product" in self.config.cuts)
        )
        m.d.comb += [product.a.eq(a.significand), product.b.eq(b.significand)]
        return product.o


class FmaFactor:
    """An unpacked factor of a product.

    Parameters
    ----------
    form : FloatFormat
    stored : Value

    """

    def __init__(self, form: FloatFormat, stored: Value):
        exponent = stored[form.fraction_width : -1]
        fraction = stored[: form.fraction_width]
        self.sign = stored[-1]
        self.is_normal = exponent.any()
        self.significand = Cat(fraction, self.is_normal)
        self.exponent = exponent | ~self.is_normal
        self.is_special = exponent.all()
        self.is_number = self.significand.any()
        self.is_nan = self.is_special & fraction.any()
        self.is_signalling = self.is_nan & ~fraction[-1]


def classes(a: FmaFactor, b: FmaFactor) -> dict[str, Value]:
    """Return the class of the product of `a` and `b`, in the form `FusedSum` expects."""
    is_nan = a.is_nan | b.is_nan
    is_zero = ~(a.is_number & b.is_number)
    is_special = a.is_special | b.is_special
    return {
        "is_number": ~is_zero & ~is_nan,
        "is_special": is_special,
        # Infinity times zero, or a signalling NaN.
        "is_invalid": (is_special & is_zero & ~is_nan) | a.is_signalling | b.is_signalling,
    }
