"""Targets: measured figures and their limits."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from spica.cli.options import new_table

__all__ = ["Target", "target_table", "targets_of"]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure and its limit.

    Parameters
    ----------
    name : str
        Name of the figure.
    value, limit : float
        In the same unit.
    unit : str
        Printed after both.
    at_least : bool
        Whether the limit is a minimum; otherwise it is a maximum.

    """

    name: str
    value: float
    limit: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the figure is within its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def as_dict(self) -> dict:
        """Return the target for JSON."""
        return asdict(self) | {"met": self.met}


def targets_of(result: dict) -> list[Target]:
    """Return the targets in a result; some benchmarks have none."""
    keys = ("name", "value", "limit", "unit", "at_least")
    return [Target(**{key: target[key] for key in keys}) for target in result.get("targets", [])]


def target_table(targets: Iterable[Target]):
    """Return the table of targets with their state."""
    table = new_table("Targets", "", "target", numbers=["measured", "limit"])
    for target in targets:
        sign = ">=" if target.at_least else "<="
        table.add_row(
            "met" if target.met else "MISSED",
            target.name,
            f"{quantity(target.value)} {target.unit}".strip(),
            f"{sign} {quantity(target.limit)} {target.unit}".strip(),
        )
    return table


def quantity(value: float) -> str:
    """Return a number with its significant digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
