"""Deepest paths of a design, by the names of the signals along them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from ..blocks import TOP
from ..design import Design
from ..synthesis import netlist_of
from .block_timing import timings_of
from .netlist_depth import Arrivals, Graph, PortBit, Timing, arrivals_of, graph_of

__all__ = ["DeepPath", "deepest_paths"]

#: Names created by Yosys.
MADE = re.compile(r"\$|\[\d+\]$")


@dataclass(frozen=True, kw_only=True)
class DeepPath:
    """A path from a register or memory to another.

    Parameters
    ----------
    block : str
        Smallest block that contains the whole path.
    depth : int
        Gates.
    signals : tuple of (str, int)
        Names along the path, each with the gates up to it; names in a child block follow its
        instance's name. The last is the end of the path.

    """

    block: str
    depth: int
    signals: tuple[tuple[str, int], ...]


def deepest_paths(design: Design, count: int) -> list[DeepPath]:
    """Return the deepest path of each block, limited to the `count` deepest.

    A path counts in the smallest block that contains all of it. Paths from and to ports of the
    design are left out.
    """
    paths = Paths(design)
    deepest = [path for name in design.order if (path := paths.deepest(name)) is not None]
    return sorted(deepest, key=lambda path: -path.depth)[:count]


@dataclass(kw_only=True)
class Inside:
    """A block's logic, arrival times and names of its bits."""

    graph: Graph
    arrivals: Arrivals
    names: dict[int, str]
    blocks: Mapping[str, str]


class Paths:
    """Search backwards along the deepest paths of a design, into the blocks they cross."""

    def __init__(self, design: Design):
        self.design = design
        self.timings: dict[str, Timing] = timings_of(design)
        self.known: dict[str, Inside] = {}

    def inside(self, name: str) -> Inside:
        """Return the logic of a block."""
        if name not in self.known:
            block = self.design.blocks[name]
            module = json.loads(netlist_of(block)["gates.json"])["modules"][TOP]
            children = {cell: self.timings[child] for cell, child in block.names.items()}
            graph = graph_of(module, children)
            self.known[name] = Inside(
                graph=graph,
                arrivals=arrivals_of(graph),
                names=names_of(module),
                blocks=block.names,
            )
        return self.known[name]

    def deepest(self, name: str) -> DeepPath | None:
        """Return the deepest path between registers of a block that is not inside one child."""
        inside = self.inside(name)
        register = inside.arrivals.register
        ends = [
            (register[bit] + cells, place)
            for place, (bit, cells, _) in enumerate(inside.graph.ends)
            if bit in register
        ]
        if not ends:
            return None
        depth, place = max(ends)
        bit, cells, crossing = inside.graph.ends[place]
        steps = list(self.back(name, bit, None))
        if crossing is not None:
            child = inside.blocks[crossing.block]
            rest = self.onward(child, crossing.port_bit)
            steps += [(f"{crossing.instance}.{n}", depth - cells + gates) for n, gates in rest]
        # A signal with several gates is listed once, with its last gate.
        ends = (list(group)[-1] for _, group in groupby(steps[1:], key=lambda step: step[0]))
        signals = (*steps[:1], *(step for step in ends if step[0] != steps[0][0]))
        return DeepPath(block=name, depth=depth, signals=signals)

    def back(self, name: str, bit: int, origin: PortBit | None) -> Iterator[tuple[str, int]]:
        """Yield the steps to a bit from the farthest register, or from input `origin`."""
        inside = self.inside(name)
        graph = inside.graph
        trail: list[tuple[int, int]] = []  # bits from the end backwards, with the gates up to each
        while True:
            gates = inside.arrivals.of(bit, origin)
            assert gates is not None
            trail.append((bit, gates))
            source = self.before(inside, bit, gates, origin)
            if source is None:
                break
            bit = source
        first, gates = trail[-1]
        if origin is None and first in graph.leaving:
            leaving = graph.leaving[first]
            child = inside.blocks[leaving.block]
            output = self.inside(child).graph.outputs[leaving.port_bit]
            for step, so_far in self.back(child, output, None):
                yield f"{leaving.instance}.{step}", so_far
        for (bit, gates), (before, so_far) in zip(
            reversed(trail), [(None, 0), *reversed(trail)], strict=False
        ):
            if before is not None and bit in graph.leaving:
                yield from self.across(inside, graph.leaving[bit], before, so_far)
            if bit in inside.names:
                yield inside.names[bit], gates

    def before(self, inside: Inside, bit: int, gates: int, origin: PortBit | None) -> int | None:
        """Return the bit before this one on the path; None at its start."""
        graph = inside.graph
        if origin is None and graph.starts.get(bit) == gates:
            return None
        if origin is not None and graph.inputs.get(bit) == origin:
            return None
        return next(
            source
            for source, cells in graph.edges[bit]
            if inside.arrivals.of(source, origin) == gates - cells
        )

    def across(self, inside: Inside, leaving, entered: int, so_far: int):
        """Yield the steps through a child block, from the bit that enters it to its output."""
        child = inside.blocks[leaving.block]
        timing = self.timings[child]
        output = self.inside(child).graph.outputs[leaving.port_bit]
        inputs = inside.graph.entering[leaving.instance]
        through = timing.through[leaving.port_bit]
        port_bit = max((p for p in through if inputs.get(p) == entered), key=through.__getitem__)
        for step, gates in self.back(child, output, port_bit):
            yield f"{leaving.instance}.{step}", so_far + gates

    def onward(self, name: str, port_bit: PortBit) -> Iterator[tuple[str, int]]:
        """Yield the steps from an input of a block to the farthest register."""
        inside = self.inside(name)
        inputs = inside.arrivals.inputs
        bit, _, crossing = max(
            (end for end in inside.graph.ends if port_bit in inputs.get(end[0], {})),
            key=lambda end: inputs[end[0]][port_bit] + end[1],
        )
        yield from self.back(name, bit, port_bit)
        if crossing is not None:
            so_far = inputs[bit][port_bit]
            for step, gates in self.onward(inside.blocks[crossing.block], crossing.port_bit):
                yield f"{crossing.instance}.{step}", so_far + gates


def names_of(module: dict) -> dict[int, str]:
    """Return the source names of bits: the shortest name, a port's name only as a last resort."""
    named = (name for name in module["netnames"] if not MADE.search(name))
    names: dict[int, str] = {}
    for name in sorted(named, key=lambda name: (name in module["ports"], len(name), name)):
        for bit in module["netnames"][name]["bits"]:
            if isinstance(bit, int):
                names.setdefault(bit, name)
    return names
