"""Range reduction: converts a number to a table argument, a factor and an exponent."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.formats import FP32
from ...emit.component import Component
from ...isa.operations import SpecialOperation
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ...lib.pipeline import cut
from ..float.normalise import Normalise, NormaliseConfig
from .functions import (
    ARGUMENT_WIDTH,
    FACTOR_WIDTH,
    LOG2_UPPER,
    LOG2_UPPER_WIDTH,
    TINY_ANGLE,
    TURN_WIDTH,
)
from .interpolate import SELECT_WIDTH, selection
from .turns import Turns

__all__ = ["REDUCED_LAYOUT", "Reduce"]

#: Bits of the word below a significand at its top.
BELOW = TURN_WIDTH - FP32.significand_width
#: Integer bits of the exponent of a power, with its sign.
WHOLE_WIDTH = 9
SHIFT_WIDTH = 6

#: Reduced form of a function: its value is ``table(argument) * factor`` times a power of two. The
#: factor can be 1. `scale` determines the exponent of that power.
REDUCED_LAYOUT = data.StructLayout({
    "operation": SpecialOperation,
    "select": SELECT_WIDTH,
    "argument": ARGUMENT_WIDTH,
    "factor": FACTOR_WIDTH + 1,
    "factor_carry": 1,
    "has_factor": 1,
    "scale": signed(WHOLE_WIDTH + 1),
    "sign": 1,
    # For log2: the significand was halved; and the result is not near 0.
    "is_upper": 1,
    "is_far": 1,
    # For sin and cos: too small for a table.
    "is_tiny": 1,
})


class Reduce(Component):
    """Range reduction of a nonzero finite number to the inputs of the interpolator.

    A pipeline without back-pressure: one number per cycle, one cycle per stage in `cuts`.

    | stage | result |
    |---|---|
    | addends | an angle in turns, as two addends; otherwise the significand or its complement |
    | word | their sum; for an angle, the distance from a multiple of half a right angle |
    | reduced | the word normalised and shifted; argument, factor and exponent from these |

    Parameters
    ----------
    cuts : tuple of str
        Stages whose results are registered.

    Members
    -------
    operation : In(SpecialOperation)
    a : In(32)
        As stored.
    o : Out(REDUCED_LAYOUT)

    """

    def __init__(self, cuts: tuple[str, ...]):
        self.cuts = cuts
        super().__init__({
            "operation": In(SpecialOperation),
            "a": In(FP32.width),
            "o": Out(REDUCED_LAYOUT),
        })

    def elaborate(self, platform):
        m = Module()
        kind = self.kind()
        augend, addend, is_small = self.addends(m, kind)
        *flags, exponent, is_small, augend, addend = cut(
            m,
            "addends",
            registered="addends" in self.cuts,
            **kind,
            exponent=self.a[FP32.fraction_width : -1],
            is_small=is_small,
            augend=augend,
            addend=addend,
        )
        kind = dict(zip(kind, flags, strict=True))
        word, octant = self.word(m, kind, is_small, augend, addend)
        is_cosine = Signal()
        quadrant = Signal(2)
        m.d.comb += [
            quadrant.eq(octant[1:] + (kind["operation"] == SpecialOperation.COS)),
            is_cosine.eq(quadrant[0] ^ octant[0]),
        ]
        kind["sign"] = Mux(
            kind["is_circular"],
            (kind["sign"] & (kind["operation"] == SpecialOperation.SIN)) ^ quadrant[1],
            # Powers are positive, and the sign of a logarithm is not its operand's.
            kind["sign"] & (kind["operation"] <= SpecialOperation.RSQRT),
        )
        *flags, exponent, is_cosine, shift, word = cut(
            m,
            "word",
            registered="word" in self.cuts,
            **kind,
            exponent=exponent,
            is_cosine=is_cosine,
            shift=self.shift(kind, is_small, exponent),
            word=word,
        )
        kind = dict(zip(kind, flags, strict=True))
        reduced = self.reduced(m, kind, exponent, is_cosine, shift, word)
        fields = Signal(REDUCED_LAYOUT)
        m.d.comb += [fields[name].eq(value) for name, value in reduced.items()]
        (o,) = cut(m, "reduced", registered="reduced" in self.cuts, o=fields)
        m.d.comb += self.o.as_value().eq(o)
        return m

    def kind(self) -> dict[str, Value]:
        """Return control signals derived from operation and operand."""
        fraction = self.a[: FP32.fraction_width]
        exponent = self.a[FP32.fraction_width : -1]
        is_circular = self.operation[2]
        is_log2 = self.operation == SpecialOperation.LOG2
        is_normal = exponent.any()
        is_upper = is_log2 & is_normal & (fraction[-LOG2_UPPER_WIDTH:] >= LOG2_UPPER)
        is_near = is_normal & (exponent == FP32.bias - is_upper)
        return {
            "operation": self.operation,
            "sign": self.a[-1],
            "is_normal": is_normal,
            "is_circular": is_circular,
            "is_tiny": is_circular & (exponent < FP32.bias + TINY_ANGLE),
            "is_upper": is_upper,
            "is_far": is_log2 & ~is_near,
        }

    def addends(self, m, kind):
        """Return the two words to add, and whether they are of an angle below 1/2 radian."""
        significand = Signal(FP32.significand_width)
        m.d.comb += significand.eq(Cat(self.a[: FP32.fraction_width], kind["is_normal"]))
        is_power = kind["operation"] == SpecialOperation.EXP2
        is_negated = Signal()
        m.d.comb += is_negated.eq(Mux(is_power, kind["sign"], kind["is_upper"]))
        # The first bit of a fraction is aligned with a hidden bit; if halved, one place lower.
        is_fraction = (kind["operation"] == SpecialOperation.LOG2) & kind["is_normal"]
        placed = Signal(FP32.significand_width)
        m.d.comb += placed.eq(
            Mux(
                is_fraction,
                Mux(kind["is_upper"], significand[:-1], significand << 1),
                significand,
            )
        )
        top = Cat(is_negated.replicate(FP32.significand_width - 1), is_negated & is_power)
        augend = Cat(C(0, BELOW), placed ^ top, is_negated & is_power)
        addend = Cat(C(0, BELOW), is_negated, C(0, FP32.significand_width - 1))
        m.submodules.turns = turns = Turns()
        m.d.comb += [
            turns.significand.eq(significand),
            turns.exponent.eq(self.a[FP32.fraction_width : -1]),
        ]
        is_angle = kind["is_circular"] & ~kind["is_tiny"]
        return (
            Mux(is_angle, turns.a, augend),
            Mux(is_angle, turns.b, addend),
            is_angle & turns.is_small,
        )

    def word(self, m, kind, is_small, augend, addend):
        """Return the sum, folded into its octant if it is an angle, and that octant."""
        width = TURN_WIDTH + 1
        m.submodules.word = adder = CarrySelectAdd(
            CarrySelectAddConfig(width=width, blocks=(width // 3, width * 2 // 3))
        )
        m.d.comb += [adder.a.eq(augend), adder.b.eq(addend)]
        is_angle = kind["is_circular"] & ~kind["is_tiny"]
        is_folded = is_angle & ~is_small
        octant = adder.o[TURN_WIDTH - 3 : TURN_WIDTH] & is_folded.replicate(3)
        # A 1 after the last known bit selects the middle of the range that the bits represent.
        folded = Cat(C(0b100, 3), adder.o[: TURN_WIDTH - 3] ^ octant[0].replicate(TURN_WIDTH - 3))
        word = Cat(Mux(is_folded, folded, adder.o[:TURN_WIDTH]), adder.o[-1] & ~is_angle)
        return word, octant

    def shift(self, kind, is_small, exponent):
        """Return the right shift of the word, for a power or a small angle."""
        places = Mux(is_small, FP32.bias - 2, FP32.bias + 7) - exponent
        is_shifted = is_small | (kind["operation"] == SpecialOperation.EXP2)
        is_far = places[SHIFT_WIDTH : FP32.exponent_width].any()
        shift = places[:SHIFT_WIDTH] | is_far.replicate(SHIFT_WIDTH)
        return shift & is_shifted.replicate(SHIFT_WIDTH)

    def reduced(self, m, kind, exponent, is_cosine, shift, word):
        """Return the fields of `REDUCED_LAYOUT`."""
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(width=TURN_WIDTH, leading_zeros=TURN_WIDTH - 3)
        )
        m.d.comb += normalise.i.eq(word[:TURN_WIDTH])
        shifted = Signal(signed(TURN_WIDTH + 1))
        m.d.comb += shifted.eq(word.as_signed() >> shift)
        argument, is_upper = self.argument(m, kind, normalise.o, shifted)

        has_sine = kind["is_circular"] & ~kind["is_tiny"] & ~is_cosine
        is_log2 = kind["operation"] == SpecialOperation.LOG2
        is_normalised = has_sine | (is_log2 & ~kind["is_far"])
        is_sine_itself = kind["is_tiny"] & (kind["operation"] == SpecialOperation.SIN)
        factor = Mux(
            kind["is_far"],
            argument << (FACTOR_WIDTH - ARGUMENT_WIDTH),
            Mux(
                is_normalised | is_sine_itself,
                normalise.o[-1 - FACTOR_WIDTH :],
                1 << FACTOR_WIDTH,
            ),
        )
        # The operand's stored exponent, with an unbounded range.
        number = Signal(signed(WHOLE_WIDTH + 1))
        m.d.comb += number.eq(
            (exponent | ~kind["is_normal"]) - Mux(kind["is_normal"], 0, normalise.shift)
        )
        scale = Mux(is_normalised, normalise.shift + shift, number)
        is_power = kind["operation"] == SpecialOperation.EXP2
        return {
            "operation": kind["operation"],
            "select": self.select(kind, is_cosine, is_upper, number),
            "argument": argument,
            "factor": factor,
            "factor_carry": normalise.o[-2 - FACTOR_WIDTH] & is_normalised,
            "has_factor": has_sine | is_log2,
            "scale": Mux(is_power, shifted[ARGUMENT_WIDTH:].as_signed(), scale),
            "sign": kind["sign"],
            "is_upper": is_upper,
            "is_far": kind["is_far"],
            "is_tiny": kind["is_tiny"],
        }

    def argument(self, m, kind, normalised, shifted):
        """Return the table's argument, and whether it is of a logarithm of a halved number."""
        is_log2 = kind["operation"] == SpecialOperation.LOG2
        is_angle = kind["is_circular"] & ~kind["is_tiny"]
        fraction = normalised[-1 - ARGUMENT_WIDTH : -1]
        # Known only here for a subnormal, whose logarithm is so far from zero that the complement
        # can replace the difference from 2.
        is_complement = is_log2 & ~kind["is_normal"] & (fraction[-LOG2_UPPER_WIDTH:] >= LOG2_UPPER)
        argument = Signal(ARGUMENT_WIDTH)
        with m.If(kind["operation"] == SpecialOperation.EXP2):
            m.d.comb += argument.eq(shifted)
        with m.Elif(is_angle | (is_log2 & kind["is_normal"])):
            m.d.comb += argument.eq(shifted[TURN_WIDTH - ARGUMENT_WIDTH :])
        with m.Else():
            m.d.comb += argument.eq(Mux(is_complement, ~fraction[1:], fraction))
        return argument, kind["is_upper"] | is_complement

    def select(self, kind, is_cosine, is_upper, number):
        """Return the table to use."""
        circular = Mux(
            kind["is_tiny"],
            selection("one"),
            Mux(is_cosine, selection("cos"), selection("sin")),
        )
        # True exponents are odd if stored ones are even.
        choices = [
            selection("rcp"),
            Mux(number[0], selection("rsqrt"), selection("rsqrt_odd")),
            selection("exp2"),
            Mux(is_upper, selection("log2_upper"), selection("log2")),
        ]
        return Mux(kind["is_circular"], circular, Array(choices)[kind["operation"][:2]])
