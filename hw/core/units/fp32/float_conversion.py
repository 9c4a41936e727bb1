"""Cast stages around the fused multiply-add: conversions from and to integers, and to FP32."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ....arith.float.fma import FmaOperation
from ....config.formats import BF16, FP16, FP32
from ....emit.component import Component
from ....isa.operations import FloatOperation
from .float_lane_values import each, each_word, join, named, spread

__all__ = ["InputCast", "OutputCast"]

WIDTH = FP32.width
SIGN = WIDTH - 1
FRACTION = FP32.fraction_width
#: Exponent offset of integer conversions: an integer is processed divided by 2**64, and flipping
#: two exponent bits of the result restores its scale.
SCALE = 64
#: Position of an integer's upper bits in the fraction of a subnormal number. Not 0: the lowest
#: bits have the longest path through the multiplier, and bits of a sum arrive late.
PLACE = 13
#: Stored exponents: of 1; of 2**23, with a unit in the last place of 1; of 2**23 at the integer
#: scale; of the factor that scales the upper bits' unit to it; of 2**32.
ONE = FP32.bias
WHOLE = FP32.bias + FRACTION
SCALED_WHOLE = WHOLE - SCALE
FACTOR = SCALED_WHOLE - FP32.least_exponent - PLACE
BEYOND = FP32.bias + WIDTH
#: Stored exponent of the factor between values of FP16 and the same exponent and fraction in FP32.
FP16_FACTOR = 2 * FP32.bias - FP16.bias
HALF = WIDTH // 2


class InputCast(Component):
    """Cast stage before the multiply-add: its operands for each operation, for several lanes.

    Combinational. Carry chains are on the path of the addend, which `Fma` needs late, except for
    a short one.

    - From an integer: a magnitude ``high * 2**23 + low``, with a 23-bit `low`, equals
      ``(high + 2) * 2**23 - (2**24 - low)``. The first term is the product of a subnormal number
      and a power of two; the second is a float. The multiply-add rounds their sum. For a negative
      integer, `high` and `low` are of its complement, one less; the addend corrects that.
    - To an integer: a float below 2**23 is rounded by adding 2**23 to its magnitude; to others 0
      is added.
    - From FP16 or BF16: exponent and fraction are placed in those of FP32 and multiplied by a power
      of two, which is exact and normalises subnormals.

    Parameters
    ----------
    lanes : int

    Members
    -------
    operation : In(FloatOperation)
    a, b, c : In(data.ArrayLayout(32, lanes))
    fma_operation : Out(FmaOperation)
    fma_a, fma_b, fma_c : Out(data.ArrayLayout(32, lanes))
    has_fraction : Out(lanes)
        `a` has a smaller exponent than 2**23.

    """

    def __init__(self, lanes: int):
        self.lanes = lanes
        values = data.ArrayLayout(WIDTH, lanes)
        super().__init__({
            "operation": In(FloatOperation),
            **{name: In(values) for name in ("a", "b", "c")},
            "fma_operation": Out(FmaOperation),
            **{f"fma_{name}": Out(values) for name in ("a", "b", "c")},
            "has_fraction": Out(lanes),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        operation = Value.cast(self.operation)
        # Other operations set these bits too, but do not use the multiply-add's result.
        is_conversion = operation[4]
        is_widening = is_conversion & operation[3]
        is_from = is_conversion & ~operation[3] & (operation[2] | operation[1] & operation[0])
        is_signed = ~operation[2]
        m.d.comb += self.has_fraction.eq(each(lanes, lambda k: self.a[k][FRACTION:SIGN] < WHOLE))

        sign = each(lanes, lambda k: self.a[k][SIGN])
        is_negative = Signal(lanes)
        m.d.comb += is_negative.eq(sign & is_signed.replicate(lanes))
        product, addend = self.integer(m, is_negative)
        factor = Signal(WIDTH)
        is_fp16 = is_widening & ~operation[0]
        m.d.comb += factor[FRACTION:].eq(Mux(is_fp16, FP16_FACTOR, Mux(is_from, FACTOR, ONE)))
        exponents = C(WHOLE, SIGN - FRACTION).replicate(lanes)
        whole = named(m, "whole", exponents & spread(self.has_fraction, SIGN - FRACTION))
        whole = join((C(0, lanes * FRACTION), FRACTION), (whole, SIGN - FRACTION), (sign, 1))
        m.d.comb += [
            self.fma_operation.eq(
                Mux(is_widening, FmaOperation.FMUL, operation[:3] & ~is_conversion.replicate(3))
            ),
            self.fma_a.eq(
                Mux(is_from, product, Mux(is_widening, self.widened(m, operation), self.a))
            ),
            self.fma_b.eq(Mux(is_conversion, factor.replicate(lanes), self.b)),
            self.fma_c.eq(Mux(is_conversion, Mux(is_from, addend, whole), self.c)),
        ]
        return m

    def widened(self, m, operation) -> Value:
        """Return a half of the operand as FP32, except for the exponent's bias."""
        lanes = self.lanes
        is_bf16, is_high = operation[0], operation[2] & operation[1]
        is_boxed = operation[1] & ~operation[2]
        low, high = (
            Cat(self.a[k][start : start + HALF] for k in range(lanes)) for start in (0, HALF)
        )
        halves = each_word(named(m, "halves", Mux(is_high, high, low)), HALF)
        is_bare = each(lanes, lambda k: ~self.a[k][HALF:].all()) & is_boxed.replicate(lanes)
        words = []
        for lane, half in enumerate(halves):
            magnitude = Signal(SIGN, name=f"widened_{lane}")
            exponent = half[FP16.fraction_width : FP16.magnitude_width]
            # An exponent of ones remains one, of infinity and NaN.
            fp16 = Cat(
                C(0, FRACTION - FP16.fraction_width),
                half[: FP16.magnitude_width],
                exponent.all().replicate(FP32.exponent_width - FP16.exponent_width),
            )
            bf16 = Cat(C(0, FRACTION - BF16.fraction_width), half[: BF16.magnitude_width])
            # A number without ones above it becomes a quiet NaN.
            quiet = is_bare[lane].replicate(SIGN - FRACTION + 1)
            m.d.comb += magnitude.eq(Mux(is_bf16, bf16, fp16) | Cat(C(0, FRACTION - 1), quiet))
            words.append(Cat(magnitude, half[-1]))
        return Cat(words)

    def integer(self, m, is_negative) -> tuple[Value, Value]:
        """Return the operand scaled by a power of two, and the addend, that sum to the integer."""
        lanes = self.lanes
        magnitude = Signal(lanes * WIDTH)
        m.d.comb += magnitude.eq(self.a.as_value() ^ spread(is_negative, WIDTH))
        factors, addends = [], []
        for lane, word in enumerate(each_word(magnitude, WIDTH)):
            high = word[FRACTION:]
            factor = Signal(len(high) + 1, name=f"factor_{lane}")
            # `high + 2`: all bits except the lowest are incremented.
            m.d.comb += factor.eq(Cat(high[0], high[1:] + 1))
            factors.append(
                Cat(C(0, PLACE), factor, C(0, SIGN - PLACE - len(factor)), is_negative[lane])
            )
            low = Cat(~word[:FRACTION], C(SCALED_WHOLE, SIGN - FRACTION))
            addend = Signal(SIGN, name=f"addend_{lane}")
            m.d.comb += addend.eq(low + ~is_negative[lane])
            addends.append(Cat(addend, ~is_negative[lane]))
        return Cat(factors), Cat(addends)


