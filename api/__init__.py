"""Public Python interface, re-exported by the package `spica`.

Its names are loaded on first use, so that a command that needs none of them starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..sim.harness.dram import DramConfig as Dram
    from ..sim.run.inputs.own_programs import Unwritten
    from .attentions import Attention
    from .comparisons import Comparison, compare
    from .machine import Machine
    from .results import Run
    from .sweeps import sweep

__all__ = ["Attention", "Comparison", "Dram", "Machine", "Run", "Unwritten", "compare", "sweep"]

#: Module of each name, and its name there.
MODULES = {
    "Attention": (".attentions", "Attention"),
    "Comparison": (".comparisons", "Comparison"),
    "Dram": ("..sim.harness.dram", "DramConfig"),
    "Machine": (".machine", "Machine"),
    "Run": (".results", "Run"),
    "Unwritten": ("..sim.run.inputs.own_programs", "Unwritten"),
    "compare": (".comparisons", "compare"),
    "sweep": (".sweeps", "sweep"),
}


def __getattr__(name: str):
    if name in MODULES:
        module, own = MODULES[name]
        return getattr(import_module(module, __package__), own)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
