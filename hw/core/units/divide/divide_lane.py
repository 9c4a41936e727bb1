"""Lane of the divide unit: quotients, remainders and square roots of one thread."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ....arith.float.divide.config import DivideSqrtConfig, DivideSqrtOperation
from ....arith.float.divide.digit_recurrence import DigitRecurrence, DigitRecurrenceConfig
from ....arith.float.divide.finish import Finish
from ....arith.float.divide.setup import Setup, start_layout
from ....arith.float.rounding import FLAGS_LAYOUT, Rounding
from ....config.checks import require_choice
from ....emit.shared_block import SharedBlock
from ....isa.operations import DivideOperation
from .integer_divide import START_LAYOUT, integer_result, integer_start, is_integer

__all__ = ["DivideLane", "DivideLaneConfig"]

WIDTH = 32


@dataclass(frozen=True, kw_only=True)
class DivideLaneConfig:
    """Configuration of a lane of the divide unit.

    Parameters
    ----------
    digits : int
        Result bits per cycle: 1, 2 or 4.

    """

    digits: int = 4

    def __post_init__(self):
        require_choice("digits", self.digits, (1, 2, 4))

    @property
    def float(self) -> DivideSqrtConfig:
        """Configuration of setup and rounding of float operations."""
        return DivideSqrtConfig(digits=self.digits)

    @property
    def recurrence(self) -> DigitRecurrenceConfig:
        """Configuration of the digit recurrence, at the full width of integers."""
        return DigitRecurrenceConfig(significand_width=WIDTH, digits=self.digits)

    @property
    def float_cycles(self) -> int:
        """Cycles for the digits of a float."""
        return self.float.recurrence.cycles

    @property
    def integer_cycles(self) -> int:
        """Cycles for the digits of an integer."""
        return WIDTH // self.digits


class DivideLane(SharedBlock):
    """Divide lane: datapath of `DivideOperation`, stepped by the unit.

    Floats and integers share the recurrence and its registers. Digits of a float begin with a 1.
    The digit register holds the integer dividend at first: its top bits shift into the remainder
    as quotient bits shift in at the bottom.

    Parameters
    ----------
    config : DivideLaneConfig

    Members
    -------
    operation : In(DivideOperation)
    rounding : In(Rounding)
    a, b : In(32)
    begin : In(1)
        Accepts the operation.
    iterate : In(1)
        Computes digits: `config.float_cycles` or `config.integer_cycles` times.
    finish : In(1)
        Stores the result in `o`; an operation may begin in the same cycle.
    o : Out(32)
        Registered, like `flags`.
    flags : Out(FLAGS_LAYOUT)

    """

    def __init__(self, config: DivideLaneConfig):
        self.config = config
        super().__init__({
            "operation": In(DivideOperation),
            "rounding": In(Rounding),
            "a": In(WIDTH),
            "b": In(WIDTH),
            "begin": In(1),
            "iterate": In(1),
            "finish": In(1),
            "o": Out(WIDTH),
            "flags": Out(FLAGS_LAYOUT),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        recurrence = config.recurrence
        m.submodules.setup = setup = Setup(config.float)
        m.submodules.step = step = DigitRecurrence(recurrence)
        m.submodules.finish = finish = Finish(config.float)
        is_root = self.operation == DivideOperation.FSQRT
        m.d.comb += [
            setup.i.operation.eq(
                Mux(is_root, DivideSqrtOperation.SQUARE_ROOT, DivideSqrtOperation.DIVIDE)
            ),
            setup.i.rounding.eq(self.rounding),
            setup.i.a.eq(self.a),
            setup.i.b.eq(self.b),
        ]
        start = Signal(
            data.StructLayout({
                "is_integer": 1,
                "float": start_layout(config.float),
                "integer": START_LAYOUT,
            }),
            reset_less=True,
        )
        remainder = Signal(recurrence.remainder_width, reset_less=True)
        operand = Signal(WIDTH, reset_less=True)
        digits = Signal(recurrence.result_width, reset_less=True)
        m.d.comb += [
            step.is_root.eq(start.float.is_root),
            step.remainder.eq(remainder),
            step.operand.eq(operand),
            step.result.eq(digits),
            finish.start.eq(start.float),
            finish.digits.eq(digits),
            finish.is_inexact.eq(remainder.any()),
        ]
        first = self.first(m, setup)
        # The digits of a float never reach these bits.
        drawn = digits[WIDTH - config.digits : WIDTH]
        with m.If(self.begin):
            m.d.sync += [
                start.is_integer.eq(is_integer(self.operation)),
                start.float.eq(setup.start),
                start.integer.eq(first["integer"]),
                remainder.eq(first["remainder"]),
                operand.eq(first["operand"]),
                digits.eq(first["digits"]),
            ]
        with m.Elif(self.iterate):
            m.d.sync += [
                remainder.eq(step.remainder_o | drawn),
                operand.eq(step.operand_o),
                digits.eq(step.result_o),
            ]
        self.result(m, start, finish, remainder[config.digits :], digits)
        return m

    def first(self, m, setup) -> dict[str, Any]:
        """Return the first state of the recurrence."""
        a, b, start = integer_start(m, self.operation, self.a, self.b)
        is_whole = is_integer(self.operation)
        count = self.config.digits
        # The recurrence takes radicand bits from the upper end of its operand.
        unused = C(0, WIDTH - len(setup.operand))
        operand = Mux(setup.start.is_root, Cat(unused, setup.operand), setup.operand)
        return {
            "integer": start,
            "remainder": Mux(is_whole, a[WIDTH - count :], setup.remainder),
            "operand": Mux(is_whole, b, operand),
            "digits": Mux(is_whole, Cat(C(0, count), a[: WIDTH - count]), 1),
        }

    def result(self, m, start, finish, remainder, digits):
        """Store the result in its register."""
        o = Signal(WIDTH, reset_less=True)
        flags = Signal(FLAGS_LAYOUT, reset_less=True)
        integer = integer_result(start.integer, remainder[:WIDTH], digits[:WIDTH])
        with m.If(self.finish):
            m.d.sync += [
                o.eq(Mux(start.is_integer, integer, finish.o.result)),
                flags.eq(Mux(start.is_integer, 0, finish.o.flags)),
            ]
        m.d.comb += [self.o.eq(o), self.flags.eq(flags)]
