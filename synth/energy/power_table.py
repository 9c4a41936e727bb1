"""Internal-energy tables of a cell library, over the slew of an input and the load of an output."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .liberty_groups import Group

__all__ = ["PowerTable", "TemplateAxes", "read_table", "template_axes"]

#: Variables of a template's axis, by what the axis is over.
SLEW, LOAD = "input_transition_time", "total_output_net_capacitance"
#: Variable of each index of a template.
TemplateAxes = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class PowerTable:
    """Internal energy per transition, in pJ; one row per slew, one column per load.

    Parameters
    ----------
    slews : tuple of float
        Input slews in ns; empty if the energy does not depend on it.
    loads : tuple of float
        Output loads in pF; empty if the energy does not depend on it.
    rows : tuple of tuples of float
        Energies in pJ.

    """

    slews: tuple[float, ...]
    loads: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]

    def at(self, slew: float, load: float) -> float:
        """Return the energy at a slew in ns and a load in pF.

        Interpolation is linear along both axes. Outside the table the nearest edge holds.
        """
        first, after, row_part = position(self.slews, slew)
        left, right, part = position(self.loads, load)
        low, high = (
            self.rows[row][left] * (1 - part) + self.rows[row][right] * part
            for row in (first, after)
        )
        return low * (1 - row_part) + high * row_part


def position(axis: Sequence[float], value: float) -> tuple[int, int, float]:
    """Return the neighbours of a value on an axis, and its part of the way between them."""
    if len(axis) < 2 or value <= axis[0]:
        return 0, 0, 0.0
    if value >= axis[-1]:
        return len(axis) - 1, len(axis) - 1, 0.0
    after = bisect_right(axis, value)
    return after - 1, after, (value - axis[after - 1]) / (axis[after] - axis[after - 1])


def template_axes(library: Group) -> dict[str, tuple[str, ...]]:
    """Return the variables of each table template of a library; ``scalar`` has none."""
    axes: dict[str, tuple[str, ...]] = {"scalar": ()}
    for template in library.of_kind("power_lut_template"):
        variables = (template.attributes.get(f"variable_{k}") for k in (1, 2))
        axes[template.names[0]] = tuple(variable for variable in variables if variable)
    return axes


def read_table(
    group: Group,
    axes: TemplateAxes,
    templates: Mapping[str, Group],
    *,
    slew_unit: float,
    load_unit: float,
    energy_unit: float,
) -> PowerTable:
    """Return the table of a ``rise_power``, ``fall_power`` or ``power`` group.

    Raises `ValueError` if its axes or its size are not those of a table of energy.
    """
    template = group.names[0] if group.names else "scalar"
    if template not in axes or not set(axes[template]) <= {SLEW, LOAD}:
        raise ValueError(
            f"{group.kind} ({template}) must be a table over {SLEW} and {LOAD}, which the template "
            f"of this name does not say"
        )
    indexes: dict[str, tuple[float, ...]] = {SLEW: (), LOAD: ()}
    for k, variable in enumerate(axes[template], 1):
        own = group.lists.get(f"index_{k}") or templates[template].lists.get(f"index_{k}", ())
        indexes[variable] = numbers(own)
    rows = tuple(numbers((row,)) for row in group.lists.get("values", ()))
    if len(axes[template]) == 1 or len(rows) == 1:  # one row, or one number in each
        flat = tuple(value for row in rows for value in row)
        width = max(1, len(indexes[axes[template][-1]])) if axes[template] else 1
        rows = tuple(flat[start : start + width] for start in range(0, len(flat), width))
    if (axes[template][:1] == (LOAD,) and len(axes[template]) == 2) or axes[template] == (SLEW,):
        rows = tuple(zip(*rows, strict=True))  # now a row per slew
    slews, loads = indexes[SLEW], indexes[LOAD]
    sizes = {len(row) for row in rows}
    if len(rows) != max(1, len(slews)) or sizes != {max(1, len(loads))}:
        raise ValueError(
            f"{group.kind} ({template}) must have {max(1, len(slews))} x {max(1, len(loads))} "
            f"values, not {len(rows)} rows of {', '.join(map(str, sorted(sizes))) or 'none'}"
        )
    return PowerTable(
        slews=tuple(slew * slew_unit for slew in slews),
        loads=tuple(load * load_unit for load in loads),
        rows=tuple(tuple(value * energy_unit for value in row) for row in rows),
    )


def numbers(texts: Sequence[str]) -> tuple[float, ...]:
    """Return the numbers of comma-separated texts."""
    return tuple(float(part) for text in texts for part in text.replace(",", " ").split())
