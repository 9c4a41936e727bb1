"""Public Python interface, re-exported by the package `spica`."""

from .machine import Machine
from .sweep import sweep

__all__ = ["Machine", "sweep"]
