"""Contents of a cell library that energy needs: units, functions, capacitances, power tables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...base.build_cache import digest
from ...base.errors import UserError
from ..cache import cached, source_key
from .boolean import Expression, Name, Not, parse
from .liberty_groups import Group, parse_groups
from .power_table import PowerTable, TemplateAxes, read_table, template_axes

__all__ = ["Cell", "FlipFlop", "InternalPower", "Pin", "PowerLibrary", "read_power_library"]

#: Groups without a part in energy; delays are most of a library's text.
SKIPPED = frozenset({
    *("timing", "lu_table_template", "wire_load", "wire_load_selection", "operating_conditions"),
    *("pg_pin", "test_cell", "statetable", "normalized_driver_waveform", "receiver_capacitance"),
})
QUANTITY = re.compile(r"([0-9.eE+-]*)\s*([munpf]?)([a-zA-Z]+)")
PREFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}


@dataclass(frozen=True, kw_only=True)
class InternalPower:
    """Internal energy of a cell per transition of a pin.

    Parameters
    ----------
    related : tuple of str
        Inputs that cause the transition of an output; empty for an input.
    when : Expression or None
        State of the other pins in which the tables apply; None for all states without a group of
        their own.
    rise, fall : PowerTable
        Energies.

    """

    related: tuple[str, ...]
    when: Expression | None
    rise: PowerTable
    fall: PowerTable


@dataclass(frozen=True, kw_only=True)
class Pin:
    """Pin of a cell.

    Parameters
    ----------
    name : str
        Name.
    is_output : bool
        Whether the cell drives it.
    capacitance : float
        Input capacitance in pF, the mean of rise and fall as the library states it.
    function : Expression or None
        Value of an output; None for an input, or if it has none, such as a tristate output.
    power : tuple of InternalPower
        Internal energies.

    """

    name: str
    is_output: bool
    capacitance: float
    function: Expression | None
    power: tuple[InternalPower, ...]


@dataclass(frozen=True, kw_only=True)
class FlipFlop:
    """State of a flip-flop.

    Parameters
    ----------
    state, inverted : str
        Names of the state and of its inversion.
    clock : str or None
        Clock pin; None if the clock is not a pin or the inversion of one.
    is_falling : bool
        Whether the falling edge of the clock pin is the active one.
    next_state : Expression
        State after the active edge.
    clear, preset : Expression or None
        Conditions that set the state without a clock.

    """

    state: str
    inverted: str
    clock: str | None
    is_falling: bool
    next_state: Expression
    clear: Expression | None
    preset: Expression | None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Cell of a library.

    Parameters
    ----------
    name : str
        Name.
    area : float
        Area in the library's unit, um2 in all open libraries.
    leakage : float
        Leakage power in nW, the mean over all states.
    pins : mapping of str to Pin
        Pins by name.
    flip_flop : FlipFlop or None
        State, if it is a flip-flop.
    is_supported : bool
        False for latches, clock gates and tristate cells, which have no function of their inputs.

    """

    name: str
    area: float
    leakage: float
    pins: Mapping[str, Pin]
    flip_flop: FlipFlop | None
    is_supported: bool


@dataclass(frozen=True, kw_only=True)
class PowerLibrary:
    """Cell library: its name, nominal supply voltage in V, and cells by name."""

    name: str
    voltage: float
    cells: Mapping[str, Cell]


@dataclass(frozen=True, kw_only=True)
class Units:
    """Factors from a library's units to V, pF, ns, nW, and pJ.

    The unit of internal energy is not in the file: it is the unit of voltage squared times the
    unit of capacitance (Liberty User Guide, "Power units").
    """

    voltage: float
    load: float
    slew: float
    leakage: float

    @property
    def energy(self) -> float:
        """Factor to pJ, which are V2 times pF."""
        return self.voltage**2 * self.load


def read_power_library(path: Path) -> PowerLibrary:
    """Return the library of a file; raise `UserError` if it has no power or is no library."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        raise UserError(f"--liberty must name a Liberty file; there is none at {path}") from None
    key = digest([source_key(Path(__file__).parent), text])
    try:
        return cached("power", key, lambda: library_of(text))
    except ValueError as error:
        raise UserError(
            f"--liberty must name a library with power tables; {path}: {error}"
        ) from None


def library_of(text: str) -> PowerLibrary:
    """Return the library of a text; raise `ValueError` if it has no power."""
    library = next(
        (group for group in parse_groups(text, SKIPPED) if group.kind == "library"), None
    )
    if library is None:
        raise ValueError("it holds no library (...)")
    if "nom_voltage" not in library.attributes:
        raise ValueError("it has no nom_voltage")
    units = units_of(library)
    reader = CellReader(library, units)
    cells = {cell.name: cell for cell in map(reader.cell, library.of_kind("cell"))}
    if not any(pin.power for cell in cells.values() for pin in cell.pins.values()):
        raise ValueError(f"it has no internal_power in {len(cells)} cells")
    if not any(cell.leakage for cell in cells.values()):
        raise ValueError(f"it has no leakage power in {len(cells)} cells")
    if not any(cell.flip_flop for cell in cells.values()):
        raise ValueError(f"it has no flip-flop, a cell with ff (...), in {len(cells)} cells")
    return PowerLibrary(
        name=library.names[0] if library.names else "",
        voltage=float(library.attributes["nom_voltage"]) * units.voltage,
        cells=cells,
    )


def units_of(library: Group) -> Units:
    """Return the units of a library; those left out are the format's defaults."""
    attributes = library.attributes
    load = "".join(library.lists.get("capacitive_load_unit", ("1", "pf")))
    return Units(
        voltage=quantity(attributes.get("voltage_unit", "1V"), "V"),
        load=quantity(load, "f") * 1e12,
        slew=quantity(attributes.get("time_unit", "1ns"), "s") * 1e9,
        leakage=quantity(attributes.get("leakage_power_unit", "1nW"), "W") * 1e9,
    )


