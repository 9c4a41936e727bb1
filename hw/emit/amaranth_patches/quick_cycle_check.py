"""Patch: the search of combinational cycles visits each dependency once.

Reason: Amaranth visits every operand for each bit of a sum or a comparison, with several function
calls each: an eighth of the time of an emission.
Upstream: https://github.com/amaranth-lang/amaranth/pull/1180 introduced the search.
Removal: when `amaranth.hdl._nir.Netlist.check_comb_cycles` is no longer quadratic in the width.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.hdl import _nir

from ..dependencies import Dependencies

__all__ = ["quick_cycle_check"]


@contextmanager
def quick_cycle_check() -> Iterator[None]:
    """Search cycles quickly; Amaranth's own search then reports the first one."""
    netlist: Any = _nir.Netlist
    exact = netlist.check_comb_cycles

    def check_comb_cycles(self):
        if Dependencies(self).has_cycle():
            exact(self)

    netlist.check_comb_cycles = check_comb_cycles
    try:
        yield
    finally:
        netlist.check_comb_cycles = exact
