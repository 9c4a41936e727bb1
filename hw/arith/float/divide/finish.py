"""Final stage of a division or square root: rounds and packs the digits and sets flags."""

from amaranth import *
from amaranth.lib import data

from ..round import Round, RoundConfig
from .config import DivideSqrtConfig
from .setup import DivideSqrtClass

__all__ = ["finished"]


def finished(
    m: Module, config: DivideSqrtConfig, start: data.View, digits: Value, is_inexact: Value
) -> data.View:
    """Return the result: the rounded digits, or a result that is not a number, and the flags.

    Combinational.

    Parameters
    ----------
    m : Module
        Module of the datapath.
    config : DivideSqrtConfig
        Datapath.
    start : View of start_layout(config)
        Properties of the result.
    digits : Value
        ``config.recurrence.result_width`` bits.
    is_inexact : Value
        The final remainder is not 0.

    Returns
    -------
    View of config.result_layout
    """
    form = config.form
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
    o = Signal(config.result_layout, name="finished")
    m.d.comb += [
        rounder.exponent.eq(start.exponent),
        rounder.significand.eq(Cat(is_inexact, digits)),
        rounder.rounding.eq(start.rounding),
        rounder.sign.eq(start.sign),
        o.flags.eq(Mux(is_number, rounder.flags, 0)),
        o.flags.invalid.eq(start.invalid),
        o.flags.divide_by_zero.eq(start.divide_by_zero),
    ]
    magnitudes = {
        DivideSqrtClass.NUMBER: rounder.o,
        DivideSqrtClass.ZERO: 0,
        DivideSqrtClass.INFINITY: form.infinity,
        DivideSqrtClass.NAN: form.nan,
    }
    magnitude = Signal(form.magnitude_width)
    m.d.comb += o.result.eq(Cat(magnitude, start.sign))
    with m.Switch(start.kind):
        for kind, value in magnitudes.items():
            with m.Case(kind):
                m.d.comb += magnitude.eq(value)
    return o
