"""After a division or square root: the digits become a rounded, stored result with its flags."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .divide_sqrt_config import DivideSqrtConfig
from .divide_sqrt_setup import Class, start_layout
from .round import Round, RoundConfig
from .rounding import FLAGS_LAYOUT, Rounding

__all__ = ["Finish"]


class Finish(wiring.Component):
    """Normalise by at most one place, round, and put in place what is not a number.

    Combinational.

    Parameters
    ----------
    config : DivideSqrtConfig

    Members
    -------
    start : In(start_layout(config))
    rounding : In(Rounding)
    digits : In(config.recurrence.result_width)
    is_inexact : In(1)
        Whether a remainder is left.
    result : Out(config.form.width)
    flags : Out(FLAGS_LAYOUT)

    """

    start: data.View
    rounding: Signal
    digits: Signal
    is_inexact: Signal
    result: Signal
    flags: data.View

    def __init__(self, config: DivideSqrtConfig):
        self.config = config
        super().__init__({
            "start": In(start_layout(config)),
            "rounding": In(Rounding),
            "digits": In(config.recurrence.result_width),
            "is_inexact": In(1),
            "result": Out(config.form.width),
            "flags": Out(FLAGS_LAYOUT),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        form = config.form
        start = self.start
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=form,
                significand_width=config.recurrence.result_width,
                exponent_width=config.exponent_width,
                overflows=True,
                underflows=True,
                modes=True,
                flags=True,
            )
        )
        # Both last bits stand below the guard bit of what has the top bit set.
        is_large = self.digits[-1]
        last = Mux(is_large, self.digits[0] | self.is_inexact, self.is_inexact)
        upper = Mux(is_large, self.digits[1:], self.digits[:-1])
        is_number = start.kind == Class.NUMBER
        m.d.comb += [
            rounder.exponent.eq(start.exponent - ~is_large),
            rounder.significand.eq(Cat(last, upper)),
            rounder.rounding.eq(self.rounding),
            rounder.sign.eq(start.sign),
            self.flags.eq(Mux(is_number, rounder.flags, 0)),
            self.flags.invalid.eq(start.invalid),
            self.flags.divide_by_zero.eq(start.divide_by_zero),
        ]
        with m.Switch(start.kind):
            with m.Case(Class.NUMBER):
                m.d.comb += self.result.eq(Cat(rounder.o, start.sign))
            with m.Case(Class.ZERO):
                m.d.comb += self.result.eq(Cat(C(0, form.magnitude_width), start.sign))
            with m.Case(Class.INFINITY):
                m.d.comb += self.result.eq(Cat(C(form.infinity, form.magnitude_width), start.sign))
            with m.Case(Class.NAN):
                m.d.comb += self.result.eq(form.nan)
        return m
