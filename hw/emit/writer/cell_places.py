"""Places of a netlist's cells in the text that is written of it."""

from dataclasses import dataclass, field
from typing import Any

from .variables.variables import Homes

__all__ = ["CellPlace", "CellPlaces", "ModulePlaces"]


@dataclass(frozen=True)
class CellPlace:
    """Bit of a variable, with the names of the instances around it from the top on.

    `bit` is its number in the declared range.
    """

    path: tuple[str, ...]
    name: str
    bit: int = 0

    @property
    def full_name(self) -> str:
        """Name with the instances around it, as after flattening."""
        return ".".join((*self.path, self.name))


@dataclass
class ModulePlaces:
    """Names in one written module.

    Parameters
    ----------
    homes : Homes
        Variables of nets, and memories.
    modules : dict of int to str
        Instances of other modules of the netlist by the module's index.
    instances : dict of int to str
        Instances of modules outside the netlist by the index of their cell.

    """

    homes: Homes
    modules: dict[int, str] = field(default_factory=dict)
    instances: dict[int, str] = field(default_factory=dict)


class CellPlaces:
    """Places of registers, memories, instances and other cells of a conversion.

    A nested module that is equal to another is written once; its cells are found below each of its
    instances.

    Parameters
    ----------
    netlist : Netlist

    """

    def __init__(self, netlist: Any):
        self.netlist = netlist
        self.modules: dict[int, ModulePlaces] = {}

    def path(self, module: int) -> tuple[str, ...] | None:
        """Return the instances around a module from the top on; None if it is not written."""
        names: list[str] = []
        while (parent := self.netlist.modules[module].parent) is not None:
            around = self.modules.get(parent)
            if around is None or module not in around.modules:
                return None
            names.append(around.modules[module])
            module = parent
        return tuple(reversed(names))

    def net(self, net: int) -> CellPlace | None:
        """Return the place of a bit of a cell; None if it has no variable."""
        return self.bit(self.netlist.cells[net >> 16].module_idx, net)

    def bit(self, module: int, net: int) -> CellPlace | None:
        """Return the place of a net in a module; None if it has no variable there."""
        path, places = self.path(module), self.modules.get(module)
        if path is None or places is None or net not in places.homes.where:
            return None
        variable, bit = places.homes.where[net]
        return CellPlace(path, variable.name, bit)

    def memory(self, cell: int) -> CellPlace | None:
        """Return the place of a memory; None if it is dead."""
        module = self.netlist.cells[cell].module_idx
        path, places = self.path(module), self.modules.get(module)
        if path is None or places is None or cell not in places.homes.memories:
            return None
        return CellPlace(path, places.homes.memories[cell].name)

    def instance(self, cell: int) -> CellPlace | None:
        """Return the place of an instance of a module outside the netlist."""
        module = self.netlist.cells[cell].module_idx
        path, places = self.path(module), self.modules.get(module)
        if path is None or places is None or cell not in places.instances:
            return None
        return CellPlace(path, places.instances[cell])