class OutputCast(Component):
    """Cast stage after the multiply-add: passes, rescales or converts results of several lanes.

    Combinational.

    Parameters
    ----------
    lanes : int

    Members
    -------
    is_from, is_to, is_signed : In(1)
        Conversion from an integer; to an integer; to a signed integer.
    has_fraction : In(lanes)
        Output of `InputCast`.
    i : In(data.ArrayLayout(32, lanes))
    inexact_i, invalid_i : In(lanes)
    o : Out(data.ArrayLayout(32, lanes))
    inexact, invalid : Out(lanes)

    """

    def __init__(self, lanes: int):
        self.lanes = lanes
        values = data.ArrayLayout(WIDTH, lanes)
        super().__init__({
            **{name: In(1) for name in ("is_from", "is_to", "is_signed")},
            "has_fraction": In(lanes),
            "i": In(values),
            "inexact_i": In(lanes),
            "invalid_i": In(lanes),
            "o": Out(values),
            "inexact": Out(lanes),
            "invalid": Out(lanes),
        })

    def elaborate(self, platform):
        m = Module()
        integer, is_outside = self.integer(m)
        invalid = Signal(self.lanes)
        m.d.comb += [
            invalid.eq(is_outside & self.is_to.replicate(self.lanes)),
            self.o.eq(Mux(self.is_to, integer, Mux(self.is_from, self.rescaled(m), self.i))),
            self.invalid.eq(self.invalid_i | invalid),
            self.inexact.eq(self.inexact_i & ~invalid),
        ]
        return m

    def bits(self, bit: int) -> Value:
        """Return one bit of every lane's result."""
        return each(self.lanes, lambda k: self.i[k][bit])

    def rescaled(self, m) -> Value:
        """Return results times 2**64; of nonzero integers the stored exponents are 63 to 95."""
        middle = self.bits(SIGN - 2)
        # The lowest exponent bit distinguishes 63 from 0.
        is_one = named(m, "is_one", self.bits(FRACTION) & ~middle)
        rest = Cat(self.i[k][: SIGN - 2] for k in range(self.lanes))
        sign = named(m, "rescaled_sign", self.bits(SIGN) & (is_one | middle))
        return join((rest, SIGN - 2), (is_one, 1), (middle, 1), (sign, 1))

    def integer(self, m) -> tuple[Value, Value]:
        """Return results as integers, saturated, and the mask of those out of range."""
        lanes = self.lanes
        magnitude = Signal(lanes * WIDTH)
        is_negative = Signal(lanes)
        is_large = each(lanes, lambda k: self.i[k][FRACTION:SIGN] >= BEYOND)
        # The added 2**23 is the hidden bit: dropped, unless rounding carried to 2**24.
        hidden = ~self.has_fraction | self.bits(FRACTION)
        places = each(lanes, lambda k: (self.i[k][FRACTION : FRACTION + 4] - WHOLE % 16)[:4])
        hidden = named(m, "hidden", hidden)
        places = each_word(named(m, "places", places & ~spread(self.has_fraction, 4)), 4)
        shifted = [
            (Cat(self.i[k][:FRACTION], hidden[k]) << places[k])[:WIDTH] for k in range(lanes)
        ]
        m.d.comb += [is_negative.eq(self.bits(SIGN)), magnitude.eq(Cat(shifted))]
        words = each_word(magnitude, WIDTH)
        top = each(lanes, lambda k: words[k][SIGN])
        rest = each(lanes, lambda k: words[k][:SIGN].any())
        is_outside = Signal(lanes)
        m.d.comb += is_outside.eq(
            is_large | Mux(self.is_signed, top & (~is_negative | rest), is_negative & (top | rest))
        )
        turned = named(m, "turned", magnitude ^ spread(is_negative, WIDTH))
        turned = each_word(turned, WIDTH)
        value = Cat((turned[k] + is_negative[k])[:WIDTH] for k in range(lanes))
        is_positive = named(m, "is_positive", ~is_negative)
        limit_sign = named(m, "limit_sign", is_positive ^ self.is_signed.replicate(lanes))
        limit = join((spread(is_positive, SIGN), SIGN), (limit_sign, 1))
        mask = spread(is_outside, WIDTH)
        return (value & ~mask) | (limit & mask), is_outside
