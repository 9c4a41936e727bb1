"""Registry of all arithmetic units, each with its golden model and its oracle."""

import importlib
from collections import Counter

from .unit import Unit

__all__ = ["every_unit"]

MODULES = (
    *("conversions", "fma", "narrow_fma", "fp32_lane"),
    *("divide_lane", "special_function", "dot_product", "tree"),
)


def every_unit() -> list[Unit]:
    """Return all units, in table order."""
    modules = [importlib.import_module(f".{name}", __package__) for name in MODULES]
    units = [unit for module in modules for unit in module.units()]
    names = Counter(unit.name for unit in units)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"names of units must be distinct, not {', '.join(twice)} twice")
    return units
