"""Targets: a measured figure, what it has to be, and whether it is."""

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
        What was measured.
    value, limit : float
        In the same unit.
    unit : str
        Printed behind both.
    at_least : bool
        Whether the figure must reach the limit; else it must not exceed it.

    """

    name: str
    value: float
    limit: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the figure keeps its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def as_dict(self) -> dict:
        """Return the target for JSON."""
        return asdict(self) | {"met": self.met}


def targets_of(result: dict) -> list[Target]:
    """Return the targets in a result."""
    keys = ("name", "value", "limit", "unit", "at_least")
    return [Target(**{key: target[key] for key in keys}) for target in result["targets"]]


def target_table(targets: Iterable[Target]):
    """Return the table of targets, each with its mark."""
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
    """Return a number with as many digits as say something."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
