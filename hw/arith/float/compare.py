"""Comparison of stored floats: RISC-V's ``feq``, ``flt``, ``fle``, ``fmin`` and ``fmax``."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out

from ...config.formats import FP32, IEEE, NAN, FloatFormat
from ...emit.shared_block import SharedBlock
from .rounding import FLAGS_LAYOUT

__all__ = ["Compare", "CompareConfig", "Comparison"]


class Comparison(enum.IntEnum, shape=3):
    """Operations of the comparator."""

    EQUAL = 0
    LESS = 1
    LESS_EQUAL = 2
    MINIMUM = 3
    MAXIMUM = 4


@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """Format of the operands."""

    form: FloatFormat = FP32


class Compare(SharedBlock):
    """Float comparator: ``o`` is the comparison result (0 or 1), the minimum or the maximum.

    Combinational. NaN compares neither equal to nor less than anything. LESS and LESS_EQUAL
    raise `invalid` for any NaN, the other operations for a signalling one. MINIMUM and MAXIMUM are
    minimumNumber and maximumNumber of IEEE 754-2019: a number wins over NaN, two NaNs give the
    canonical one, and -0 is less than +0.

    Parameters
    ----------
    config : CompareConfig

    Members
    -------
    operation : In(Comparison)
    a, b : In(config.form.width)
    o : Out(config.form.width)
    flags : Out(FLAGS_LAYOUT)
        All 0 except `invalid`.

    """

    operation: Signal
    a: Signal
    b: Signal
    o: Signal
    flags: data.View

    def __init__(self, config: CompareConfig):
        self.config = config
        width = config.form.width
        super().__init__({
            "operation": In(Comparison),
            "a": In(width),
            "b": In(width),
            "o": Out(width),
            "flags": Out(FLAGS_LAYOUT),
        })

    def build(self, platform):
        m = Module()
        form = self.config.form
        is_less, is_equal = self.ordered(m)
        a_is_nan, a_is_signalling = self.nan(self.a)
        b_is_nan, b_is_signalling = self.nan(self.b)
        is_ordered = ~(a_is_nan | b_is_nan)
        magnitudes = (self.a | self.b)[: form.magnitude_width]
        are_zeros = ~magnitudes.any() if form.signed and form.subnormals else C(0, 1)
        is_a_first = is_less | is_equal

        picks_a = b_is_nan | ~a_is_nan & (is_a_first ^ (self.operation == Comparison.MAXIMUM))
        picked = Mux(picks_a, self.a, self.b)
        if form.has_nan:
            picked = Mux(a_is_nan & b_is_nan, form.nan, picked)
        zeros_hold = is_ordered & are_zeros
        codes_hold = is_ordered & ~are_zeros
        m.d.comb += self.flags.invalid.eq(a_is_signalling | b_is_signalling)
        with m.Switch(self.operation):
            with m.Case(Comparison.EQUAL):
                m.d.comb += self.o.eq(is_equal & codes_hold | zeros_hold)
            with m.Case(Comparison.LESS):
                m.d.comb += [self.o.eq(is_less & codes_hold), self.flags.invalid.eq(~is_ordered)]
            with m.Case(Comparison.LESS_EQUAL):
                m.d.comb += self.o.eq(is_a_first & codes_hold | zeros_hold)
                m.d.comb += self.flags.invalid.eq(~is_ordered)
            with m.Default():
                m.d.comb += self.o.eq(picked)
        return m

    def ordered(self, m):
        """Return whether `a` is less than `b` and whether they are equal, by their codes.

        -0 is less than +0. Bits are compared in parallel and combined in a tree.
        """
        form = self.config.form
        a, b = self.a, self.b
        if form.signed:
            # Codes ordered like values: invert the magnitude bits of negative numbers.
            a, b = (Cat(x[:-1] ^ x[-1].replicate(form.magnitude_width), ~x[-1]) for x in (a, b))
        less, equal = ~a & b, ~(a ^ b)
        while len(less) > 1:
            if len(less) % 2:
                less, equal = Cat(C(0, 1), less), Cat(C(1, 1), equal)
            width = len(less) // 2
            next_less = Signal(width, name=f"less_{width}")
            next_equal = Signal(width, name=f"equal_{width}")
            m.d.comb += [
                next_less.eq(less[1::2] | equal[1::2] & less[::2]),
                next_equal.eq(equal[1::2] & equal[::2]),
            ]
            less, equal = next_less, next_equal
        return less, equal

    def nan(self, operand):
        """Return whether an operand is NaN and whether it is signalling."""
        form = self.config.form
        magnitude = operand[: form.magnitude_width]
        if form.specials == IEEE:
            is_nan = magnitude > form.infinity
            return is_nan, is_nan & ~magnitude[form.fraction_width - 1]
        return magnitude.all() if form.specials == NAN else C(0, 1), C(0, 1)
