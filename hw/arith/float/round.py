"""Rounding and packing of an exact value: the last stage of every floating-point unit."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...config.formats import IEEE, NAN, FloatFormat
from ...emit.component import Component
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ...lib.pipeline import cut
from .rounding import FLAGS_LAYOUT, Rounding

__all__ = ["Round", "RoundConfig"]


def grows(rounding, sign):
    """Return whether every inexact magnitude is rounded up."""
    return Mux(sign, rounding == Rounding.DOWN, rounding == Rounding.UP)


@dataclass(frozen=True, kw_only=True)
class RoundConfig:
    """Result format, and the range of inputs: cases that cannot occur cost no logic.

    Parameters
    ----------
    form : FloatFormat
        The result's format.
    significand_width : int
        Bits of the exact significand; the last one is sticky.
    exponent_width : int
        Bits of the signed exponent.
    overflows : bool
        Whether the result can exceed the format's range.
    underflows : bool
        Whether an exponent can be below the smallest one, 1 (0 in a format without subnormals).
        Such a value is shifted right before rounding.
    unnormalised : bool
        Whether the significand's top bit can be 0. The value is then subnormal or zero, and the
        exponent counts as the smallest one unless it is lower.
    modes : bool
        Whether the rounding mode is an input; if not, it is nearest, ties to even.
    flags : bool
        Whether exceptions are reported.
    saturate : bool
        Whether overflow gives the largest number.
    registered : bool
        Whether a register separates the denormalising shift from rounding, which adds a cycle.
        Not with `modes` or `flags`.

    """

    form: FloatFormat
    significand_width: int
    exponent_width: int
    overflows: bool = False
    underflows: bool = False
    unnormalised: bool = False
    modes: bool = False
    flags: bool = False
    saturate: bool = False
    registered: bool = False

    def __post_init__(self):
        # The format's bits plus guard and sticky. The tininess of a number without its top bit is
        # decided one place lower.
        least = self.form.significand_width + 2 + (self.flags and self.unnormalised)
        require_integer("significand_width", self.significand_width, least, 256)
        require_integer("exponent_width", self.exponent_width, self.form.exponent_width + 1, 32)
        if self.registered and (self.modes or self.flags):
            raise ValueError("modes and flags must be False if registered is True")

    @property
    def least_exponent(self) -> int:
        """Smallest stored exponent of a significand with its top bit set."""
        return int(self.form.subnormals)


class Round(Component):
    """Rounder: ``o`` is the packed magnitude, all bits but the sign.

    Combinational, or a cycle later if `config.registered`. `exponent` is the stored exponent of a
    significand with its top bit set. The rounding carry runs from the fraction into the exponent,
    and from the largest finite number to `form.overflow`. Ties go to the even code or away from
    zero. Without subnormals there is no zero: values below the smallest number become it.

    Parameters
    ----------
    config : RoundConfig

    Members
    -------
    exponent : In(signed(config.exponent_width))
    significand : In(config.significand_width)
    rounding : In(Rounding)
        Present if `config.modes`.
    sign : In(1)
        Sign of the value; present if `config.modes`.
    o : Out(config.form.magnitude_width)
    flags : Out(FLAGS_LAYOUT)
        Present if `config.flags`: inexact, underflow (tiny after rounding, and inexact) and
        overflow. The others are 0.

    """

    def __init__(self, config: RoundConfig):
        self.config = config
        super().__init__({
            "exponent": In(signed(config.exponent_width)),
            "significand": In(config.significand_width),
            **({"rounding": In(Rounding), "sign": In(1)} if config.modes else {}),
            "o": Out(config.form.magnitude_width),
            **({"flags": Out(FLAGS_LAYOUT)} if config.flags else {}),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        form = config.form

        significand, exponent, is_below = self.in_range(m)
        significand, exponent, is_below = cut(
            m,
            "shifted",
            registered=config.registered,
            significand=significand,
            exponent=exponent,
            is_below=is_below,
        )
        lowest = config.significand_width - form.significand_width
        exponent_width = config.exponent_width if config.overflows else form.exponent_width
        code = Signal(form.fraction_width + exponent_width)
        m.d.comb += code.eq(Cat(significand[lowest:-1], exponent[:exponent_width]))
        guard, rest = significand[lowest - 1], significand[: lowest - 1].any()
        round_up = self.rounds_up(code[0], guard, rest)
        if not form.subnormals:
            code = Mux(is_below, 0, code)
            round_up &= ~is_below
        magnitude = self.increment(m, code, round_up)
        is_overflow = self.is_overflow(magnitude) if config.overflows else C(0)
        if config.overflows:
            magnitude = Mux(is_overflow, self.beyond(), magnitude)
        m.d.comb += self.o.eq(magnitude)
        if config.flags:
            is_inexact = guard | rest
            if not form.subnormals:
                is_inexact = Mux(is_below, significand.any(), is_inexact)
            m.d.comb += [
                self.flags.inexact.eq(is_inexact | is_overflow),
                self.flags.underflow.eq(is_inexact & self.is_tiny()),
                self.flags.overflow.eq(is_overflow),
            ]
        return m

    def in_range(self, m):
        """Return significand and exponent as stored, and whether there is no hidden bit."""
        config = self.config
        form = config.form
        significand, exponent = self.significand, self.exponent
        if not (config.unnormalised or config.underflows):
            return significand, exponent, C(0)
        if form.subnormals:
            if config.underflows:
                significand = self.denormalise(m)
            return significand, Mux(significand[-1], exponent, 0), ~significand[-1]
        is_below = C(0)
        if config.underflows:
            is_below |= exponent < 0
        if config.unnormalised:
            is_below |= ~significand[-1]
        return significand, exponent, is_below

    def denormalise(self, m):
        """Return the significand shifted right by the exponent's distance below 1."""
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

    def rounds_up(self, last, guard, rest):
        """Return whether a magnitude is rounded up by one unit.

        Parameters
        ----------
        last : Value
            Last bit of the truncated magnitude.
        guard, rest : Value
            First truncated bit, and the OR of the bits after it.

        """
        if not self.config.modes:
            return guard & (last | rest)
        to_even = self.rounding == Rounding.NEAREST_EVEN
        to_nearest = to_even | (self.rounding == Rounding.NEAREST_AWAY)
        up = (guard | rest) & grows(self.rounding, self.sign)
        return Mux(to_nearest, guard & (last | rest | ~to_even), up)

    def increment(self, m, code, round_up):
        """Return `code` plus the rounding carry."""
        width = len(code)
        # Short words are better with ripple carry.
        blocks = (width // 3, width * 2 // 3) if width > 12 else ()
        m.submodules.increment = increment = CarrySelectAdd(
            CarrySelectAddConfig(width=width, blocks=blocks)
        )
        m.d.comb += [increment.a.eq(code), increment.carry.eq(round_up)]
        return increment.o

    def is_overflow(self, magnitude):
        """Return whether a rounded magnitude exceeds the largest number."""
        form = self.config.form
        if form.specials == IEEE:
            return magnitude[form.fraction_width :] >= form.exponent_mask
        is_above = magnitude[form.magnitude_width :].any()
        if form.specials == NAN:
            is_above |= magnitude[: form.magnitude_width].all()
        return is_above

    def beyond(self):
        """Return the magnitude of an overflow."""
        form = self.config.form
        if self.config.saturate or form.overflow == form.largest:
            return form.largest
        if not self.config.modes:
            return form.overflow
        to_even = self.rounding == Rounding.NEAREST_EVEN
        to_nearest = to_even | (self.rounding == Rounding.NEAREST_AWAY)
        is_beyond = to_nearest | grows(self.rounding, self.sign)
        return Mux(is_beyond, form.overflow, form.largest)

    def is_tiny(self):
        """Return whether the value is below the smallest normal number even after rounding.

        That rounding is to the precision of a normal number.
        """
        config = self.config
        top, exponent, least = self.significand[-1], self.exponent, config.least_exponent
        is_low = exponent < least if config.underflows else C(0)
        is_tiny = C(0)
        if config.underflows:
            is_half = exponent == least - 1
            is_tiny = is_low & ~(is_half & self.rounds_to_power(self.significand))
        if config.unnormalised:
            is_small = is_low | ~self.rounds_to_power(self.significand[:-1])
            is_tiny = Mux(top, is_tiny, is_small)
        return is_tiny

    def rounds_to_power(self, word):
        """Return whether `word`, rounded to the format's bits, carries out of the top."""
        width = self.config.form.significand_width
        guard, rest = word[-width - 1], word[: -width - 1].any()
        return word[-width:].all() & self.rounds_up(C(1, 1), guard, rest)
