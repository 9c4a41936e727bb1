"""Lane of the divide unit: quotients, remainders and square roots of one thread."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....arith.float.divide.config import DivideSqrtConfig, DivideSqrtOperation
from ....arith.float.divide.digit_recurrence import DigitRecurrenceConfig, next_state
from ....arith.float.divide.finish import finished
from ....arith.float.divide.setup import first_state, start_layout
from ....arith.float.rounding import FLAGS_LAYOUT, Rounding
from ....config.checks import require_choice
from ....emit.shared_block import SharedBlock
from ....isa.operations import DivideOperation
from .integer_divide import START_LAYOUT, integer_result, integer_start, is_integer

__all__ = ["DivideControlSignature", "DivideLane", "DivideLaneConfig"]

WIDTH = 32
#: Layout of a result.
DIVIDE_RESULT = data.StructLayout({"value": WIDTH, "flags": FLAGS_LAYOUT})


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


class DivideControlSignature(wiring.Signature):
    """Operation and steps that are common to the lanes of a beat.

    Members
    -------
    operation : Out(DivideOperation)
    rounding : Out(Rounding)
    begin : Out(1)
        Accepts the operation.
    iterate : Out(1)
        Computes digits: `float_cycles` or `integer_cycles` of the lane's config times.
    finish : Out(1)
        Stores the result in `o`; an operation may begin in the same cycle.
    """

    def __init__(self):
        super().__init__({
            "operation": Out(DivideOperation),
            "rounding": Out(Rounding),
            "begin": Out(1),
            "iterate": Out(1),
            "finish": Out(1),
        })


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
    control : In(DivideControlSignature())
    a, b : In(32)
    o : Out(DIVIDE_RESULT)
        Registered.

    """

    config: DivideLaneConfig

    def __init__(self, config: DivideLaneConfig):
        self.config = config
        super().__init__({
            "control": In(DivideControlSignature()),
            "a": In(WIDTH),
            "b": In(WIDTH),
            "o": Out(DIVIDE_RESULT),
        })

    def build(self, platform):
        m = Module()
        config, control = self.config, self.control
        start = Signal(
            data.StructLayout({
                "is_integer": 1,
                "float": start_layout(config.float),
                "integer": START_LAYOUT,
            }),
            reset_less=True,
        )
        state = Signal(config.recurrence.state_layout, reset_less=True)
        first_start, first = self.first(m)
        following = next_state(m, config.recurrence, start.float.is_root, state)
        # The digits of a float never reach these bits.
        drawn = state.result[WIDTH - config.digits : WIDTH]
        with m.If(control.begin):
            m.d.sync += [start.eq(first_start), state.eq(first)]
        with m.Elif(control.iterate):
            m.d.sync += [state.eq(following), state.remainder.eq(following.remainder | drawn)]
        self.finish(m, start, state)
        return m

    def first(self, m: Module) -> tuple[Value, Value]:
        """Return the start of the operation, and the first state of the recurrence."""
        config, control = self.config, self.control
        is_root = control.operation == DivideOperation.FSQRT
        operation = Signal(config.float.operation_layout)
        m.d.comb += [
            operation.operation.eq(
                Mux(is_root, DivideSqrtOperation.SQUARE_ROOT, DivideSqrtOperation.DIVIDE)
            ),
            operation.rounding.eq(control.rounding),
            operation.a.eq(self.a),
            operation.b.eq(self.b),
        ]
        start, remainder, operand = first_state(m, config.float, operation)
        a, b, integer = integer_start(m, control.operation, self.a, self.b)
        is_whole = is_integer(control.operation)
        count = config.digits
        # The recurrence takes radicand bits from the upper end of its operand.
        aligned = Cat(C(0, WIDTH - len(operand)), operand)
        state = Signal(config.recurrence.state_layout, name="first_state")
        m.d.comb += [
            state.remainder.eq(Mux(is_whole, a[WIDTH - count :], remainder)),
            state.operand.eq(Mux(is_whole, b, Mux(start.is_root, aligned, operand))),
            state.result.eq(Mux(is_whole, Cat(C(0, count), a[: WIDTH - count]), 1)),
        ]
        return Cat(is_whole, start, integer), state.as_value()

    def finish(self, m: Module, start: data.View, state: data.View):
        """Store the result in its register."""
        o = Signal(DIVIDE_RESULT, reset_less=True)
        remainder = state.remainder[self.config.digits :][:WIDTH]
        integer = integer_result(start.integer, remainder, state.result[:WIDTH])
        rounded = finished(m, self.config.float, start.float, state.result, state.remainder.any())
        with m.If(self.control.finish):
            m.d.sync += [
                o.value.eq(Mux(start.is_integer, integer, rounded.result)),
                o.flags.eq(Mux(start.is_integer, 0, rounded.flags)),
            ]
        m.d.comb += self.o.eq(o)
