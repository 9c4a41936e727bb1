"""Constant values of operators with constant operands."""

from collections.abc import Sequence

__all__ = ["folded", "number"]


def number(bits: Sequence[int]) -> int:
    """Return the unsigned number of constant bits."""
    return sum(bit << place for place, bit in enumerate(bits))


def folded(operator: str, inputs: Sequence[list[int]]) -> list[int] | None:
    """Return the nets that an operator's result is equal to; None if it has to be computed.

    Parameters
    ----------
    operator : str
        As in Amaranth's netlist.
    inputs : sequence of list of int
        Operands by nets; 0 and 1 are constants.

    """
    constant = [all(net in (0, 1) for net in value) for value in inputs]
    if operator == "m":
        if constant[0]:
            return inputs[1] if inputs[0] == [1] else inputs[2]
        return inputs[1] if inputs[1] == inputs[2] else None
    if operator in ("&", "|", "^"):
        left, right = inputs
        for one, other in ((left, right), (right, left)):
            if all(net == 0 for net in one):
                return [0] * len(other) if operator == "&" else other
            if all(net == 1 for net in one) and operator != "^":
                return other if operator == "&" else one
        return left if left == right and operator != "^" else None
    if operator in ("+", "-") and len(inputs) == 2 and not any(inputs[1]):
        return inputs[0]
    if operator == "+" and not any(inputs[0]):
        return inputs[1]
    if operator in ("<<", "u>>", "s>>") and not inputs[1]:  # by a signal without bits
        return inputs[0]
    if operator in ("<<", "u>>") and constant[1] and number(inputs[1]) >= len(inputs[0]):
        return [0] * len(inputs[0])
    if operator in ("r|", "r&", "b") and len(inputs[0]) == 1:
        return inputs[0]
    if operator in ("==", "!=") and len(inputs[0]) == 1 and any(constant):
        # One bit that is compared with 1, or differs from 0, is its own result.
        bit, other = inputs if constant[1] else reversed(inputs)
        if not all(constant) and other == [int(operator == "==")]:
            return bit
    if not all(constant):
        return None
    values = [number(value) for value in inputs]
    if operator in ("r|", "b"):
        return [int(values[0] != 0)]
    if operator == "r&":
        return [int(all(inputs[0]))]
    if operator == "r^":
        return [values[0].bit_count() & 1]
    if operator == "~":
        return [1 - bit for bit in inputs[0]]
    if operator in ("==", "!="):
        return [int((values[0] == values[1]) == (operator == "=="))]
    orders = {"u<": "__lt__", "u>": "__gt__", "u<=": "__le__", "u>=": "__ge__"}
    if operator in orders:
        return [int(getattr(values[0], orders[operator])(values[1]))]
    if operator in ("+", "-", "*") and len(inputs) == 2:
        total = {"+": values[0] + values[1], "-": values[0] - values[1]}.get(
            operator, values[0] * values[1]
        )
        return [total >> place & 1 for place in range(len(inputs[0]))]
    return None
