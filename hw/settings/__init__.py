"""Machines by name, and their fields by dotted names: they know the configs of all styles."""

from .presets import PRESETS

__all__ = ["PRESETS"]
