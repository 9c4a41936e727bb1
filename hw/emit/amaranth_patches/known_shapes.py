"""Patch: the shape of an expression and of a layout is computed once.

Reason: Amaranth computes the shape of an operator from the shapes of its operands at each use, and
the size of a structure from all its fields: a tenth of the time of an elaboration.
Upstream: not reported.
Removal: when `Operator.shape` and `Layout.as_shape` of Amaranth remember their results.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from amaranth.hdl import _ast
from amaranth.lib import data

from .replacement import Replacement, replaced

__all__ = ["known_shapes", "remembered"]

ast: Any = _ast  # no stub


def remembered(shape: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a method that computes the shape of each immutable object once."""

    def remembering(self):
        try:
            return self._known_shape
        except AttributeError:
            self._known_shape = known = shape(self)
            return known

    return remembering


def width_of(value) -> int:
    """Return the number of bits of a value."""
    return value.shape()._width


REPLACED: tuple[Replacement, ...] = (
    *(
        (kind, "shape", remembered(kind.shape))
        for kind in (ast.Signal, ast.Operator, ast.Slice, ast.Concat, ast.SwitchValue)
    ),
    (ast.Value, "__len__", width_of),
    (data.Layout, "as_shape", remembered(data.Layout.as_shape)),
)


def known_shapes() -> AbstractContextManager[None]:
    """Remember shapes; all values are the same."""
    return replaced(REPLACED)
