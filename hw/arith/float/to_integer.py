"""Conversion of a float to an integer: RISC-V's ``fcvt.w.s`` and ``fcvt.wu.s``."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...config.formats import FP32, IEEE, INT32, NAN, FloatFormat, IntFormat
from ...emit.shared_block import SharedBlock
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ...lib.pipeline import cut
from .round import rounds_up
from .rounding import FLAGS_LAYOUT, Rounding

__all__ = ["ToInteger", "ToIntegerConfig"]


@dataclass(frozen=True, kw_only=True)
class ToIntegerConfig:
    """Formats and latency of the conversion.

    Parameters
    ----------
    form : FloatFormat
        Signed and with subnormals.
    integer : IntFormat
        At least as wide as the float's significand.
    latency : int
        Cycles from the float to the integer, 0 or 1.

    """

    form: FloatFormat = FP32
    integer: IntFormat = INT32
    latency: int = 1

    def __post_init__(self):
        require_integer("latency", self.latency, 0, 1)
        if not (self.form.signed and self.form.subnormals):
            raise ValueError(f"form must have a sign and a zero, not {self.form.name}")
        if self.integer.width < self.form.significand_width:
            raise ValueError(
                f"integer must have at least the {self.form.significand_width} bits of a "
                f"significand of {self.form.name}, not {self.integer.width}"
            )


class ToInteger(SharedBlock):
    """Float-to-integer converter: ``o = i``, rounded once to an integer.

    Latency `config.latency`, one result per cycle, no handshake. A value out of range after
    rounding raises `invalid` and gives the nearest integer; NaN gives the largest.

    Parameters
    ----------
    config : ToIntegerConfig

    Members
    -------
    i : In(config.form.width)
    is_signed : In(1)
        Whether `o` is in two's complement; if not, it is unsigned.
    rounding : In(Rounding)
    o : Out(config.integer.width)
    flags : Out(FLAGS_LAYOUT)
        Invalid, or else inexact.

    """

    i: Signal
    is_signed: Signal
    rounding: Signal
    o: Signal
    flags: data.View

    def __init__(self, config: ToIntegerConfig):
        self.config = config
        super().__init__({
            "i": In(config.form.width),
            "is_signed": In(1),
            "rounding": In(Rounding),
            "o": Out(config.integer.width),
            "flags": Out(FLAGS_LAYOUT),
        })

    def build(self, platform):
        m = Module()
        width = self.config.integer.width
        shifted, is_too_large, is_nan = self.fixed_point(m)
        sign, is_signed, rounding, is_too_large, is_nan, shifted = cut(
            m,
            "shifted",
            registered=self.config.latency == 1,
            sign=self.i[-1],
            is_signed=self.is_signed,
            rounding=self.rounding,
            is_too_large=is_too_large,
            is_nan=is_nan,
            word=shifted,
        )
        whole, guard, rest = shifted[2:], shifted[1], shifted[0]
        round_up = rounds_up(rounding, sign, whole[0], guard, rest)
        # -(whole + 1) is the complement of whole, and -whole is that plus 1.
        m.submodules.increment = increment = CarrySelectAdd(
            CarrySelectAddConfig(width=width + 1, blocks=(width // 3, width * 2 // 3))
        )
        m.d.comb += [
            increment.a.eq(Cat(whole, C(0, 1)) ^ sign.replicate(width + 1)),
            increment.carry.eq(round_up ^ sign),
        ]
        # In range, with one bit more: a signed sum whose top two bits are equal, an unsigned one
        # whose top bit is 0; then -0 is the only negative number.
        over = increment.o[-1] ^ (increment.o[-2] & is_signed)
        is_invalid = is_too_large | over
        is_positive = is_nan | ~sign
        limit = Cat(is_positive.replicate(width - 1), is_positive ^ is_signed)
        m.d.comb += [
            self.o.eq(Mux(is_invalid, limit, increment.o[:-1])),
            self.flags.invalid.eq(is_invalid),
            self.flags.inexact.eq((guard | rest) & ~is_invalid),
        ]
        return m

    def fixed_point(self, m):
        """Return the magnitude with two bits after the point, the last sticky, and two exceptions.

        The exceptions are: too large for any integer or not a number; NaN.
        """
        form, width = self.config.form, self.config.integer.width
        fraction = self.i[: form.fraction_width]
        code = self.i[form.fraction_width : form.magnitude_width]
        is_normal = code.any()
        word = Cat(C(0, width - form.significand_width), fraction, is_normal)
        # Places from the top, where the hidden bit has weight 2**(width - 1).
        top = form.bias + width - 1
        missing = Signal(signed(max(form.exponent_width, top.bit_length()) + 1))
        m.d.comb += missing.eq(top - (code | ~is_normal))
        places_width = (width + 1).bit_length()
        largest = (1 << places_width) - 1
        is_far = missing[places_width:-1].any()
        places = Signal(places_width)
        m.d.comb += places.eq(missing[:places_width] | is_far.replicate(places_width))
        shifted = Signal(width + largest)
        m.d.comb += shifted.eq(Cat(C(0, largest), word) >> places)

        is_nan = is_special = C(0, 1)
        if form.specials == IEEE:
            is_special, is_nan = code.all(), code.all() & fraction.any()
        elif form.specials == NAN:
            is_special = is_nan = self.i[: form.magnitude_width].all()
        rest = shifted[:largest]
        return Cat(rest[:-1].any(), rest[-1], shifted[largest:]), is_special | missing[-1], is_nan
