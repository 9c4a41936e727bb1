"""Flat netlists of Yosys: the written text of a conversion, or its reference."""

from collections.abc import Iterator
from typing import Any

from .reference import LABEL

__all__ = ["FUNCTIONS", "REGISTERS", "Bit", "Side", "number"]

#: Bit of a netlist: its number, or a constant ``0``, ``1``, ``x`` or ``z``.
Bit = int | str
REGISTERS = ("$dff", "$adff")
#: Cells without state, whose outputs are functions of their inputs.
FUNCTIONS = frozenset({
    *("$not", "$pos", "$neg", "$buf", "$and", "$or", "$xor", "$xnor"),
    *("$reduce_and", "$reduce_or", "$reduce_xor", "$reduce_xnor", "$reduce_bool"),
    *("$logic_not", "$logic_and", "$logic_or", "$shl", "$shr", "$sshl", "$sshr"),
    *("$shift", "$shiftx", "$lt", "$le", "$eq", "$ne", "$ge", "$gt", "$add", "$sub", "$mul"),
    *("$div", "$mod", "$divfloor", "$modfloor", "$mux", "$pmux"),
})


def number(cell: dict, parameter: str) -> int:
    """Return a parameter of a cell as a number."""
    value = cell["parameters"][parameter]
    return value if isinstance(value, int) else int(value.replace("x", "0") or "0", 2)


class Side:
    """Flat module of Yosys' JSON.

    Parameters
    ----------
    module : dict

    Attributes
    ----------
    cells : dict of str to dict
    drivers : dict of int to (str, str, int)
        Cell, port and bit of the port that drive each bit.

    """

    def __init__(self, module: dict[str, Any]):
        self.ports: dict[str, Any] = module["ports"]
        self.cells: dict[str, Any] = module["cells"]
        self.variables: dict[str, Any] = module["netnames"]
        self.memories: dict[str, Any] = module.get("memories", {})
        self.drivers: dict[int, tuple[str, str, int]] = {}
        for name, cell in self.cells.items():
            for port, bits in self.outputs(cell):
                for place, bit in enumerate(bits):
                    self.drivers[bit] = name, port, place
        self.numbered = {
            int(name.rpartition(LABEL)[2]): name for name in self.cells if LABEL in name
        }
        self.memory_names = {
            int(name.rpartition(LABEL)[2]): name for name in self.memories if LABEL in name
        }
        self.initial: dict[Bit, str] = {}
        for variable in self.variables.values():
            values = variable["attributes"].get("init", "")
            for bit, value in zip(variable["bits"], reversed(values), strict=False):
                if value in "01":
                    self.initial[bit] = value

    @staticmethod
    def outputs(cell: dict[str, Any]) -> Iterator[tuple[str, list[int]]]:
        """Yield the outputs of a cell with their bits; a module outside the text has none."""
        for port, direction in cell.get("port_directions", {}).items():
            if direction == "output":
                yield port, cell["connections"][port]

    def labelled(self, index: int) -> dict[str, Any] | None:
        """Return the cell of the reference with an index in the netlist; None if it is unused."""
        return self.cells.get(self.numbered.get(index, ""))

    def bit(self, name: str, place: int) -> Bit | None:
        """Return a bit of a variable by its number; None if there is none."""
        variable = self.variables.get(name)
        if variable is None:
            return None
        place -= variable.get("offset", 0)
        return variable["bits"][place] if 0 <= place < len(variable["bits"]) else None

    def of_memory(self, name: str, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the cells of a memory whose type begins with a text, in the order of ports."""
        return [
            (key, cell)
            for key, cell in self.cells.items()
            if cell["type"].startswith(kind) and cell["parameters"]["MEMID"] == f"\\{name}"
        ]
