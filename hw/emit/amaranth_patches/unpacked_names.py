"""Patch: signals that are assigned together have the names that the source gives them.

Reason: in ``first, second = Signal(), Signal()`` Amaranth calls both signals ``$signal``, and the
emitted Verilog reads names that the source does not have.
Upstream: not reported.
Removal: when `amaranth.tracer.get_var_name` finds the names of a tuple.
"""

import ast
import functools
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import CodeType
from typing import Any

from amaranth import tracer as _tracer  # pyright: ignore[reportAttributeAccessIssue]  # no stub

__all__ = ["unpacked_names"]

tracer: Any = _tracer


@functools.cache
def unpacked_name(code: CodeType, place: int) -> str | None:
    """Return the target of a call in a tuple of calls that is assigned in one line.

    Parameters
    ----------
    code : code
        Function that makes the call.
    place : int
        Offset of the call's instruction.

    """
    line, end_line, column, _ = next(islice(code.co_positions(), place // 2, None))
    if line is None or column is None or line != end_line:
        return None
    text = linecache.getline(code.co_filename, line)
    indent = len(text) - len(text.lstrip())
    try:
        (statement,) = ast.parse(text.strip()).body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Tuple):
        return None
    (target,) = statement.targets
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(statement.value.elts):
        return None
    for name, value in zip(target.elts, statement.value.elts, strict=True):
        if value.col_offset == column - indent:
            return getattr(name, "id", getattr(name, "attr", None))
    return None


@contextmanager
def unpacked_names() -> Iterator[None]:
    """Name signals that are assigned together; all others as Amaranth does."""
    exact = tracer.get_var_name
    nothing = object()

    def get_var_name(depth=2, default=tracer._raise_exception):
        name = exact(depth + 1, nothing)
        if name is nothing:
            frame = sys._getframe(depth)
            name = unpacked_name(frame.f_code, frame.f_lasti)
        if name is not None:
            return name
        return exact(depth + 1, default)

    tracer.get_var_name = get_var_name
    try:
        yield
    finally:
        tracer.get_var_name = exact
