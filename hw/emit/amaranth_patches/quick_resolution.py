"""Patch: values of a netlist are resolved without a function call for each net.

Reason: Amaranth calls two functions for each of about a million nets: 5 % of an emission's time.
Upstream: not reported.
Removal: when `amaranth.hdl._nir.Netlist.resolve_value` returns resolved values unchanged.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.hdl import _nir

__all__ = ["quick_resolution"]


@contextmanager
def quick_resolution() -> Iterator[None]:
    """Resolve values quickly; the nets are the same."""
    netlist: Any = _nir.Netlist
    make: Any = _nir.Value
    exact = netlist.resolve_value

    def resolve_value(self, value):
        if not value or min(value) >= 0:
            return value
        connections, nets = self.connections, []
        for net in value:
            while net < 0:
                net = connections[net]
            nets.append(net)
        return make(nets)

    netlist.resolve_value = resolve_value
    try:
        yield
    finally:
        netlist.resolve_value = exact
