"""Runs the machine: engines, golden models, checks and reports.

`Machine` is loaded when it is asked for: rooms that need a part of this one wait for no other.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api import Machine

__all__ = ["Machine"]


def __getattr__(name: str):
    if name == "Machine":
        from .api import Machine

        return Machine
    raise AttributeError(f"module {__name__} has no attribute {name}")
