"""Miter of a conversion: both netlists without registers, memories, products and instances.

The outputs of a cell that is cut are the same free inputs on both sides, and its inputs have to be
equal. By induction over the cycles, both sides then have equal outputs in all cycles.
"""

from collections.abc import Sequence
from typing import Any

from .conversions import KINDS, Cell, Subject
from .memories import MemoryCut
from .miter import Miter, View
from .registers import RegisterCuts
from .sides import Bit, Side, number

__all__ = ["miter_of"]


def miter_of(subject: Subject, old: dict[str, Any], new: dict[str, Any]) -> Miter:
    """Return the miter of a subject from the flat modules of the reference and of the text."""
    return Cuts(subject, Side(old), Side(new)).miter


class Cuts:
    """Construction of a miter.

    Parameters
    ----------
    subject : Subject
    old, new : Side
        Reference and text.

    """

    def __init__(self, subject: Subject, old: Side, new: Side):
        self.miter = Miter()
        self.old, self.new = View(old, self.miter), View(new, self.miter)
        cells = {kind: [cell for cell in subject.cells if cell.kind == kind] for kind in KINDS}
        self.cut_ports(cells["outside"])
        words: dict[int, list[Bit]] = {}
        for cell in cells["memory"]:
            words |= MemoryCut(self.old, self.new, cell).words
        registers = RegisterCuts(self.old, self.new, words)
        for cell in (*cells["register"], *cells["read"]):
            registers.cut(cell)
        for cell in cells["product"]:
            self.cut_product(cell)
        for cell in cells["instance"]:
            self.cut_instance(cell)
        registers.refuse_others()
        self.old.copy("the reference")
        self.new.copy("the text")

    def problem(self, text: str) -> None:
        """Record a difference."""
        self.miter.problems.append(text)

    def share(self, label: str, old: Sequence[Bit], new: Sequence[Bit]) -> None:
        """Let the same free inputs drive bits of both sides; the text may have fewer."""
        for place, bit in enumerate(old):
            free = self.miter.input(f"{label}[{place}]")
            self.old.drive(bit, free)
            if place < len(new):
                self.new.drive(new[place], free)

    def compare(self, label: str, old: Sequence[Bit], new: Sequence[Bit]) -> None:
        """Require equal values."""
        self.miter.all_equal(label, self.old.value(old), self.new.value(new))

    def cut_ports(self, outside: Sequence[Cell]) -> None:
        """Give both sides the same inputs; their outputs have to be equal.

        The text may be only a part of the top of the reference, see `Boundary`: ports of the
        instances outside of it are ports of the text.
        """
        expected: dict[str, tuple[str, list[Bit]]] = {
            name: (port["direction"], port["bits"]) for name, port in self.old.side.ports.items()
        }
        for cell in outside:
            old, (where,) = self.old.side.labelled(cell.index), cell.places
            if old is None or where is None:
                self.problem(f"instance {cell.index} is not in the reference")
                continue
            self.old.cut.add(self.old.side.numbered[cell.index])
            for port, bits in old["connections"].items():
                direction = "input" if port in cell.outputs else "output"
                expected[f"{where[0]}${port}"] = direction, bits
        ports = self.new.side.ports
        for name, (direction, bits) in expected.items():
            shape = direction, len(bits)
            port = ports.get(name, {"direction": direction, "bits": []})
            is_absent = bool(outside) and name not in ports
            if (port["direction"], len(port["bits"])) != shape and not is_absent:
                self.problem(f"port {name} is no {direction} of {len(bits)} bits")
            elif direction == "input":
                self.share(name, bits, port["bits"])
            elif not is_absent:
                self.compare(f"output {name}", bits, port["bits"])
        if more := ports.keys() - expected.keys():
            self.problem(f"the ports {sorted(more)} are not in the reference")

    def cut_product(self, cell: Cell) -> None:
        """Cut a multiplier that both sides have; only the bits that the text has are compared."""
        old = self.old.side.labelled(cell.index)
        first = cell.places[0]
        bit = None if first is None else self.new.side.bit(*first)
        driver = self.new.side.drivers.get(bit) if isinstance(bit, int) else None
        if old is None or driver is None or first is None:
            return
        new = self.new.side.cells[driver[0]]
        width = len(new["connections"]["Y"])
        if new["type"] != "$mul" or driver[2] or driver[0] in self.new.cut:
            return
        if width > len(old["connections"]["Y"]):
            self.problem(f"product {first[0]} has more bits than the reference")
            return
        label = f"product {first[0]}"
        self.old.cut.add(self.old.side.numbered[cell.index])
        self.new.cut.add(driver[0])
        self.share(label, old["connections"]["Y"], new["connections"]["Y"])
        for port in "AB":
            values = [
                extended(view.value(part["connections"][port]), number(part, "A_SIGNED"), width)
                for view, part in ((self.old, old), (self.new, new))
            ]
            self.miter.all_equal(f"{label}: operand {port}", *values)

    def cut_instance(self, cell: Cell) -> None:
        """Cut an instance of a module outside the text."""
        old, (where,) = self.old.side.labelled(cell.index), cell.places
        new = None if where is None else self.new.side.cells.get(where[0])
        if old is None or new is None or where is None:
            self.problem(f"instance {where[0] if where else cell.index} is on one side only")
            return
        self.old.cut.add(self.old.side.numbered[cell.index])
        self.new.cut.add(where[0])
        if (old["type"], old["parameters"]) != (new["type"], new["parameters"]):
            self.problem(f"instance {where[0]} is of {new['type']}, not of {old['type']}")
        left, right = old["connections"], new["connections"]
        if left.keys() != right.keys():
            self.problem(
                f"instance {where[0]} has other ports: {sorted(left.keys() ^ right.keys())}"
            )
            return
        for port, bits in left.items():
            label = f"instance {where[0]}.{port}"
            if port in cell.outputs and len(right[port]) in (0, len(bits)):
                self.share(label, bits, right[port])
            elif len(bits) != len(right[port]):
                self.problem(f"{label} has {len(right[port])} bits, not {len(bits)}")
            else:
                self.compare(label, bits, right[port])


def extended(value: list[Bit], is_signed: int, width: int) -> list[Bit]:
    """Return a value with a number of bits."""
    return [*value, *[value[-1] if is_signed and value else "0"] * width][:width]
