"""Conversion of FP32 to FP16 or BF16, chosen for each operand."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...config.formats import BF16, FP16, FP32
from ...emit.shared_block import SharedBlock
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from .rounding import FLAGS_LAYOUT, Rounding

__all__ = ["Narrow", "NarrowConfig", "NarrowControlSignature"]

SIGN = FP32.width - 1
FRACTION = FP32.fraction_width
#: Bits of a result without its sign.
MAGNITUDE = FP16.magnitude_width
#: Difference of the stored exponents of FP32 and FP16 for one value.
OFFSET = FP32.bias - FP16.bias
#: Lowest bit of FP32 that remains, in each format.
LOWEST_FP16 = FRACTION - FP16.fraction_width
LOWEST_BF16 = FRACTION - BF16.fraction_width
#: Bits of the number of places by which an FP16 subnormal is shifted. The largest number leaves
#: only the sticky bit.
PLACES_WIDTH = 4
PLACES = (1 << PLACES_WIDTH) - 1


@dataclass(frozen=True, kw_only=True)
class NarrowConfig:
    """Configuration of `Narrow`: it has no parameters."""


class NarrowControlSignature(wiring.Signature):
    """Format and rounding of a conversion, common to several of them.

    Members
    -------
    is_bf16 : Out(1)
        To BF16, otherwise to FP16.
    rounding : Out(Rounding)
    """

    def __init__(self):
        super().__init__({"is_bf16": Out(1), "rounding": Out(Rounding)})


class Narrow(SharedBlock):
    """Narrowing converter: ``o`` is `i` in FP16, or in BF16 if `is_bf16`, rounded once.

    Combinational. Conforms to RISC-V Zfhmin and Zfbfmin: five rounding modes, full subnormal
    support, canonical NaN, tininess detected after rounding. The formats share the rounding: their
    fractions end at different bits, and only FP16 has another exponent and a shift of subnormals.

    Parameters
    ----------
    config : NarrowConfig

    Members
    -------
    i : In(32)
    control : In(NarrowControlSignature())
    o : Out(16)
    flags : Out(FLAGS_LAYOUT)

    """

    def __init__(self, config: NarrowConfig):
        self.config = config
        super().__init__({
            "i": In(FP32.width),
            "control": In(NarrowControlSignature()),
            "o": Out(FP16.width),
            "flags": Out(FLAGS_LAYOUT),
        })

    def build(self, platform):
        m = Module()
        sign, exponent, fraction = self.i[SIGN], self.i[FRACTION:SIGN], self.i[:FRACTION]
        is_special = exponent.all()
        is_nan = is_special & fraction.any()
        grows = Signal()
        is_even, is_away = (
            self.control.rounding == mode for mode in (Rounding.NEAREST_EVEN, Rounding.NEAREST_AWAY)
        )
        is_nearest = Signal()
        m.d.comb += [
            grows.eq(
                Mux(
                    sign,
                    self.control.rounding == Rounding.DOWN,
                    self.control.rounding == Rounding.UP,
                )
            ),
            is_nearest.eq(is_even | is_away),
        ]

        code, guard, rest = self.truncated(m, exponent)
        is_inexact = Signal()
        round_up = Mux(is_nearest, guard & (code[0] | rest | is_away), is_inexact & grows)
        m.submodules.increment = increment = CarrySelectAdd(
            CarrySelectAddConfig(width=MAGNITUDE, blocks=(MAGNITUDE // 3, MAGNITUDE * 2 // 3))
        )
        m.d.comb += [
            is_inexact.eq(guard | rest),
            increment.a.eq(code),
            increment.carry.eq(round_up),
        ]
        is_far = ~self.control.is_bf16 & (exponent >= OFFSET + FP16.exponent_mask)
        is_full = increment.o[FP16.fraction_width :].all() & (
            ~self.control.is_bf16 | increment.o[BF16.fraction_width : FP16.fraction_width].all()
        )
        is_overflow = Signal()
        m.d.comb += is_overflow.eq((is_far | is_full) & ~is_special)

        beyond = self.beyond(is_nan, is_special | is_nearest | grows)
        magnitude = Mux(is_special | is_overflow, beyond, increment.o)
        m.d.comb += [
            self.o.eq(Cat(magnitude, sign & ~is_nan)),
            self.flags.inexact.eq(is_overflow | is_inexact & ~is_special),
            self.flags.underflow.eq(is_inexact & self.is_tiny(exponent, is_nearest, grows)),
            self.flags.overflow.eq(is_overflow),
            self.flags.invalid.eq(is_nan & ~fraction[-1]),
        ]
        return m

    def truncated(self, m, exponent) -> tuple[Value, Value, Value]:
        """Return the truncated magnitude, the first bit after it and the OR of the others."""
        is_low = Signal()
        places = Signal(PLACES_WIDTH)
        least = OFFSET + 1
        is_below = exponent < least - PLACES
        m.d.comb += [
            is_low.eq(exponent < least),
            places.eq(
                ((least - exponent)[:PLACES_WIDTH] | is_below.replicate(PLACES_WIDTH))
                & is_low.replicate(PLACES_WIDTH)
            ),
        ]
        # Sticky and guard bit, fraction and hidden bit of FP16.
        word = Cat(
            self.i[: LOWEST_FP16 - 1].any(), self.i[LOWEST_FP16 - 1 : FRACTION], exponent.any()
        )
        for level in range(PLACES_WIDTH):
            shifted = Signal(len(word), name=f"shifted_{level}")
            step = 1 << level
            moved = Cat(word[: step + 1].any(), word[step + 1 :], C(0, step))
            m.d.comb += shifted.eq(Mux(places[level], moved, word))
            word = shifted
        low_exponent = Cat(exponent[: FP16.exponent_width - 1], ~exponent[FP16.exponent_width - 1])
        fp16 = Cat(word[2:-1], low_exponent & ~is_low.replicate(FP16.exponent_width))
        bf16 = self.i[LOWEST_BF16:SIGN]
        cut = Mux(
            self.control.is_bf16,
            Cat(self.i[: LOWEST_BF16 - 1].any(), self.i[LOWEST_BF16 - 1], bf16),
            Cat(word[:2], fp16),
        )
        truncated = Signal(MAGNITUDE + 2)
        m.d.comb += truncated.eq(cut)
        return truncated[2:], truncated[1], truncated[0]

    def beyond(self, is_nan, is_infinity) -> Value:
        """Return the magnitude of NaN, of infinity, and else of the largest number."""
        words = [
            Mux(is_nan, form.nan, Mux(is_infinity, form.infinity, form.largest))
            for form in (FP16, BF16)
        ]
        return Mux(self.control.is_bf16, words[1], words[0])

    def is_tiny(self, exponent, is_nearest, grows) -> Value:
        """Return whether a magnitude is below the smallest normal one, also after rounding.

        That rounding is to the precision of a normal number: a number of the binade below is not
        tiny if its significand is rounded up to a power of two.
        """
        ones = self.i[LOWEST_BF16 : FRACTION - 1].all() & self.i[FRACTION - 1]
        fp16 = ones & self.i[LOWEST_FP16:LOWEST_BF16].all() & (exponent == OFFSET)
        # The top bit of a subnormal stands for the hidden bit: one more place remains.
        bf16 = ones & self.i[LOWEST_BF16 - 1] & ~exponent.any()
        carries = [
            is_last & Mux(is_nearest, self.i[guard], grows & self.i[: guard + 1].any())
            for is_last, guard in ((fp16, LOWEST_FP16 - 1), (bf16, LOWEST_BF16 - 2))
        ]
        is_low = Mux(self.control.is_bf16, ~exponent.any(), exponent <= OFFSET)
        return is_low & ~Mux(self.control.is_bf16, carries[1], carries[0])
