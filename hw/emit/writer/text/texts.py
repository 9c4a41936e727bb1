"""Texts of expressions, and of constants."""

from collections.abc import Sequence
from typing import NamedTuple

from ..nets.constants import number

__all__ = [
    "ATOM",
    "BINARY",
    "TERNARY",
    "UNARY",
    "Text",
    "constant",
    "enclosed",
    "inverse",
    "ternary",
]

#: Precedence of operators: a higher one binds stronger.
ATOM, UNARY, TERNARY = 15, 14, 2
BINARY = {
    "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, ">>>": 11,
    "<": 10, ">": 10, "<=": 10, ">=": 10, "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6,
}  # fmt: skip


class Text(NamedTuple):
    """Expression: its text, and the operator at its root, empty for an operand or a unary one."""

    text: str
    precedence: int = ATOM
    operator: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether it is an operand, or the inverse of one."""
        return self.precedence == ATOM or (self.precedence == UNARY and self.text[0] == "~")


def constant(bits: Sequence[int]) -> str:
    """Return a constant of bits, the lowest first."""
    width = len(bits)
    value = number(bits)
    if width == 1:
        return f"1'b{value}"
    if width > 32 and value in (0, (1 << width) - 1):
        return f"{{{width}{{1'b{value & 1}}}}}"
    if value < 10:
        return f"{width}'d{value}"
    for period in (8, 16, 32, 64):
        times, rest = divmod(width, period)
        if times >= 4 and not rest and list(bits) == list(bits[:period]) * times:
            return f"{{{times}{{{constant(bits[:period])}}}}}"
    if width > 64:
        parts = [bits[place : place + 64] for place in range(0, width, 64)]
        return f"{{{', '.join(constant(part) for part in reversed(parts))}}}"
    return f"{width}'h{value:x}"


def enclosed(part: Text) -> str:
    """Return an expression as an operand of a logical operator."""
    return part.text if part.precedence >= UNARY else f"({part.text})"


def ternary(test: Text, high: Text, low: Text) -> Text:
    """Return the conditional expression of a condition and two values."""
    question = test.text if test.is_plain else f"({test.text})"
    left = f"({high.text})" if high.operator == "?" else high.text
    return Text(f"{question} ? {left} : {low.text}", TERNARY, "?")


def inverse(part: Text) -> Text:
    """Return the inverse of an expression; that of an inverse is its operand."""
    if part.precedence == UNARY and part.text[0] == "~":
        is_enclosed = part.text[1] == "(" and part.text.endswith(")")
        return Text(part.text[1:], ATOM if is_enclosed or part.text[1].isalpha() else UNARY)
    return Text(f"~{part.text if part.precedence == ATOM else f'({part.text})'}", UNARY)
