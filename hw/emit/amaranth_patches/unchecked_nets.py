"""Patch: netlist values are built without a type check of every net.

Reason: Amaranth asserts, for each bit of each operand, that it is a net, and for each net that its
numbers are in range. Only an error inside Amaranth could violate that, and the checks cost a fifth
of a conversion.
Upstream: https://github.com/amaranth-lang/amaranth/pull/1102 introduced the netlist and its check.
Removal: when `amaranth.hdl._nir.Value` no longer checks each net in Python.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.hdl import _nir

__all__ = ["unchecked_nets"]


@contextmanager
def unchecked_nets() -> Iterator[None]:
    """Build netlist values without their check. The converted text is the same."""
    value: Any = _nir.Value
    net: Any = _nir.Net
    checked, checked_bit = value.__new__, net.__dict__["from_cell"]

    def unchecked(kind, nets=()):
        return tuple.__new__(kind, (nets,) if isinstance(nets, _nir.Net) else nets)

    def unchecked_bit(kind, cell, bit):
        return int.__new__(kind, cell << 16 | bit)

    value.__new__, net.from_cell = unchecked, classmethod(unchecked_bit)
    try:
        yield
    finally:
        value.__new__, net.from_cell = checked, checked_bit
