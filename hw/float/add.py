"""Adders of stored floats."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..config import require_integer
from ..emit import SharedBlock
from ..formats import FP32, FloatFormat
from .sum import Sum, SumConfig

__all__ = ["Add", "AddConfig"]

CUTS = {
    1: (),
    2: ("add",),
    3: ("align", "add"),
    4: ("align", "add", "normalise"),
}


@dataclass(frozen=True, kw_only=True)
class AddConfig:
    """An adder.

    Parameters
    ----------
    form : FloatFormat
        Format of addends and sum.
    latency : int
        Cycles from the addends to their sum, 1 to 4.

    """

    form: FloatFormat = FP32
    latency: int = 2

    def __post_init__(self):
        require_integer("latency", self.latency, 1, len(CUTS))


class Add(SharedBlock):
    """``o = a + b``, rounded to nearest, ties to even; subnormals are numbers like any other.

    Latency `config.latency`, one sum per cycle, no handshake. NaN results are canonical.

    Parameters
    ----------
    config : AddConfig

    Members
    -------
    a, b : In(config.form.width)
    o : Out(config.form.width)

    """

    a: Signal
    b: Signal
    o: Signal

    def __init__(self, config: AddConfig):
        self.config = config
        width = config.form.width
        super().__init__({"a": In(width), "b": In(width), "o": Out(width)})

    def build(self, platform):
        m = Module()
        config = self.config
        form = config.form
        m.submodules.sum = total = Sum(SumConfig(form=form, cuts=CUTS[config.latency]))
        exponent = self.a[form.fraction_width : -1]
        is_normal = exponent.any()
        is_special = exponent.all()
        m.d.comb += [
            total.a.significand.eq(Cat(self.a[: form.fraction_width], is_normal)),
            # A subnormal has the exponent of the least normal numbers.
            total.a.exponent.eq(exponent | ~is_normal),
            total.a.sign.eq(self.a[-1]),
            total.a.is_number.eq(Mux(is_special, self.a[:-1] == form.infinity, self.a[:-1].any())),
            total.a.is_special.eq(is_special),
            total.b.eq(self.b),
            self.o.eq(total.o),
        ]
        return m
