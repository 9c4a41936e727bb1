"""Conversion of an integer to a float: RISC-V's ``fcvt.s.w`` and ``fcvt.s.wu``."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...config.formats import FP32, INT32, FloatFormat, IntFormat
from ...emit.shared_block import SharedBlock
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ...lib.pipeline import cut
from .normalise import Normalise, NormaliseConfig
from .round import Round, RoundConfig
from .rounding import FLAGS_LAYOUT, Rounding

__all__ = ["FromInteger", "FromIntegerConfig"]


@dataclass(frozen=True, kw_only=True)
class FromIntegerConfig:
    """Formats and latency of the conversion.

    Parameters
    ----------
    integer : IntFormat
    form : FloatFormat
        Signed and with a zero.
    latency : int
        Cycles from the integer to the float, 0 or 1.

    """

    integer: IntFormat = INT32
    form: FloatFormat = FP32
    latency: int = 1

    def __post_init__(self):
        require_integer("latency", self.latency, 0, 1)
        if not (self.form.signed and self.form.subnormals):
            raise ValueError(f"form must have a sign and a zero, not {self.form.name}")


class FromInteger(SharedBlock):
    """Integer-to-float converter: ``o = i``, rounded once.

    Latency `config.latency`, one result per cycle, no handshake.

    Parameters
    ----------
    config : FromIntegerConfig

    Members
    -------
    i : In(config.integer.width)
    is_signed : In(1)
        Whether `i` is in two's complement; if not, it is unsigned.
    rounding : In(Rounding)
    o : Out(config.form.width)
    flags : Out(FLAGS_LAYOUT)
        Inexact; also overflow in a format whose range is smaller than the integer's.

    """

    i: Signal
    is_signed: Signal
    rounding: Signal
    o: Signal
    flags: data.View

    def __init__(self, config: FromIntegerConfig):
        self.config = config
        super().__init__({
            "i": In(config.integer.width),
            "is_signed": In(1),
            "rounding": In(Rounding),
            "o": Out(config.form.width),
            "flags": Out(FLAGS_LAYOUT),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        form, width = config.form, config.integer.width
        sign = self.i[-1] & self.is_signed
        magnitude = self.absolute(m, sign)
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(width=width, leading_zeros=width - 1)
        )
        m.d.comb += normalise.i.eq(magnitude)
        sign, rounding, shift, significand = cut(
            m,
            "normalised",
            registered=config.latency == 1,
            sign=sign,
            rounding=self.rounding,
            shift=normalise.shift,
            significand=normalise.o,
        )
        # Three bits represent all values beyond the range.
        surplus = width - form.significand_width - 3
        if surplus > 0:
            significand = Cat(significand[: surplus + 1].any(), significand[surplus + 1 :])
        else:
            significand = Cat(C(0, -surplus), significand)
        largest = form.bias + width - 1
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=form,
                significand_width=len(significand),
                exponent_width=max(form.exponent_width, largest.bit_length()) + 1,
                overflows=largest >= form.largest >> form.fraction_width,
                unnormalised=True,
                modes=True,
                flags=True,
            )
        )
        m.d.comb += [
            rounder.exponent.eq(largest - shift),
            rounder.significand.eq(significand),
            rounder.rounding.eq(rounding),
            rounder.sign.eq(sign),
            self.o.eq(Cat(rounder.o, sign)),
            self.flags.eq(rounder.flags),
        ]
        return m

    def absolute(self, m, sign):
        """Return the magnitude of the integer."""
        width = self.config.integer.width
        blocks = (width // 3, width * 2 // 3) if width > 12 else ()
        m.submodules.negate = negate = CarrySelectAdd(
            CarrySelectAddConfig(width=width, blocks=blocks)
        )
        m.d.comb += [negate.a.eq(self.i ^ sign.replicate(width)), negate.carry.eq(sign)]
        return negate.o
