"""Patch: the kind of a value is found by its exact class.

Reason: Amaranth asks `isinstance` of one class after the other. Values have abstract base classes,
for which Python calls functions at each question that is not answered by the exact class: 6 % of
an emission's time.
Upstream: not reported.
Removal: when Amaranth distinguishes values by `match` or `type`.
"""

from contextlib import AbstractContextManager
from typing import Any

from amaranth.hdl import _ast, _dsl, _ir

from .replacement import Replacement, replaced

__all__ = ["quick_kinds"]

#: Without types: the stubs have no private attributes.
ast: Any = _ast
dsl: Any = _dsl
design: Any = _ir.Design
emitter: Any = _ir.NetlistEmitter

LEAVES = frozenset((
    ast.Const,
    ast.Signal,
    ast.ClockSignal,
    ast.ResetSignal,
    ast.Initial,
    ast.AnyValue,
))
VALUES = LEAVES | {ast.Operator, ast.Slice, ast.Part, ast.Concat, ast.SwitchValue}

exact_cast = ast.Value.cast
exact_shape_cast = ast.Shape.cast
exact_check = dsl._check_rhs
exact_collect = design._collect_used_signals_value
exact_emit_rhs = emitter.emit_rhs
#: Shapes of numbers of bits.
SHAPES = {width: ast.Shape(width) for width in range(1025)}


def cast(value):
    """Return what is cast to a value."""
    return value if type(value) in VALUES else exact_cast(value)


def shape_cast(shape, *, src_loc_at=0):
    """Return what is cast to a shape; equal widths share one shape."""
    if type(shape) is int and shape in SHAPES:
        return SHAPES[shape]
    return exact_shape_cast(shape, src_loc_at=1 + src_loc_at)


def check_rhs(value) -> None:
    """Raise unless a value can be read by hardware."""
    kind = type(value)
    if kind is ast.Operator:
        for operand in value._operands:
            check_rhs(operand)
    elif kind is ast.Slice:
        check_rhs(value._value)
    elif kind not in LEAVES:
        exact_check(value)


def collect_used_signals_value(self, fragment, value) -> None:
    """Mark all signals of a value as used in a fragment."""
    kind = type(value)
    if kind is ast.Signal:
        self._use_signal(fragment, value)
    elif kind is ast.Operator:
        for operand in value._operands:
            collect_used_signals_value(self, fragment, operand)
    elif kind is ast.Slice:
        collect_used_signals_value(self, fragment, value._value)
    elif kind is not ast.Const:
        exact_collect(self, fragment, value)


def emit_rhs(self, module_idx, value):
    """Return the nets of a value that is read, and whether it is signed."""
    if type(value) is ast.Signal:
        return self.emit_signal(value), value._signed
    known = self.rhs_cache.get(id(value))
    return exact_emit_rhs(self, module_idx, value) if known is None else known[:2]


REPLACED: tuple[Replacement, ...] = (
    (ast.Value, "cast", staticmethod(cast)),
    (ast.Shape, "cast", staticmethod(shape_cast)),
    (dsl, "_check_rhs", check_rhs),
    (design, "_collect_used_signals_value", collect_used_signals_value),
    (emitter, "emit_rhs", emit_rhs),
)


def quick_kinds() -> AbstractContextManager[None]:
    """Distinguish values quickly; the netlist is the same."""
    return replaced(REPLACED)
