"""Conversions of presets: the written text, its reference, and how their cells correspond."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from spica.hw.emit.amaranth_patches import patched_amaranth
from spica.hw.emit.block_library import BlockLibrary
from spica.hw.emit.emitter import ConvertedModule, Emitter
from spica.hw.emit.garbage_collection import no_garbage_collection
from spica.hw.emit.module_ports import domain_ports, signature_ports
from spica.hw.emit.split_top import Splitter
from spica.hw.emit.sram_macros import MacroLimits
from spica.hw.emit.writer.cell_places import CellPlace, CellPlaces
from spica.hw.emit.writer.conversion import Conversion
from spica.hw.emit.writer.nets.built import BuiltNetlist

from .reference import reference_text

__all__ = ["KINDS", "Cell", "Subject", "converted", "subject_of"]

nir: Any = _nir  # no stub
#: Kinds of cells that are cut; instances outside of a text that is only a part of the top.
KINDS = ("register", "read", "product", "memory", "instance", "outside")


@dataclass(frozen=True)
class Cell:
    """Cell of the reference that is cut, and where the text has it.

    Parameters
    ----------
    index : int
        In the netlist.
    kind : str
        One of `KINDS`.
    places : tuple of (str, int) or None
        Variable of each bit with the instances around it, and bit number; None for bits that the
        text does not have. A memory and an instance have one place.
    outputs : frozenset of str
        Outputs of an instance.
    module : str
        Module of an instance.

    """

    index: int
    kind: str
    places: tuple[tuple[str, int] | None, ...]
    outputs: frozenset[str] = frozenset()
    module: str = ""


@dataclass(frozen=True)
class Subject:
    """One conversion whose text is to be proven.

    Parameters
    ----------
    name : str
        Name of its module.
    text, reference : str
        Written Verilog, and RTLIL.
    cells : tuple of Cell

    """

    name: str
    text: str
    reference: str
    cells: tuple[Cell, ...]

    @property
    def code(self) -> str:
        """Text without comments and empty lines."""
        lines = (line.partition("//")[0].rstrip() for line in self.text.splitlines())
        return re.sub(r"/\*.*?\*/", "", "\n".join(filter(None, lines)), flags=re.S)


def cells_of(conversion: Conversion) -> Iterator[Cell]:
    """Yield the cells that are cut."""
    netlist, places = conversion.built.netlist, conversion.cell_places
    for index, cell in enumerate(netlist.cells):
        kind = type(cell)
        if kind is nir.FlipFlop:
            yield Cell(index, "register", bits_of(places, index, len(cell.data)))
        elif kind is nir.SyncReadPort:
            yield Cell(index, "read", bits_of(places, index, cell.width))
        elif kind is nir.Operator and cell.operator == "*":
            yield Cell(index, "product", bits_of(places, index, cell.width))
        elif kind is nir.Memory:
            yield Cell(index, "memory", (named(places.memory(index)),))
        elif kind is nir.Instance:
            outputs = frozenset(cell.ports_o)
            if index in conversion.boundary.outside:
                yield Cell(index, "outside", ((cell.name, 0),), outputs, cell.type)
            else:
                place = named(places.instance(index))
                yield Cell(index, "instance", (place,), outputs, cell.type)


def named(place: CellPlace | None) -> tuple[str, int] | None:
    """Return the whole name and the bit of a place."""
    return None if place is None else (place.full_name, place.bit)


def bits_of(places: CellPlaces, index: int, width: int) -> tuple[tuple[str, int] | None, ...]:
    """Return the places of the bits of a cell."""
    return tuple(named(places.net(index << 16 | bit)) for bit in range(width))


def subject_of(conversion: Conversion) -> Subject:
    """Return the subject of a conversion."""
    netlist = conversion.built.netlist
    cells = tuple(cells_of(conversion))
    return Subject(conversion.name, conversion.text, reference_text(netlist), cells)


class Collector(Emitter):
    """Emitter that keeps the subject of each conversion."""

    def __init__(self, simulated: bool = False, limits: MacroLimits | None = None):
        super().__init__(None, simulated, limits, BlockLibrary(simulated, limits, False))
        self.subjects: list[Subject] = []

    def conversion(self, built: BuiltNetlist, name: str, component: Any) -> Conversion:
        conversion = super().conversion(built, name, component)
        self.subjects.append(subject_of(conversion))
        return conversion

    def add_rest(self, name: str, module: ConvertedModule) -> None:
        """Add the part of the top outside of blocks in clock domains of their own."""
        assert module.built is not None
        clocks = {domain_ports(domain)[0]: domain for domain in module.domains}
        modules = {name: block.module for name, block in self.blocks.items()}
        boundary, _ = Splitter(module.built, name, clocks, modules).boundary()
        if boundary.outside:
            rest = Conversion(module.built, name, is_simulated=True, boundary=boundary)
            self.subjects.append(subject_of(rest))


def converted(
    tops: Iterable[tuple[str, Any]], simulated: bool = False, limits: MacroLimits | None = None
) -> Iterator[tuple[str, list[Subject]]]:
    """Yield the name of each top, and its conversions that no earlier top has.

    Parameters
    ----------
    tops : iterable of (str, Component)
        Names and components.
    simulated : bool
        As in `Emitter`.
    limits : MacroLimits or None
        As in `Emitter`.

    """
    collector = Collector(simulated, limits)
    for name, top in tops:
        collector.top, collector.subjects = top, []
        with no_garbage_collection(), patched_amaranth():
            module = collector.convert(top, list(signature_ports(top, "_")), name)
            if simulated and limits is None:
                collector.add_rest(name, module)
        yield name, collector.subjects
