"""Patch: the netlist of a conversion is kept for analysis.

Reason: the netlist has the combinational paths between the ports of a module bit by bit, and
`rtlil.convert_fragment` drops it. To build it twice would double the time of a conversion.
Upstream: none; the netlist is private.
Removal: when Amaranth returns the netlist of a conversion.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.hdl import _ir

__all__ = ["kept_netlist"]


@contextmanager
def kept_netlist() -> Iterator[list[Any]]:
    """Yield a list that receives the netlist of each conversion inside the context."""
    module: Any = _ir
    build, netlists = module.build_netlist, []

    def build_netlist(*arguments, **options):
        netlists.append(build(*arguments, **options))
        return netlists[-1]

    module.build_netlist = build_netlist
    try:
        yield netlists
    finally:
        module.build_netlist = build
