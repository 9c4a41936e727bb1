"""Public Python interface, re-exported by the package `spica`."""

from .machine import Machine

__all__ = ["Machine"]
