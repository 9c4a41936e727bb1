"""Table of the kinds of matrix units, by the class of their configs."""

from ..config import SystolicConfig, UnitConfig
from .kind import UnitKind
from .systolic.kind import SYSTOLIC

__all__ = ["KINDS", "kind_of"]

KINDS: dict[type[UnitConfig], UnitKind] = {
    SystolicConfig: SYSTOLIC,
}


def kind_of(unit: UnitConfig) -> UnitKind:
    """Return the kind of a matrix unit."""
    return KINDS[type(unit)]
