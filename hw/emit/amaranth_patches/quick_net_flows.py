"""Patch: only nets that cross the border of a module are routed through the hierarchy.

Reason: Amaranth enters each net of a netlist in a table of its module, and asks for each use of a
net whether the table has it. Nearly all are used only where they are driven: 5 % of an emission's
time, more in a module with few ports.
Upstream: not reported.
Removal: when `amaranth.hdl._ir._compute_net_flows` finds the nets that cross a border by sets.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from amaranth.hdl import _ir, _nir

from .replacement import Replacement, replaced

__all__ = ["quick_net_flows"]

#: Without types: the stubs have no private attributes.
ir: Any = _ir
nir: Any = _nir


def crossing_nets(netlist) -> Iterator[tuple[int, Any]]:
    """Yield each module with a net that is used in it and driven in another one."""
    drivers = [cell.module_idx for cell in netlist.cells]
    used: list[set[Any]] = [set() for _ in netlist.modules]
    for cell in netlist.cells:
        used[cell.module_idx] |= cell.input_nets()
    for index, module in enumerate(netlist.modules):
        used[index].update(*(netlist.signals[signal] for signal in module.signal_names))
        used[index] -= {0, 1}
        for net in used[index]:
            if drivers[net >> 16] != index:
                yield index, net


def compute_net_flows(netlist) -> None:
    """Enter the nets that cross a border in the tables of the modules on their way."""
    modules, flow = netlist.modules, nir.ModuleNetFlow
    if len(modules) == 1:
        return
    #: Innermost module around the driver and all uses so far, by net.
    roots: dict[Any, int] = {}
    for user, net in crossing_nets(netlist):
        root = roots.get(net)
        if root is None:
            root = netlist.cells[net >> 16].module_idx
        elif net in modules[user].net_flow:
            continue
        while root != user:
            if len(modules[root].name) >= len(modules[user].name):
                modules[root].net_flow[net] = flow.Output
                root = modules[root].parent
            else:
                modules[user].net_flow.setdefault(net, flow.Input)
                user = modules[user].parent
        modules[root].net_flow[net] = flow.Internal
        roots[net] = root


REPLACED: tuple[Replacement, ...] = ((ir, "_compute_net_flows", compute_net_flows),)


def quick_net_flows() -> AbstractContextManager[None]:
    """Route nets quickly; the modules have the same ports."""
    return replaced(REPLACED)
