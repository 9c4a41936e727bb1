"""Rounding: an exact value becomes a stored one. Every floating-point unit ends here."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import require_integer
from ..formats import FloatFormat
from .carry_select import CarrySelectAdd, CarrySelectAddConfig

__all__ = ["Round", "RoundConfig"]


@dataclass(frozen=True, kw_only=True)
class RoundConfig:
    """The format to round to, and what can reach the rounder: the impossible costs nothing.

    Parameters
    ----------
    form : FloatFormat
        The result's format.
    significand_width : int
        Bits of the exact significand, of which the last stands for all that follow it (sticky).
    exponent_width : int
        Bits of the signed exponent.
    overflows : bool
        Whether the result can be too large for the format.
    underflows : bool
        Whether an exponent can be below the least one, 1: such a value is shifted right before it
        is rounded.
    unnormalised : bool
        Whether the significand's top bit can be 0; then the value is subnormal or zero.

    """

    form: FloatFormat
    significand_width: int
    exponent_width: int
    overflows: bool = False
    underflows: bool = False
    unnormalised: bool = False

    def __post_init__(self):
        least = self.form.significand_width + 2
        require_integer("significand_width", self.significand_width, least, 256)
        require_integer("exponent_width", self.exponent_width, self.form.exponent_width + 1, 32)


class Round(wiring.Component):
    """Round to nearest, ties to even, and pack: ``o`` is the magnitude, all but the sign.

    Combinational. `exponent` is the stored exponent of a significand with its top bit set. A
    carry of rounding up runs from the fraction into the exponent, and from the largest finite
    number to infinity.

    Parameters
    ----------
    config : RoundConfig

    Members
    -------
    exponent : In(signed(config.exponent_width))
    significand : In(config.significand_width)
    o : Out(config.form.width - 1)

    """

    exponent: Signal
    significand: Signal
    o: Signal

    def __init__(self, config: RoundConfig):
        self.config = config
        super().__init__({
            "exponent": In(signed(config.exponent_width)),
            "significand": In(config.significand_width),
            "o": Out(config.form.width - 1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        form = config.form

        significand = self.significand
        exponent = self.exponent
        if config.underflows:
            significand = self.denormalise(m)
        if config.unnormalised or config.underflows:
            exponent = Mux(significand[-1], exponent, 0)

        lowest = config.significand_width - form.significand_width
        rest = significand[: lowest - 1].any()
        round_up = significand[lowest - 1] & (significand[lowest] | rest)
        exponent_width = config.exponent_width if config.overflows else form.exponent_width
        width = form.fraction_width + exponent_width
        m.submodules.increment = increment = CarrySelectAdd(
            CarrySelectAddConfig(width=width, blocks=(width // 3, width * 2 // 3))
        )
        m.d.comb += [
            increment.a.eq(Cat(significand[lowest:-1], exponent)),
            increment.carry.eq(round_up),
        ]
        magnitude = increment.o
        if config.overflows:
            is_overflow = magnitude[form.fraction_width :] >= form.exponent_mask
            magnitude = Mux(is_overflow, form.infinity, magnitude)
        m.d.comb += self.o.eq(magnitude)
        return m

    def denormalise(self, m):
        """Return the significand shifted right by as much as the exponent is below 1."""
        config = self.config
        width = config.significand_width
        missing = Signal(config.exponent_width)
        m.d.comb += missing.eq(1 - self.exponent)
        places_width = width.bit_length()
        largest = (1 << places_width) - 1
        is_far = missing[places_width:].any()
        places = Signal(places_width)
        m.d.comb += places.eq(
            Mux(self.exponent > 0, 0, missing[:places_width] | is_far.replicate(places_width))
        )
        shifted = Signal(width + largest)
        m.d.comb += shifted.eq(Cat(C(0, largest), self.significand) >> places)
        return Cat(shifted[: largest + 1].any(), shifted[largest + 1 :])
