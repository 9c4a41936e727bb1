"""Outcome of a point of a sweep: its record, and the area of its machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..work.record import PASS, Record

__all__ = ["Row"]


@dataclass(frozen=True)
class Row:
    """Point of a sweep with its figures.

    Parameters
    ----------
    preset : str
        Name of the preset.
    settings : mapping of str to str
        Value of every swept field.
    record : Record
        Outcome of the run.
    area : mapping
        Figures of `AREA_METRICS`, empty without a measurement.
    areas : mapping or None
        Complete measurement of the area, with its groups; None without one.

    """

    preset: str
    settings: Mapping[str, str]
    record: Record
    area: Mapping[str, Any]
    areas: Mapping[str, Any] | None = None

    @property
    def is_passed(self) -> bool:
        """Whether the run passed."""
        return self.record.status == PASS

    @property
    def figures(self) -> dict[str, Any]:
        """All figures by metric."""
        return {**self.record.figures, **self.area}
