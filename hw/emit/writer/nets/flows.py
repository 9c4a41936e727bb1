"""Nets that enter and leave each module of a conversion."""

from collections.abc import Iterable, Sequence
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .nodes import Node
from .prepared import PreparedNetlist, inputs_of

__all__ = ["Flows", "net_flows"]

nir: Any = _nir  # no stub


class Flows:
    """Nets of each module that are driven outside and used inside, and the other way round.

    Attributes
    ----------
    inputs, outputs : list of set of int
        By the index of the module. The top has the nets of its ports only if it needs them.
    used : list of set of int
        Nets that the cells of each module need.

    """

    def __init__(self, modules: int):
        self.used: list[set[int]] = [set() for _ in range(modules)]
        self.inputs: list[set[int]] = [set() for _ in range(modules)]
        self.outputs: list[set[int]] = [set() for _ in range(modules)]


def used_values(node: Node) -> Iterable[Sequence[int]]:
    """Return the values that a node needs."""
    if node.kind in (nir.Top, nir.Instance):
        return node.inputs
    if node.first == node.end:
        return ()
    return inputs_of(node, node.first, node.end)


def net_flows(prepared: PreparedNetlist) -> Flows:
    """Return the nets that cross borders of modules."""
    modules, nodes = prepared.netlist.modules, prepared.nodes
    parents = [module.parent for module in modules]
    depths = [len(module.name) for module in modules]
    flows = Flows(len(modules))
    used = flows.used
    for node in nodes:
        used[node.module].update(*used_values(node))
    if len(modules) == 1:
        return flows
    for user, nets in enumerate(used):
        for net in nets:
            if net > 1 and nodes[net >> 16].module != user:
                route(net, nodes[net >> 16].module, user, flows, parents, depths)
    return flows


def route(net: int, driver: int, user: int, flows: Flows, parents: list, depths: list[int]) -> None:
    """Lead a net from the module that drives it to one that uses it."""
    while driver != user:
        if depths[driver] > depths[user]:
            flows.outputs[driver].add(net)
            driver = parents[driver]
        else:
            if net in flows.inputs[user]:
                return
            flows.inputs[user].add(net)
            user = parents[user]
