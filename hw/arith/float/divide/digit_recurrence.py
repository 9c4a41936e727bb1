"""Digit recurrence for quotients and square roots: several bits per cycle."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data

from ....config.checks import require_integer
from ....lib.carry_select import CarrySelectAdd, CarrySelectAddConfig

__all__ = ["DigitRecurrenceConfig", "next_state"]

#: Bits of a subtractor's first carry-select block, by digits per cycle: the more subtractors are
#: chained, the shorter their ripple carries must be.
FIRST_BLOCK = {1: 26, 2: 12, 3: 7, 4: 3}


@dataclass(frozen=True, kw_only=True)
class DigitRecurrenceConfig:
    """Operand length and number of digits per cycle.

    Parameters
    ----------
    significand_width : int
        Bits of operands and results.
    digits : int
        Binary digits per cycle, 1 to 4.

    """

    significand_width: int
    digits: int

    def __post_init__(self):
        require_integer("significand_width", self.significand_width, 2, 64)
        require_integer("digits", self.digits, 1, len(FIRST_BLOCK))

    @property
    def cycles(self) -> int:
        """Cycles until at least a guard bit is found; the first digit of a significand is known."""
        return -(-self.significand_width // self.digits)

    @property
    def result_width(self) -> int:
        """Bits of a result: a 1 before the point and the digits of all cycles."""
        return 1 + self.cycles * self.digits

    @property
    def remainder_width(self) -> int:
        """Bits of a remainder with room for the next digits.

        The remainder of a root is at most twice the root, and each digit consumes two bits of the
        radicand.
        """
        return self.minuend_width + self.digits

    @property
    def minuend_width(self) -> int:
        """Bits of a cycle's minuend: at its start the root lacks the digits of this cycle."""
        return self.result_width + 1 + self.digits

    @property
    def state_layout(self) -> data.StructLayout:
        """Layout of the state between two cycles.

        ``remainder``: for a division, below ``divisor << digits``; for a root, with the next
        cycle's bits of the radicand at its end. ``operand``: the divisor, or the remaining bits of
        the radicand, left-aligned. ``result``: the digits found so far; 1 initially.
        """
        return data.StructLayout({
            "remainder": self.remainder_width,
            "operand": self.significand_width,
            "result": self.result_width,
        })


def next_state(
    m: Module, config: DigitRecurrenceConfig, is_root: Value, state: data.View
) -> data.View:
    """Return the state after a cycle of a division or square root: `config.digits` more digits.

    Combinational. Restoring recurrences of radix 2 on integers (Ercegovac & Lang, "Digital
    Arithmetic", chapters 5 and 6): a digit is 1 if the subtrahend does not exceed the remainder.
    For quotients the subtrahend is the divisor. For roots it is four times the partial root plus
    one, which maintains ``radicand = root**2 + remainder``. Carry-select subtractors of these
    lengths are so shallow that a redundant remainder and radix-4 digits would save no cycle. They
    would cost more: digit selection, both forms of the result and a final sum.

    Within a cycle the remainder stays in place and the subtrahends move right. A single
    multiplexer per cycle accounts for the remainder's shift per digit: one place for a quotient,
    two for a root.

    Parameters
    ----------
    m : Module
        Module of the datapath.
    config : DigitRecurrenceConfig
        Datapath.
    is_root : Value
        1 for a square root.
    state : View of config.state_layout
        State before the cycle.

    Returns
    -------
    View of config.state_layout
        After the last cycle its remainder is 0 if the result is exact.
    """
    drawn = 2 * config.digits
    remainder = state.remainder[: config.minuend_width]
    result = state.result[: config.result_width - config.digits]
    for place in reversed(range(config.digits)):
        subtrahend = Signal(len(remainder), name=f"subtrahend_{place}")
        m.d.comb += subtrahend.eq(
            Mux(is_root, Cat(C(1, 2), result) << 2 * place, state.operand << place)
        )
        remainder, digit = subtract(m, config, place, remainder, subtrahend)
        result = Cat(digit, result)
    after = Signal(config.state_layout, name="next_state")
    m.d.comb += [
        after.result.eq(result),
        after.remainder.eq(
            Mux(
                is_root,
                Cat(Cat(C(0, drawn), state.operand)[-drawn:], remainder),
                Cat(C(0, config.digits), remainder),
            )
        ),
        after.operand.eq(Mux(is_root, state.operand << drawn, state.operand)),
    ]
    return after


def subtract(
    m: Module, config: DigitRecurrenceConfig, place: int, remainder: Value, subtrahend: Value
) -> tuple[Value, Value]:
    """Return the remainder and the digit of a step that has `place` digits after it."""
    # The last `place` bits are unchanged; the difference's top bit is its sign.
    width = len(remainder) - place + 1
    m.submodules[f"subtract_{place}"] = difference = CarrySelectAdd(
        CarrySelectAddConfig(width=width, blocks=blocks_of(config, width))
    )
    digit = Signal(name=f"digit_{place}")
    restored = Signal(width - 2, name=f"restored_{place}")
    m.d.comb += [
        difference.a.eq(remainder[place:]),
        difference.b.eq(~Cat(subtrahend[place:], C(0, 1))),
        difference.carry.eq(1),
        digit.eq(~difference.o[-1]),
        # The new remainder is less than the subtrahend, so it needs one bit less.
        restored.eq(Mux(digit, difference.o, remainder[place:])),
    ]
    return Cat(remainder[:place], restored), digit


def blocks_of(config: DigitRecurrenceConfig, width: int) -> tuple[int, ...]:
    """Return the first bits of a subtractor's blocks; later blocks are longer."""
    low = FIRST_BLOCK[config.digits]
    size = low + 1
    edges = []
    while low < width - 4:
        edges.append(low)
        size += 1
        low += size
    return tuple(edges)
