"""Values that the text of cells and statements reads."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .choices import Choice, Transfer, live_assignments
from .nodes import Node
from .prepared import inputs_of

__all__ = ["values_in", "values_of"]

nir: Any = _nir  # no stub


def values_of(node: Node) -> Iterable[Sequence[int]]:
    """Return the live operands of a cell, as they are written."""
    first, end = node.first, node.end
    if node.kind is nir.AssignmentList:
        return [node.inputs[0][first:end], *(one.value for one in live_assignments(node))]
    if node.kind in (nir.Operator, nir.FlipFlop):
        return inputs_of(node, first, end)
    return node.inputs


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
