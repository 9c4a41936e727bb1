"""Cast stages around the fused multiply-add: conversions from and to integers, and to FP32."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ....arith.float.fma import FmaOperandsSignature, FmaOperation, FmaResultSignature
from ....config.formats import BF16, FP16, FP32
from ....emit.component import Component
from ....isa.operations import FloatOperation
from .float_lane_values import each_word, join, named, per_lane, spread
from .signatures import FloatOperandsSignature, FloatResultsSignature, conversion_layout

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
    operands : In(FloatOperandsSignature(lanes))
    fma : Out(FmaOperandsSignature(FP32)).array(lanes)
    conversion : Out(conversion_layout(lanes))

    """

    def __init__(self, lanes: int):
        self.lanes = lanes
        super().__init__({
            "operands": In(FloatOperandsSignature(lanes)),
            "fma": Out(FmaOperandsSignature(FP32)).array(lanes),
            "conversion": Out(conversion_layout(lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        lanes, a = self.lanes, self.operands.a
        operation = Value.cast(self.operands.operation)
        # Other operations set these bits too, but do not use the multiply-add's result.
        is_conversion = operation[4]
        is_widening = is_conversion & operation[3]
        is_from = is_conversion & ~operation[3] & (operation[2] | operation[1] & operation[0])
        is_signed = ~operation[2]
        self.describe(m)

        sign = per_lane(lanes, lambda k: a[k][SIGN])
        is_negative = Signal(lanes)
        m.d.comb += is_negative.eq(sign & is_signed.replicate(lanes))
        product, addend = self.integer(m, is_negative)
        factor = Signal(WIDTH)
        is_fp16 = is_widening & ~operation[0]
        m.d.comb += factor[FRACTION:].eq(Mux(is_fp16, FP16_FACTOR, Mux(is_from, FACTOR, ONE)))
        exponents = C(WHOLE, SIGN - FRACTION).replicate(lanes)
        whole = named(m, "whole", exponents & spread(self.conversion.has_fraction, SIGN - FRACTION))
        whole = join((C(0, lanes * FRACTION), FRACTION), (whole, SIGN - FRACTION), (sign, 1))
        fma_operation = Signal(FmaOperation)
        m.d.comb += fma_operation.eq(
            Mux(is_widening, FmaOperation.FMUL, operation[:3] & ~is_conversion.replicate(3))
        )
        casts = {
            "a": Mux(is_from, product, Mux(is_widening, self.widened(m, operation), a)),
            "b": Mux(is_conversion, factor.replicate(lanes), self.operands.b),
            "c": Mux(is_conversion, Mux(is_from, addend, whole), self.operands.c),
        }
        words = {
            name: each_word(named(m, f"fma_{name}", value), WIDTH) for name, value in casts.items()
        }
        for lane, fma in enumerate(self.fma):
            m.d.comb += [
                fma.operation.eq(fma_operation),
                fma.rounding.eq(self.operands.rounding),
                *(getattr(fma, name).eq(word[lane]) for name, word in words.items()),
            ]
        return m

    def describe(self, m: Module):
        """Drive the properties of the conversion that the cast after the multiply-add needs."""
        operation = Value.cast(self.operands.operation)
        is_to_signed = operation == FloatOperation.TO_SIGNED
        m.d.comb += [
            self.conversion.is_from.eq(
                operation.matches(FloatOperation.FROM_SIGNED, FloatOperation.FROM_UNSIGNED)
            ),
            self.conversion.is_to.eq(is_to_signed | (operation == FloatOperation.TO_UNSIGNED)),
            self.conversion.is_signed.eq(is_to_signed),
            self.conversion.has_fraction.eq(
                per_lane(self.lanes, lambda k: self.operands.a[k][FRACTION:SIGN] < WHOLE)
            ),
        ]

    def widened(self, m: Module, operation: Value) -> Value:
        """Return a half of the operand as FP32, except for the exponent's bias."""
        lanes, a = self.lanes, self.operands.a
        is_bf16, is_high = operation[0], operation[2] & operation[1]
        is_boxed = operation[1] & ~operation[2]
        low, high = (Cat(a[k][start : start + HALF] for k in range(lanes)) for start in (0, HALF))
        halves = each_word(named(m, "halves", Mux(is_high, high, low)), HALF)
        is_bare = per_lane(lanes, lambda k: ~a[k][HALF:].all()) & is_boxed.replicate(lanes)
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

    def integer(self, m: Module, is_negative: Value) -> tuple[Value, Value]:
        """Return the operand scaled by a power of two, and the addend, that sum to the integer."""
        lanes = self.lanes
        magnitude = Signal(lanes * WIDTH)
        m.d.comb += magnitude.eq(self.operands.a.as_value() ^ spread(is_negative, WIDTH))
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
    conversion : In(conversion_layout(lanes))
        From `InputCast`, in the cycle of `i`.
    i : In(FmaResultSignature(FP32)).array(lanes)
    result : Out(FloatResultsSignature(lanes))

    """

    def __init__(self, lanes: int):
        self.lanes = lanes
        super().__init__({
            "conversion": In(conversion_layout(lanes)),
            "i": In(FmaResultSignature(FP32)).array(lanes),
            "result": Out(FloatResultsSignature(lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        conversion, result = self.conversion, self.result
        integer, is_outside = self.integer(m)
        invalid = Signal(self.lanes)
        values = Cat(lane.o for lane in self.i)
        m.d.comb += [
            invalid.eq(is_outside & conversion.is_to.replicate(self.lanes)),
            result.o.eq(
                Mux(conversion.is_to, integer, Mux(conversion.is_from, self.rescaled(m), values))
            ),
        ]
        for number, (lane, flags) in enumerate(zip(self.i, result.flags, strict=True)):
            m.d.comb += [
                flags.eq(lane.flags),
                flags.inexact.eq(lane.flags.inexact & ~invalid[number]),
                flags.invalid.eq(lane.flags.invalid | invalid[number]),
            ]
        return m

    def bits(self, bit: int) -> Value:
        """Return one bit of every lane's result."""
        return per_lane(self.lanes, lambda k: self.i[k].o[bit])

    def rescaled(self, m: Module) -> Value:
        """Return results times 2**64; of nonzero integers the stored exponents are 63 to 95."""
        middle = self.bits(SIGN - 2)
        # The lowest exponent bit distinguishes 63 from 0.
        is_one = named(m, "is_one", self.bits(FRACTION) & ~middle)
        rest = Cat(self.i[k].o[: SIGN - 2] for k in range(self.lanes))
        sign = named(m, "rescaled_sign", self.bits(SIGN) & (is_one | middle))
        return join((rest, SIGN - 2), (is_one, 1), (middle, 1), (sign, 1))

    def integer(self, m: Module) -> tuple[Value, Value]:
        """Return results as integers, saturated, and the mask of those out of range."""
        lanes, has_fraction = self.lanes, self.conversion.has_fraction
        magnitude = Signal(lanes * WIDTH)
        is_negative = Signal(lanes)
        is_large = per_lane(lanes, lambda k: self.i[k].o[FRACTION:SIGN] >= BEYOND)
        # The added 2**23 is the hidden bit: dropped, unless rounding carried to 2**24.
        hidden = ~has_fraction | self.bits(FRACTION)
        places = per_lane(lanes, lambda k: (self.i[k].o[FRACTION : FRACTION + 4] - WHOLE % 16)[:4])
        hidden = named(m, "hidden", hidden)
        places = each_word(named(m, "places", places & ~spread(has_fraction, 4)), 4)
        shifted = [
            (Cat(self.i[k].o[:FRACTION], hidden[k]) << places[k])[:WIDTH] for k in range(lanes)
        ]
        m.d.comb += [is_negative.eq(self.bits(SIGN)), magnitude.eq(Cat(shifted))]
        words = each_word(magnitude, WIDTH)
        top = per_lane(lanes, lambda k: words[k][SIGN])
        rest = per_lane(lanes, lambda k: words[k][:SIGN].any())
        is_outside, is_signed = Signal(lanes), self.conversion.is_signed
        m.d.comb += is_outside.eq(
            is_large | Mux(is_signed, top & (~is_negative | rest), is_negative & (top | rest))
        )
        turned = named(m, "turned", magnitude ^ spread(is_negative, WIDTH))
        turned = each_word(turned, WIDTH)
        value = Cat((turned[k] + is_negative[k])[:WIDTH] for k in range(lanes))
        is_positive = named(m, "is_positive", ~is_negative)
        limit_sign = named(m, "limit_sign", is_positive ^ is_signed.replicate(lanes))
        limit = join((spread(is_positive, SIGN), SIGN), (limit_sign, 1))
        mask = spread(is_outside, WIDTH)
        return (value & ~mask) | (limit & mask), is_outside
