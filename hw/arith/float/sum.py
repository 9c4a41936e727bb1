"""Sum of two floats, exact and then rounded once: the datapath of every adder."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.formats import FP32, FloatFormat
from ...emit.component import Component
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ...lib.pipeline import cut
from .align import Align, AlignConfig
from .normalise import Normalise, NormaliseConfig
from .round import Round, RoundConfig

__all__ = ["STAGES", "Sum", "SumConfig"]

STAGES = ("align", "add", "normalise")


@dataclass(frozen=True, kw_only=True)
class SumConfig:
    """Format, pipeline cuts and possible results of an adder.

    Parameters
    ----------
    form : FloatFormat
        Format of the addend `b` and of the sum.
    cuts : tuple of str
        Stages (of `STAGES`) whose results are registered. The sum always is.
    overflows : bool
        Whether a sum can exceed the format's range.
    subnormals : bool
        Whether a sum of two nonzero numbers can be subnormal. If not, a subnormal `b` is so small
        compared to `a` that its exact value does not matter.
    infinities : bool
        Whether `a` can be infinite; `b` always can.

    """

    form: FloatFormat = FP32
    cuts: tuple[str, ...] = ()
    overflows: bool = True
    subnormals: bool = True
    infinities: bool = True

    def __post_init__(self):
        for stage in self.cuts:
            if stage not in STAGES:
                raise ValueError(f"cuts must be of {', '.join(STAGES)}, not {stage!r}")

    @property
    def addend_layout(self) -> data.StructLayout:
        """Shape of `a`: a significand below 4 and its class.

        A special addend is infinite if `is_number`, else NaN. An addend neither special nor a
        number is zero.
        """
        return data.StructLayout({
            "significand": self.form.significand_width + 1,
            "exponent": self.form.exponent_width,
            "sign": 1,
            "is_number": 1,
            "is_special": 1,
        })

    @property
    def exact_width(self) -> int:
        """Bits of an exact sum: three before the point; guard, round and sticky at the end."""
        return self.form.significand_width + 5


class Sum(Component):
    """Floating-point adder: ``o = a + b`` rounded to nearest, ties to even.

    A pipeline without back-pressure: one sum per cycle, one cycle more than it has cuts after the
    addends. The steps: order the addends by exponent and align the small one; add; normalise;
    round. A sum that needs no rounding (of zero, infinity, NaN) bypasses these steps.

    Parameters
    ----------
    config : SumConfig

    Members
    -------
    a : In(config.addend_layout)
    b : In(config.form.width)
        As stored.
    o : Out(config.form.width)
        As stored; NaN is canonical.

    """

    def __init__(self, config: SumConfig):
        self.config = config
        width = config.form.width
        super().__init__({"a": In(config.addend_layout), "b": In(width), "o": Out(width)})

    def cut(self, m, stage, **values):
        """Return `values`, registered if the pipeline is cut after `stage`."""
        return cut(m, stage, registered=stage in self.config.cuts, **values)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        form = config.form

        m.submodules.align = align = Align(AlignConfig(form=form, subnormals=config.subnormals))
        m.d.comb += [
            align.a.eq(self.a.significand),
            align.a_exponent.eq(self.a.exponent),
            align.b.eq(self.b[:-1]),
        ]
        bypass, is_bypassed = self.unrounded(m)
        bypass, is_bypassed, sign, is_difference, exponent, big, small = self.cut(
            m,
            "align",
            bypass=bypass,
            is_bypassed=is_bypassed,
            sign=Mux(align.is_b_big, self.b[-1], self.a.sign),
            is_difference=self.a.sign ^ self.b[-1],
            exponent=align.exponent,
            big=align.big,
            small=align.small,
        )
        total, is_negative = self.exact(m, big, small, is_difference)
        bypass, is_bypassed, sign, exponent, total = self.cut(
            m,
            "add",
            bypass=bypass,
            is_bypassed=is_bypassed,
            sign=sign ^ is_negative,
            exponent=exponent,
            total=total,
        )
        significand, exponent = self.normalised(m, total, exponent)
        bypass, is_bypassed, sign, exponent, significand = self.cut(
            m,
            "normalise",
            bypass=bypass,
            is_bypassed=is_bypassed,
            sign=sign,
            exponent=exponent,
            significand=significand,
        )
        rounded = Signal(form.width, reset_less=True)
        m.d.sync += rounded.eq(
            Mux(is_bypassed, bypass, self.rounded(m, significand, exponent, sign))
        )
        m.d.comb += self.o.eq(rounded)
        return m

    def unrounded(self, m):
        """Return the sum if an addend is special or `a` is zero, and whether that is so."""
        form = self.config.form
        a, b = self.a, self.b
        is_b_special = b[:-1] >= form.infinity
        is_b_nan = b[:-1] > form.infinity
        # The sum of two zeros is -0 only if both are.
        zero_or_b = Cat(b[:-1], b[-1] & (a.sign | b[:-1].any()))
        if self.config.infinities:
            is_opposite = is_b_special & (a.sign ^ b[-1])
            is_nan = is_b_nan | (a.is_special & (~a.is_number | is_opposite))
            infinity = Cat(C(form.infinity, form.width - 1), a.sign)
            bypass = Mux(is_nan, form.nan, Mux(a.is_special, infinity, zero_or_b))
        else:
            bypass = Mux(is_b_nan | a.is_special, form.nan, zero_or_b)
        return bypass, a.is_special | is_b_special | ~a.is_number

    def exact(self, m, big, small, is_difference):
        """Return the magnitude of the sum, and whether it has the small addend's sign."""
        width = self.config.exact_width
        big = Cat(C(0, 3), big, C(0, 1))
        m.submodules.plus = plus = CarrySelectAdd(
            CarrySelectAddConfig(width=width + 1, blocks=(width // 2 - 2,))
        )
        m.d.comb += [
            plus.a.eq(big),
            plus.b.eq(Cat(small, C(0, 2)) ^ is_difference.replicate(width + 1)),
            plus.carry.eq(is_difference),
        ]
        is_negative = plus.o[-1]
        # The small addend can exceed the big one only if the exponents are close and none of its
        # bits were shifted out, so the bits below the point need no subtraction.
        m.submodules.minus = minus = CarrySelectAdd(
            CarrySelectAddConfig(width=width - 4, blocks=(width // 2 - 2,))
        )
        m.d.comb += [minus.a.eq(small[3:]), minus.b.eq(~big[3:-1]), minus.carry.eq(1)]
        total = Signal(width)
        m.d.comb += total.eq(Mux(is_negative, Cat(C(0, 3), minus.o), plus.o))
        return total, is_negative

    def normalised(self, m, total, exponent):
        """Return the normalised sum and its exponent."""
        width = self.config.exact_width
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(width=width, leading_zeros=width - 1, limited=self.config.subnormals)
        )
        m.d.comb += normalise.i.eq(total)
        if self.config.subnormals:
            limit = C(1 << (width - 1), width)
            m.d.comb += normalise.limit.eq(limit >> (exponent - 1)[: len(exponent)])
        return normalise.o, exponent - normalise.shift

    def rounded(self, m, significand, exponent, sign):
        """Return the rounded and packed sum."""
        config = self.config
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=config.form,
                significand_width=config.exact_width,
                exponent_width=config.form.exponent_width + 2,
                overflows=config.overflows,
                unnormalised=config.subnormals,
            )
        )
        m.d.comb += [rounder.exponent.eq(exponent), rounder.significand.eq(significand)]
        is_zero = significand == 0 if config.subnormals else ~significand[-1]
        return Mux(is_zero, 0, Cat(rounder.o, sign))
