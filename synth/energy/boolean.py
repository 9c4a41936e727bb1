"""Boolean expressions of Liberty files: parsing, and evaluation on integers as vectors of bits."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["And", "Constant", "Expression", "Name", "Not", "Xor", "evaluate", "names_in", "parse"]

TOKEN = re.compile(r"\s*([A-Za-z_][\w\[\].]*|[01()!'*&+|^])")


@dataclass(frozen=True)
class Name:
    """Value of a pin or of a flip-flop's state."""

    name: str


@dataclass(frozen=True)
class Constant:
    """Constant 0 or 1."""

    value: bool


@dataclass(frozen=True)
class Not:
    """Inversion."""

    operand: "Expression"


@dataclass(frozen=True)
class And:
    """Conjunction; a disjunction is the inversion of one."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Xor:
    """Exclusive or."""

    left: "Expression"
    right: "Expression"


Expression = Name | Constant | Not | And | Xor


def parse(text: str) -> Expression:
    """Return the expression of a text; raise `ValueError` if it is none.

    Inversion binds most, then exclusive or, conjunction and disjunction, as the Liberty format
    defines. Two operands without an operator between them are a conjunction.
    """
    tokens, end = [], 0
    while match := TOKEN.match(text, end):
        tokens.append(match[1])
        end = match.end()
    parser = Parser(tokens)
    expression = parser.disjunction() if tokens else None
    if expression is None or parser.tokens or text[end:].strip():
        raise ValueError(f"a function must be a Boolean expression, not {text!r}")
    return expression


class Parser:
    """Recursive-descent parser of tokens; each method consumes one level of operators."""

    def __init__(self, tokens: list[str]):
        self.tokens = tokens[::-1]

    def take(self, *expected: str) -> bool:
        """Consume the next token if it is one of `expected`."""
        if self.tokens and self.tokens[-1] in expected:
            self.tokens.pop()
            return True
        return False

    def disjunction(self) -> Expression | None:
        left = self.conjunction()
        while left is not None and self.take("+", "|"):
            right = self.conjunction()
            left = None if right is None else Not(And(Not(left), Not(right)))
        return left

    def conjunction(self) -> Expression | None:
        left = self.exclusive()
        while left is not None and self.tokens and self.tokens[-1] not in ("+", "|", ")"):
            self.take("*", "&")
            right = self.exclusive()
            left = None if right is None else And(left, right)
        return left

    def exclusive(self) -> Expression | None:
        left = self.operand()
        while left is not None and self.take("^"):
            right = self.operand()
            left = None if right is None else Xor(left, right)
        return left

    def operand(self) -> Expression | None:
        if self.take("!"):
            operand = self.operand()
            return None if operand is None else Not(operand)
        if not self.tokens:
            return None
        token = self.tokens.pop()
        if token == "(":
            operand = self.disjunction()
            if not self.take(")"):
                return None
        elif token in "01":
            operand = Constant(token == "1")
        elif token[0].isalpha() or token[0] == "_":
            operand = Name(token)
        else:
            return None
        while operand is not None and self.take("'"):
            operand = Not(operand)
        return operand


def names_in(expression: Expression) -> Iterator[str]:
    """Yield the names in an expression, in order, with repetitions."""
    match expression:
        case Name(name):
            yield name
        case Not(operand):
            yield from names_in(operand)
        case And(left, right) | Xor(left, right):
            yield from names_in(left)
            yield from names_in(right)


def evaluate(expression: Expression, values: Mapping[str, int], ones: int = 1) -> int:
    """Return the value of an expression, bit by bit; `ones` has every bit in use set."""
    match expression:
        case Name(name):
            return values[name]
        case Constant(value):
            return ones if value else 0
        case Not(operand):
            return ones ^ evaluate(operand, values, ones)
        case And(left, right):
            return evaluate(left, values, ones) & evaluate(right, values, ones)
        case Xor(left, right):
            return evaluate(left, values, ones) ^ evaluate(right, values, ones)
