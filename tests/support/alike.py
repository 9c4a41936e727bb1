"""Comparison of the RTL of a unit with its model."""

from typing import Any

__all__ = ["require_alike"]


def require_alike(rtl: Any, model: Any, *where: object) -> None:
    """Raise `AssertionError` unless both have one value; it says which has what, and `where`."""
    if rtl != model:
        place = " ".join(map(str, where))
        raise AssertionError(f"{place}: {shown(rtl)} of the RTL, {shown(model)} of the model")


def shown(value: Any) -> str:
    """Return a value as text, an integer in hexadecimal."""
    return hex(value) if type(value) is int else repr(value)
