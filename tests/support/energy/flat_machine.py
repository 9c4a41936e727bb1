"""Flat netlist of a whole machine: the mapped netlists of all blocks, joined at their ports."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from spica.synth.design import Design
from spica.synth.energy.mapped_netlist import ONE, ZERO, Instance, MappedNetlist, Opaque

__all__ = ["FlatMachine", "flat_machine"]

Ports = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class FlatMachine:
    """Machine without borders between its blocks.

    Parameters
    ----------
    netlist : MappedNetlist
        All cells and memories, named by their paths, with the ports of the top.
    origins : tuple of (str, Instance)
        For each flip-flop, the path of its block and the instance in this block's own netlist.
    memory_origins : tuple of (str, Opaque)
        The same for each memory.

    """

    netlist: MappedNetlist
    origins: tuple[tuple[str, Instance], ...]
    memory_origins: tuple[tuple[str, Opaque], ...]


def flat_machine(design: Design, netlists: Mapping[str, MappedNetlist], top: str) -> FlatMachine:
    """Return the flat netlist of a design; raise `ValueError` unless each net has one driver.

    Parameters
    ----------
    design : Design
        Blocks of the machine.
    netlists : mapping of str to MappedNetlist
        Netlist of each block.
    top : str
        Path of the top instance.

    """
    linker = Linker(netlists)
    ports = linker.place(top, design.top)
    numbers = linker.numbers()
    gates, flip_flops, memories = (
        [renumbered(cell, numbers) for _, cell, _ in cells]
        for cells in (linker.gates, linker.flip_flops, linker.memories)
    )
    inputs, outputs = (
        {name: tuple(numbers[net] for net in ports[name]) for name in side}
        for side in (netlists[design.top].inputs, netlists[design.top].outputs)
    )
    netlist = MappedNetlist(
        name=design.top,
        nets=max(numbers) + 1,
        inputs=inputs,
        outputs=outputs,
        names={},
        gates=tuple(gates),
        flip_flops=tuple(flip_flops),
        clocks=frozenset(register.clock for register in flip_flops),
        opaque=tuple(memories),
    )
    require_drivers(netlist)
    return FlatMachine(
        netlist=netlist,
        origins=tuple((path, own) for path, _, own in linker.flip_flops),
        memory_origins=tuple((path, own) for path, _, own in linker.memories),
    )


class Linker:
    """Placed instances, and nets that are joined: a forest, in which a constant is a root."""

    def __init__(self, netlists: Mapping[str, MappedNetlist]):
        self.netlists = netlists
        self.above = [ZERO, ONE]
        self.gates: list[tuple[str, Instance, Instance]] = []
        self.flip_flops: list[tuple[str, Instance, Instance]] = []
        self.memories: list[tuple[str, Opaque, Opaque]] = []

    def place(self, path: str, block: str) -> dict[str, tuple[int, ...]]:
        """Place an instance of a block with all below it; return the nets of its ports."""
        netlist = self.netlists[block]
        first = len(self.above)
        self.above += range(first, first + netlist.nets - 2)
        numbers = [ZERO, ONE, *range(first, first + netlist.nets - 2)]
        for placed_cells, own in (
            (self.gates, netlist.gates),
            (self.flip_flops, netlist.flip_flops),
        ):
            for cell in own:
                placed = renumbered(replace(cell, name=f"{path}.{cell.name}"), numbers)
                placed_cells.append((path, placed, cell))
        for part in netlist.opaque:
            placed = renumbered(replace(part, name=f"{path}.{part.name}"), numbers)
            if part.block is None:
                self.memories.append((path, placed, part))
            else:
                ports = self.place(placed.name, part.block)
                for name, nets in (*placed.inputs.items(), *placed.outputs.items()):
                    self.join(nets, ports[name])
        both = {**netlist.inputs, **netlist.outputs}
        return {name: tuple(numbers[net] for net in nets) for name, nets in both.items()}

    def join(self, nets: Iterable[int], others: Iterable[int]):
        """Join the nets of a port with those connected to it."""
        for net, other in zip(nets, others, strict=True):
            low, high = sorted((self.root(net), self.root(other)))
            if (low, high) == (ZERO, ONE):
                raise ValueError("a net must not be 0 and 1")
            self.above[high] = low

    def root(self, net: int) -> int:
        """Return the net that stands for all nets joined with one."""
        while self.above[net] != net:
            self.above[net] = net = self.above[self.above[net]]
        return net

    def numbers(self) -> list[int]:
        """Return the number in the flat netlist of each net."""
        numbers_of: dict[int, int] = {}
        return [
            numbers_of.setdefault(self.root(net), len(numbers_of)) for net in range(len(self.above))
        ]


def renumbered(part, numbers: list[int]):
    """Return an instance or a memory with other numbers of its nets."""
    if isinstance(part, Instance):
        return replace(part, nets={pin: numbers[net] for pin, net in part.nets.items()})
    sides = (
        {port: tuple(numbers[net] for net in nets) for port, nets in side.items()}
        for side in (part.inputs, part.outputs)
    )
    return replace(part, **dict(zip(("inputs", "outputs"), sides, strict=True)))


def require_drivers(netlist: MappedNetlist):
    """Raise unless every net in use has one driver."""
    drivers = Counter({ZERO: 1, ONE: 1})
    used = {net for nets in netlist.outputs.values() for net in nets}
    for nets in netlist.inputs.values():
        drivers.update(nets)
    for instance in netlist.cells:
        for pin, net in instance.nets.items():
            if instance.cell.pins[pin].is_output:
                drivers[net] += 1
            else:
                used.add(net)
    for memory in netlist.opaque:
        for nets in memory.outputs.values():
            drivers.update(nets)
        for nets in memory.inputs.values():
            used.update(nets)
    several = [net for net, count in drivers.items() if count > 1]
    missing = used - set(drivers)
    if several or missing:
        raise ValueError(
            f"nets of {netlist.name} must have one driver, unlike {len(several)} with several and "
            f"{len(missing)} without"
        )
