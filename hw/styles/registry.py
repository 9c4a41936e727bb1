"""Table of the kinds of matrix units, by the class of their configs."""

from ..config import SystolicConfig, UnitConfig
from .cluster_array.style import SYSTOLIC
from .style import UnitKind

__all__ = ["KINDS", "kind_of"]

KINDS: dict[type[UnitConfig], UnitKind] = {
    SystolicConfig: SYSTOLIC,
}


def kind_of(unit: UnitConfig) -> UnitKind:
    """Return the kind of a matrix unit."""
    return KINDS[type(unit)]
