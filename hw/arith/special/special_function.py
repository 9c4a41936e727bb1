"""Special function unit: six functions by table lookup and quadratic interpolation."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...config.formats import FP32
from ...emit.shared_block import SharedBlock
from ...isa.operations import SpecialOperation
from ...lib.pipeline import cut
from ..float.normalise import Normalise, NormaliseConfig
from ..float.round import Round, RoundConfig
from . import functions as special
from .carry_save import product_rows, total
from .classify import SpecialClass, SpecialClassifier
from .interpolate import Interpolate
from .reduce import Reduce

__all__ = ["SpecialFunction", "SpecialFunctionConfig", "SpecialOperation"]

#: Stages whose results are registered, by latency; the result always is.
STAGES = ("addends", "word", "reduced", "coefficients", "value", "product", "normalised")
SKIPPED = {8: (), 7: ("word",), 6: ("word", "normalised")}

EXPONENT_WIDTH = 10
#: Integer bits of a logarithm's magnitude.
WHOLE_WIDTH = 8
#: A product or half a logarithm, below 2**7.
TOTAL_WIDTH = special.PRODUCT_WIDTH + WHOLE_WIDTH - 1
#: Stored exponent of a word with its top bit set, for a function of exponent 0.
TOP = FP32.bias + WHOLE_WIDTH - 2


@dataclass(frozen=True, kw_only=True)
class SpecialFunctionConfig:
    """A special function unit.

    Parameters
    ----------
    latency : int
        Cycles from an operand to its result, 6 to 8.

    """

    latency: int = 7

    def __post_init__(self):
        require_integer("latency", self.latency, min(SKIPPED), max(SKIPPED))

    @property
    def cuts(self) -> tuple[str, ...]:
        """Stages whose results are registered, besides the last."""
        return tuple(stage for stage in STAGES if stage not in SKIPPED[self.latency])


class SpecialFunction(SharedBlock):
    """Special function unit: ``o = operation(a)`` within a unit in the last place.

    See ``docs/special_functions.md``. Latency `config.latency`, one result per cycle, no
    handshake. Subnormals are fully supported; NaN results are canonical. Angles are in radians,
    of any size.

    | cycle, of 8 | stage | result |
    |---|---|---|
    | 1 to 3 | addends, word, reduced | range reduction, see `Reduce` |
    | 4, 5 | coefficients, value | the quadratic, see `Interpolate`; the exponent |
    | 6 | product | value times factor; for a logarithm, that plus its integer part |
    | 7 | normalised | |
    | 8 | | rounded to nearest |

    Parameters
    ----------
    config : SpecialFunctionConfig

    Members
    -------
    operation : In(SpecialOperation)
        The two unused codes give undefined results.
    a : In(32)
    o : Out(32)

    """

    def __init__(self, config: SpecialFunctionConfig):
        self.config = config
        super().__init__({
            "operation": In(SpecialOperation),
            "a": In(FP32.width),
            "o": Out(FP32.width),
        })

    def build(self, platform):
        m = Module()
        m.submodules.classify = classify = SpecialClassifier()
        m.submodules.reduce = reduce = Reduce(self.config.cuts)
        m.submodules.interpolate = interpolate = Interpolate(self.config.cuts)
        m.d.comb += [
            classify.operation.eq(self.operation),
            classify.a.eq(self.a),
            reduce.operation.eq(self.operation),
            reduce.a.eq(self.a),
            interpolate.select.eq(reduce.o.select),
            interpolate.argument.eq(reduce.o.argument),
        ]
        beside = {"kind": classify.o}
        for stage in ("addends", "word", "reduced"):
            beside = self.cut(m, stage, **beside)
        beside |= self.scale(m, reduce.o)
        for name in ("factor", "factor_carry", "has_factor"):
            beside[name] = reduce.o[name]
        for stage in ("coefficients", "value"):
            beside = self.cut(m, stage, **beside)

        product = self.product(m, interpolate.o, beside)
        fields = {name: beside[name] for name in ("kind", "sign", "exponent")}
        fields = self.cut(m, "product", **fields, product=product)
        fields["significand"], shift = self.normalised(m, fields.pop("product"))
        fields["exponent"] = (fields["exponent"] - shift)[:EXPONENT_WIDTH].as_signed()
        fields = self.cut(m, "normalised", **fields)

        rounded = Signal(FP32.width, reset_less=True)
        m.d.sync += rounded.eq(self.rounded(m, **fields))
        m.d.comb += self.o.eq(rounded)
        return m

    def cut(self, m, stage, **values) -> dict[str, Value]:
        """Return `values`, registered if the pipeline is cut after `stage`."""
        passed = cut(m, stage, registered=stage in self.config.cuts, **values)
        return dict(zip(values, passed, strict=True))

    def scale(self, m, reduced) -> dict[str, Value]:
        """Return exponent, sign, and the logarithm's addend to the product."""
        scale = reduced.scale
        base = Signal(EXPONENT_WIDTH)
        term = Signal(EXPONENT_WIDTH)
        carry = Signal()
        with m.Switch(reduced.operation):
            with m.Case(SpecialOperation.RCP):
                m.d.comb += [base.eq(TOP + FP32.bias), term.eq(~scale), carry.eq(1)]
            with m.Case(SpecialOperation.RSQRT):
                # Half the exponent, rounded down.
                m.d.comb += [
                    base.eq(TOP + FP32.bias // 2 + 1),
                    term.eq(~(scale >> 1)),
                    carry.eq(~scale[0]),
                ]
            with m.Case(SpecialOperation.EXP2):
                m.d.comb += [base.eq(TOP + 1), term.eq(scale)]
            with m.Case(SpecialOperation.LOG2):
                # The product is half the logarithm; near 0, its factor is normalised.
                with m.If(reduced.is_far):
                    m.d.comb += base.eq(TOP + 1)
                with m.Else():
                    m.d.comb += [base.eq(TOP), term.eq(~scale), carry.eq(1)]
            with m.Default():
                with m.If(reduced.has_factor):
                    m.d.comb += [base.eq(TOP - 1), term.eq(~scale), carry.eq(1)]
                with m.Elif(reduced.is_tiny & (reduced.operation == SpecialOperation.SIN)):
                    m.d.comb += [base.eq(TOP - FP32.bias), term.eq(scale)]
                with m.Else():
                    m.d.comb += base.eq(TOP)

        is_log2 = reduced.operation == SpecialOperation.LOG2
        whole = Signal(signed(EXPONENT_WIDTH))
        m.d.comb += whole.eq(scale + reduced.is_upper - FP32.bias)
        is_below = whole[-1]
        is_negative = Mux(reduced.is_far, is_below, reduced.is_upper)
        return {
            "exponent": (Cat(carry, base) + Cat(carry, term))[1 : 1 + EXPONENT_WIDTH].as_signed(),
            "sign": Mux(is_log2, is_negative, reduced.sign),
            "is_difference": reduced.is_far & (reduced.is_upper ^ is_below),
            "whole": Mux(is_below, -whole, whole)[:WHOLE_WIDTH]
            & reduced.is_far.replicate(WHOLE_WIDTH),
        }

    def product(self, m, value, beside) -> Value:
        """Return value times factor, plus or minus half a logarithm's integer part."""
        rows, constant = product_rows(
            m,
            "factor",
            value,
            Cat(beside["factor"], C(0, 1)),
            digits=special.FACTOR_DIGITS,
            dropped=special.VALUE_WIDTH + special.FACTOR_WIDTH - special.PRODUCT_WIDTH,
            width=TOTAL_WIDTH,
            carry=beside["factor_carry"],
            negative=beside["is_difference"],
        )
        bias = Mux(beside["has_factor"], special.PRODUCT_BIAS, 0)
        zeros = C(0, special.PRODUCT_WIDTH - 1 - len(bias))
        rows = [C(constant, TOTAL_WIDTH), Cat(bias, zeros, beside["whole"]), *rows]
        blocks = tuple(TOTAL_WIDTH * k // 4 for k in (1, 2, 3))
        return total(m, "product", rows, TOTAL_WIDTH, blocks)

    def normalised(self, m, product):
        """Return the normalised product, truncated for rounding, and the shift."""
        # The smallest are logarithms, at least 1/8 when halved.
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(width=TOTAL_WIDTH, leading_zeros=WHOLE_WIDTH + 1)
        )
        m.d.comb += normalise.i.eq(product)
        lowest = TOTAL_WIDTH - FP32.significand_width - 2
        return Cat(normalise.o[:lowest].any(), normalise.o[lowest:]), normalise.shift

    def rounded(self, m, kind, sign, exponent, significand) -> Value:
        """Return the rounded and packed result."""
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=FP32,
                significand_width=len(significand),
                exponent_width=EXPONENT_WIDTH,
                overflows=True,
                underflows=True,
            )
        )
        m.d.comb += [rounder.exponent.eq(exponent), rounder.significand.eq(significand)]
        magnitude = Array([rounder.o, C(0, 1), C(FP32.infinity), C(FP32.nan)])[kind]
        return Cat(magnitude[: FP32.width - 1], sign & (kind != SpecialClass.NAN))
