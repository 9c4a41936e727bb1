"""Machines by name, and changes of their fields by dotted names."""

from .presets import PRESETS

__all__ = ["PRESETS"]
