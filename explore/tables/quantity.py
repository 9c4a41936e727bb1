"""Axes of charts: metrics, or swept fields with numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...base.errors import UserError
from ..points.axes import Axis
from ..sweep.row import Row
from ..work.metrics import AREA_METRICS, ENERGY_METRICS, METRICS
from .table import metrics_of, number_of

__all__ = ["Quantity", "parsed_quantities"]


@dataclass(frozen=True)
class Quantity:
    """Axis of a chart.

    Parameters
    ----------
    name : str
        Name of a metric, or of a swept field.

    """

    name: str

    @property
    def is_field(self) -> bool:
        """Whether it is a swept field."""
        return self.name not in METRICS

    @property
    def label(self) -> str:
        """Name, and the meaning of a metric."""
        return self.name if self.is_field else f"{self.name}: {METRICS[self.name].meaning}"

    @property
    def better(self) -> str:
        """Better direction of a metric; fields have none."""
        return METRICS[self.name].better

    def value(self, row: Row) -> float | None:
        """Return the value of a row; None without one."""
        values: Mapping[str, object] = row.figures
        if self.is_field:
            values = {self.name: number_of(row.settings[self.name])}
        value = values.get(self.name)
        return float(value) if isinstance(value, int | float) else None


def parsed_quantities(
    option: str,
    text: str,
    axes: Sequence[Axis],
    has_area: bool,
    *,
    has_energy: bool = False,
    has_direction: bool = False,
) -> tuple[Quantity, Quantity]:
    """Return the axes X,Y of a chart; raise unless each is known and has numbers.

    Parameters
    ----------
    option : str
        Option of the command line, for messages.
    text : str
        Names of both axes, with a comma between them.
    axes : sequence of Axis
        Axes of the sweep.
    has_area : bool
        Whether the sweep measures areas.
    has_energy : bool
        Whether the sweep computes energies.
    has_direction : bool
        Whether both must be metrics, which have a better direction.

    """
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise UserError(f"{option} must be two columns, as in cycles,nand2, not {text!r}")
    fields = {axis.field: axis for axis in axes}
    known = [*metrics_of(has_area), *([] if has_direction else fields)]
    for name in names:
        if name in AREA_METRICS and not has_area:
            raise UserError(f"{option} {text} needs --area, which measures {name}")
        if name in ENERGY_METRICS and not has_energy:
            raise UserError(f"{option} {text} needs --energy, which computes {name}")
        if name not in known:
            raise UserError(f"{option} must be two of {', '.join(known)}, not {name!r}")
        for value in fields[name].values if name in fields else ():
            if isinstance(number_of(value), str):
                raise UserError(f"{option} {text} needs numbers, and {name} has {value!r}")
    first, second = names
    return Quantity(first), Quantity(second)
