"""Adders of stored floats."""

from dataclasses import dataclass

from amaranth import *

from .sum import Sum, SumConfig
from .two_operands import TwoOperandConfig, TwoOperandUnit

__all__ = ["Add", "AddConfig"]

#: Registered stages by latency.
CUTS = (
    (),
    ("add",),
    ("align", "add"),
    ("align", "add", "normalise"),
)


@dataclass(frozen=True, kw_only=True)
class AddConfig(TwoOperandConfig):
    """An adder; see `TwoOperandConfig`."""

    latency: int = 2


class Add(TwoOperandUnit):
    """Floating-point adder: ``o = a + b``, with subnormals. See `TwoOperandUnit`."""

    def build(self, platform):
        m = Module()
        config = self.config
        form = config.form
        m.submodules.sum = total = Sum(SumConfig(form=form, cuts=CUTS[config.latency - 1]))
        exponent = self.a[form.fraction_width : -1]
        is_normal = exponent.any()
        is_special = exponent.all()
        m.d.comb += [
            total.a.significand.eq(Cat(self.a[: form.fraction_width], is_normal)),
            # A subnormal uses the exponent of the smallest normals.
            total.a.exponent.eq(exponent | ~is_normal),
            total.a.sign.eq(self.a[-1]),
            total.a.is_number.eq(Mux(is_special, self.a[:-1] == form.infinity, self.a[:-1].any())),
            total.a.is_special.eq(is_special),
            total.b.eq(self.b),
            self.o.eq(total.o),
        ]
        return m
