"""Public Python interface, re-exported by the package `spica`.

`Machine` and `sweep` are loaded on first use, so that a command that needs neither starts fast.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .machine import Machine
    from .sweeps import sweep

__all__ = ["Machine", "sweep"]


def __getattr__(name: str):
    if name == "Machine":
        from .machine import Machine

        return Machine
    if name == "sweep":
        from .sweeps import sweep

        return sweep
    raise AttributeError(f"module {__name__} has no attribute {name}")
