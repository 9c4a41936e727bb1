"""Patch: all nets of a cell or signal are made by one call.

Reason: Amaranth calls a function in Python for each net, and stores the signal of each in two
tables: 5 % of an emission's time.
Upstream: not reported.
Removal: when `amaranth.hdl._nir.Netlist` makes nets by the range.
"""

from contextlib import AbstractContextManager
from itertools import count, repeat
from typing import Any

from amaranth.hdl import _ir, _nir

from .replacement import Replacement, replaced

__all__ = ["quick_nets"]

#: Without types: the stubs have no private attributes.
nir: Any = _nir
emitter: Any = _ir.NetlistEmitter
new_value: Any = tuple.__new__
item: Any = tuple.__getitem__
ZERO, ONE = (nir.Net.from_const(bit) for bit in (0, 1))


def nets_of(first: int, width: int):
    """Return a value of consecutive nets."""
    return new_value(nir.Value, map(nir.Net, range(first, first + width)))


def item_of(self, index):
    """Return a net of a value, or a value of a slice."""
    part = item(self, index)
    return new_value(nir.Value, part) if type(index) is slice else part


def from_const(kind, value, width: int):
    """Return the nets of a constant, from bit 0 on."""
    if not value:
        return new_value(kind, (ZERO,) * width)
    return new_value(kind, [ONE if value >> bit & 1 else ZERO for bit in range(width)])


def add_value_cell(self, width: int, cell):
    """Add a cell; return the nets that it drives."""
    return nets_of(self.add_cell(cell) << 16, width)


def alloc_late_value(self, signal):
    """Return new nets for a signal that has no driver yet."""
    width = signal.shape()._width
    self.last_late_net -= width
    value = nets_of(self.last_late_net, width)
    self.late_to_signal.update(zip(value, zip(repeat(signal), count()), strict=False))
    return value


def emit_signal(self, signal):
    """Return the nets of a signal, new ones at its first use."""
    signals = self.netlist.signals
    try:
        return signals[signal]
    except KeyError:
        value = signals[signal] = self.netlist.alloc_late_value(signal)
    bits = zip(value, zip(repeat(signal), count()), strict=False)
    self.late_net_to_signal.update(bits)
    return value


def extend(self, value, signed: bool, width: int):
    """Return a value with at least `width` bits, extended by its sign or by zeros."""
    missing = width - len(value)
    if missing <= 0:
        return value
    return new_value(nir.Value, (*value, *repeat(value[-1] if signed else ZERO, missing)))


REPLACED: tuple[Replacement, ...] = (
    (nir.Value, "__getitem__", item_of),
    (nir.Value, "from_const", classmethod(from_const)),
    (nir.Netlist, "add_value_cell", add_value_cell),
    (nir.Netlist, "alloc_late_value", alloc_late_value),
    (emitter, "emit_signal", emit_signal),
    (emitter, "extend", extend),
)


def quick_nets() -> AbstractContextManager[None]:
    """Make nets quickly; the netlist is the same."""
    return replaced(REPLACED)
