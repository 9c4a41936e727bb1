"""Final stage of a division or square root: rounds and packs the digits and sets flags."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ....emit.component import Component
from ..round import Round, RoundConfig
from .config import DivideSqrtConfig
from .setup import DivideSqrtClass, start_layout

__all__ = ["Finish"]


class Finish(Component):
    """Result stage: rounds the digits and substitutes results that are not numbers.

    Combinational.

    Parameters
    ----------
    config : DivideSqrtConfig

    Members
    -------
    start : In(start_layout(config))
    digits : In(config.recurrence.result_width)
    is_inexact : In(1)
        The final remainder is not 0.
    o : Out(config.result_layout)

    """

    def __init__(self, config: DivideSqrtConfig):
        self.config = config
        super().__init__({
            "start": In(start_layout(config)),
            "digits": In(config.recurrence.result_width),
            "is_inexact": In(1),
            "o": Out(config.result_layout),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        form = config.form
        start = self.start
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=form,
                significand_width=config.recurrence.result_width + 1,
                exponent_width=config.exponent_width,
                overflows=True,
                underflows=True,
                modes=True,
                flags=True,
            )
        )
        is_number = start.kind == DivideSqrtClass.NUMBER
        m.d.comb += [
            rounder.exponent.eq(start.exponent),
            rounder.significand.eq(Cat(self.is_inexact, self.digits)),
            rounder.rounding.eq(start.rounding),
            rounder.sign.eq(start.sign),
            self.o.flags.eq(Mux(is_number, rounder.flags, 0)),
            self.o.flags.invalid.eq(start.invalid),
            self.o.flags.divide_by_zero.eq(start.divide_by_zero),
        ]
        magnitudes = {
            DivideSqrtClass.NUMBER: rounder.o,
            DivideSqrtClass.ZERO: 0,
            DivideSqrtClass.INFINITY: form.infinity,
            DivideSqrtClass.NAN: form.nan,
        }
        magnitude = Signal(form.magnitude_width)
        m.d.comb += self.o.result.eq(Cat(magnitude, start.sign))
        with m.Switch(start.kind):
            for kind, value in magnitudes.items():
                with m.Case(kind):
                    m.d.comb += magnitude.eq(value)
        return m