def quantity(text: str, unit: str) -> float:
    """Return a quantity such as ``1ns`` in its unit without prefix."""
    match = QUANTITY.fullmatch(text.strip())
    # Liberty writes the farad in lower case, so `ff` is a femtofarad.
    if match is None or match[3].lower() != unit.lower():
        raise ValueError(f"its unit {text!r} is not a multiple of {unit.upper()}")
    return float(match[1] or "1") * PREFIXES[match[2]]


class CellReader:
    """Reader of the cells of one library."""

    def __init__(self, library: Group, units: Units):
        self.units = units
        self.axes: TemplateAxes = template_axes(library)
        self.templates = {group.names[0]: group for group in library.of_kind("power_lut_template")}
        attributes = library.attributes
        self.default_leakage = float(attributes.get("default_cell_leakage_power", 0))
        self.default_capacitance = float(attributes.get("default_input_pin_cap", 0))

    def cell(self, group: Group) -> Cell:
        """Return the cell of a group; errors name it."""
        try:
            pins = {pin.name: pin for part in group.of_kind("pin") for pin in self.pins(part)}
            return Cell(
                name=group.names[0],
                area=float(group.attributes.get("area", 0)),
                leakage=self.leakage(group) * self.units.leakage,
                pins=pins,
                flip_flop=next(map(flip_flop_of, group.of_kind("ff")), None),
                is_supported=is_supported(group),
            )
        except ValueError as error:
            raise ValueError(f"cell {' '.join(group.names)}: {error}") from None

    def leakage(self, group: Group) -> float:
        """Return the leakage of a cell: as stated for the cell, or the mean of its states."""
        if "cell_leakage_power" in group.attributes:
            return float(group.attributes["cell_leakage_power"])
        states = [
            float(state.attributes["value"])
            for state in group.of_kind("leakage_power")
            if "value" in state.attributes
        ]
        return sum(states) / len(states) if states else self.default_leakage

    def pins(self, group: Group) -> list[Pin]:
        """Return the pins of a group, which may name several."""
        attributes = group.attributes
        is_output = attributes.get("direction") == "output"
        capacitance = float(attributes.get("capacitance", self.default_capacitance))
        function = attributes.get("function")
        return [
            Pin(
                name=name,
                is_output=is_output,
                capacitance=0.0 if is_output else capacitance * self.units.load,
                function=parse(function) if is_output and function else None,
                power=tuple(self.power(part) for part in group.of_kind("internal_power")),
            )
            for name in group.names
        ]

    def power(self, group: Group) -> InternalPower:
        """Return the energies of an ``internal_power`` group; a missing direction has none."""
        tables = {
            part.kind: read_table(
                part,
                self.axes,
                self.templates,
                slew_unit=self.units.slew,
                load_unit=self.units.load,
                energy_unit=self.units.energy,
            )
            for part in group.of_kind("rise_power", "fall_power", "power")
        }
        both = tables.get("power", PowerTable(slews=(), loads=(), rows=((0.0,),)))
        when = group.attributes.get("when")
        return InternalPower(
            related=tuple(group.attributes.get("related_pin", "").split()),
            when=parse(when) if when else None,
            rise=tables.get("rise_power", both),
            fall=tables.get("fall_power", both),
        )


def flip_flop_of(group: Group) -> FlipFlop:
    """Return the flip-flop of an ``ff`` group."""
    attributes = group.attributes
    if len(group.names) != 2 or not {"clocked_on", "next_state"} <= set(attributes):
        raise ValueError("ff (state, inverted state) must have clocked_on and next_state")
    optional = (parse(attributes[k]) if k in attributes else None for k in ("clear", "preset"))
    clear, preset = optional
    clock = parse(attributes["clocked_on"])
    is_falling = isinstance(clock, Not)
    pin = clock.operand if isinstance(clock, Not) else clock
    return FlipFlop(
        state=group.names[0],
        inverted=group.names[1],
        clock=pin.name if isinstance(pin, Name) else None,
        is_falling=is_falling,
        next_state=parse(attributes["next_state"]),
        clear=clear,
        preset=preset,
    )


def is_supported(group: Group) -> bool:
    """Return whether a cell is a gate or a flip-flop: no latch, clock gate or tristate output."""
    if any(True for _ in group.of_kind("latch", "latch_bank", "ff_bank", "bus", "bundle")):
        return False
    if "clock_gating_integrated_cell" in group.attributes:
        return False
    return all("three_state" not in pin.attributes for pin in group.of_kind("pin"))
