"""Angles in turns: the significand times the relevant bits of 1 / (2 pi)."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.formats import FP32
from ...emit.component import Component
from .carry_save import CarrySave, CarrySaveConfig, product_rows
from .coefficients import INVERSE_TURN, INVERSE_TURN_WIDTH
from .functions import SIGNIFICAND_DIGITS, TURN_WIDTH, WINDOW_WIDTH

__all__ = ["Turns"]

#: Stored exponent of the first window, 1/2 to below 1 radian, and number of windows.
FIRST = FP32.bias - 1
WINDOWS = FP32.bias + 2
#: A window is selected from a row of constants, then shifted by less than this.
STEP = 8


class Turns(Component):
    """Radian reduction: ``a + b`` is an angle over 2 pi modulo 1, in units of ``2**-TURN_WIDTH``.

    Combinational. Payne and Hanek's method, "Radian Reduction for Trigonometric Functions", ACM
    SIGNUM Newsletter 18(1), 1983: the bits of 1 / (2 pi) above the window contribute only whole
    turns; those below contribute less than a unit.

    Angles below 1/2 radian are in units of 8 turns, divided by their power of two and multiplied
    by 1/4: from 0.318 to 0.637.

    Members
    -------
    significand : In(24)
    exponent : In(8)
        As stored.
    is_small : Out(1)
        The angle is below 1/2.
    a, b : Out(TURN_WIDTH)

    """

    def __init__(self):
        super().__init__({
            "significand": In(FP32.significand_width),
            "exponent": In(FP32.exponent_width),
            "is_small": Out(1),
            "a": Out(TURN_WIDTH),
            "b": Out(TURN_WIDTH),
        })

    def elaborate(self, platform):
        m = Module()
        number = Signal(range(WINDOWS))
        m.d.comb += self.is_small.eq(self.exponent < FIRST)
        m.d.comb += number.eq(Mux(self.is_small, 2, self.exponent - FIRST))
        rows, _ = product_rows(
            m,
            "window",
            self.window(number),
            Cat(self.significand, C(0, 1)),
            digits=SIGNIFICAND_DIGITS,
            dropped=WINDOW_WIDTH - TURN_WIDTH,
            width=TURN_WIDTH,
        )
        m.submodules.tree = tree = CarrySave(CarrySaveConfig(rows=len(rows), width=TURN_WIDTH))
        m.d.comb += [tree.rows[k].eq(row) for k, row in enumerate(rows)]
        m.d.comb += [self.a.eq(tree.a), self.b.eq(tree.b)]
        return m

    def window(self, number: Signal) -> Value:
        """Return window `number`: each begins one bit later than its predecessor."""
        step_width = STEP.bit_length() - 1
        mask = (1 << (WINDOW_WIDTH + STEP - 1)) - 1
        # Bits of the constant below window 0.
        end = INVERSE_TURN_WIDTH - WINDOW_WIDTH + FP32.fraction_width + 1
        constants = [
            C((INVERSE_TURN << STEP >> (end - first + 1)) & mask, WINDOW_WIDTH + STEP - 1)
            for first in range(0, WINDOWS, STEP)
        ]
        wide = Array(constants)[number[step_width:]]
        return (wide >> ~number[:step_width])[:WINDOW_WIDTH]
