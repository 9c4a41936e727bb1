"""Public Python interface, re-exported by the package `spica`.

Its names are loaded on first use, so that a command that needs none of them starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .comparisons import Comparison, compare
    from .machine import Machine
    from .sweeps import sweep

__all__ = ["Comparison", "Machine", "compare", "sweep"]

#: Module of each name.
MODULES = {
    "Comparison": "comparisons",
    "Machine": "machine",
    "compare": "comparisons",
    "sweep": "sweeps",
}


def __getattr__(name: str):
    if name in MODULES:
        return getattr(import_module(f".{MODULES[name]}", __package__), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
