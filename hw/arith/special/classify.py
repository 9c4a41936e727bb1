"""Special cases of the special functions, whose results are not interpolated from a table."""

from amaranth import *
from amaranth.lib import enum
from amaranth.lib.wiring import In, Out

from ...config.formats import FP32
from ...emit.component import Component
from ...isa.operations import SpecialOperation

__all__ = ["SpecialClass", "SpecialClassifier"]

#: Stored exponent of 2**8; its power of two is far beyond every FP32 number.
HUGE_POWER = FP32.bias + 8


class SpecialClass(enum.IntEnum, shape=2):
    """Class of a result."""

    NUMBER = 0
    ZERO = 1
    INFINITY = 2
    NAN = 3


class SpecialClassifier(Component):
    """Class of ``operation(a)``; rounding can still turn a number into zero or infinity.

    Combinational.

    Members
    -------
    operation : In(SpecialOperation)
    a : In(32)
        As stored.
    o : Out(SpecialClass)

    """

    def __init__(self):
        super().__init__({
            "operation": In(SpecialOperation),
            "a": In(FP32.width),
            "o": Out(SpecialClass),
        })

    def elaborate(self, platform):
        m = Module()
        sign, magnitude = self.a[-1], self.a[:-1]
        is_zero = ~magnitude.any()
        is_special = magnitude[FP32.fraction_width :].all()
        is_nan = is_special & magnitude[: FP32.fraction_width].any()
        is_negative = sign & ~is_zero
        with m.Switch(self.operation):
            with m.Case(SpecialOperation.RCP):
                with m.If(is_zero):
                    m.d.comb += self.o.eq(SpecialClass.INFINITY)
                with m.Elif(is_special):
                    m.d.comb += self.o.eq(SpecialClass.ZERO)
            with m.Case(SpecialOperation.RSQRT):
                with m.If(is_negative):
                    m.d.comb += self.o.eq(SpecialClass.NAN)
                with m.Elif(is_zero):
                    m.d.comb += self.o.eq(SpecialClass.INFINITY)
                with m.Elif(is_special):
                    m.d.comb += self.o.eq(SpecialClass.ZERO)
            with m.Case(SpecialOperation.EXP2):
                is_huge = magnitude[FP32.fraction_width :] >= HUGE_POWER
                beyond = Mux(sign, SpecialClass.ZERO, SpecialClass.INFINITY)
                m.d.comb += self.o.eq(Mux(is_huge, beyond, SpecialClass.NUMBER))
            with m.Case(SpecialOperation.LOG2):
                with m.If(is_negative):
                    m.d.comb += self.o.eq(SpecialClass.NAN)
                with m.Elif(is_zero | is_special):
                    m.d.comb += self.o.eq(SpecialClass.INFINITY)
                with m.Elif(magnitude == FP32.bias << FP32.fraction_width):
                    m.d.comb += self.o.eq(SpecialClass.ZERO)
            with m.Default():
                with m.If(is_special):
                    m.d.comb += self.o.eq(SpecialClass.NAN)
                with m.Elif(is_zero & (self.operation != SpecialOperation.COS)):
                    m.d.comb += self.o.eq(SpecialClass.ZERO)
        with m.If(is_nan):
            m.d.comb += self.o.eq(SpecialClass.NAN)
        return m
