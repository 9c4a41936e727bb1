"""Classification of a stored float: RISC-V's ``fclass``."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.formats import FP32, IEEE, NAN, FloatFormat
from ...emit.shared_block import SharedBlock

__all__ = ["CLASS_LAYOUT", "Classify", "ClassifyConfig"]

#: One-hot class of a float.
CLASS_LAYOUT = data.StructLayout({
    "negative_infinity": 1,
    "negative_normal": 1,
    "negative_subnormal": 1,
    "negative_zero": 1,
    "positive_zero": 1,
    "positive_subnormal": 1,
    "positive_normal": 1,
    "positive_infinity": 1,
    "signalling_nan": 1,
    "quiet_nan": 1,
})


@dataclass(frozen=True, kw_only=True)
class ClassifyConfig:
    """Format of the classifier."""

    form: FloatFormat = FP32


class Classify(SharedBlock):
    """Float classifier: ``o`` is the one-hot class of ``i``.

    Combinational. The layout is that of the RISC-V ISA manual, "Single-Precision Floating-Point
    Classify Instruction". The only NaN of a format with one NaN is quiet.

    Parameters
    ----------
    config : ClassifyConfig

    Members
    -------
    i : In(config.form.width)
    o : Out(CLASS_LAYOUT)

    """

    i: Signal
    o: data.View

    def __init__(self, config: ClassifyConfig):
        self.config = config
        super().__init__({"i": In(config.form.width), "o": Out(CLASS_LAYOUT)})

    def build(self, platform):
        m = Module()
        form = self.config.form
        magnitude = self.i[: form.magnitude_width]
        is_fraction = magnitude[: form.fraction_width].any()
        exponent = magnitude[form.fraction_width :]
        is_zero = is_subnormal = is_infinity = is_nan = is_quiet = C(0, 1)
        if form.subnormals:
            is_low = ~exponent.any()
            is_zero, is_subnormal = is_low & ~is_fraction, is_low & is_fraction
        if form.specials == IEEE:
            is_high = exponent.all()
            is_infinity, is_nan = is_high & ~is_fraction, is_high & is_fraction
            is_quiet = magnitude[form.fraction_width - 1]
        elif form.specials == NAN:
            is_nan, is_quiet = magnitude.all(), C(1, 1)
        is_normal = ~(is_zero | is_subnormal | is_infinity | is_nan)

        sign = self.i[-1] if form.signed else C(0, 1)
        for name, is_class in (
            ("infinity", is_infinity),
            ("normal", is_normal),
            ("subnormal", is_subnormal),
            ("zero", is_zero),
        ):
            m.d.comb += [
                self.o[f"negative_{name}"].eq(is_class & sign),
                self.o[f"positive_{name}"].eq(is_class & ~sign),
            ]
        m.d.comb += [
            self.o.signalling_nan.eq(is_nan & ~is_quiet),
            self.o.quiet_nan.eq(is_nan & is_quiet),
        ]
        return m
