"""Values that the text of cells and statements reads."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .choices import Choice, Transfer, live_assignments
from .nodes import Node

__all__ = ["values_in", "values_of"]

nir: Any = _nir  # no stub


def values_of(node: Node) -> Iterable[Sequence[int]]:
    """Return the live operands of a cell, as they are written."""
    kind, inputs, first, end = node.kind, node.inputs, node.first, node.end
    if kind is nir.Operator:
        operator = node.cell.operator
        if operator == "m":
            return [inputs[0], inputs[1][first:end], inputs[2][first:end]]
        if operator in ("~", "&", "|", "^"):
            return [value[first:end] for value in inputs]
        if operator in ("+", "-", "*"):
            return [value[:end] for value in inputs]
        if operator == "<<":
            return [inputs[0][:end], inputs[1]]
        return inputs
    if kind is nir.AssignmentList:
        return [inputs[0][first:end], *(one.value for one in live_assignments(node))]
    if kind is nir.FlipFlop:
        return [inputs[0][first:end], *inputs[1:]]
    return inputs


def values_in(body: Sequence[Transfer | Choice]) -> Iterator[Sequence[int]]:
    """Yield the tests and the assigned values of statements."""
    for statement in body:
        if isinstance(statement, Transfer):
            yield statement.value
        else:
            yield from tests_of(statement)
            for case in statement.cases:
                yield from values_in(case.body)


def tests_of(choice: Choice) -> Iterator[Sequence[int]]:
    """Yield the values that a choice tests: bits one after the other, or all of them."""
    if choice.is_chain:
        for case in choice.cases:
            if case.patterns is not None:
                yield from ([net] for net, _ in choice.bits(case))
    else:
        yield choice.test
