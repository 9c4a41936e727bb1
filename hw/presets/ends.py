"""Ends of the legal range of each field of a config, given its other fields."""

from collections.abc import Iterator
from typing import Any

from ..config.ranges import Choices, Flag, OrNone, Range
from ..machine.fields import field_names, field_range, members
from .override import override

__all__ = ["changes_to_ends", "end_values", "range_of", "value_of"]


def value_of(config: Any, name: str) -> Any:
    """Return the value of a dotted field; None if a part of its name is none."""
    for step in name.split("."):
        if config is None:
            return None
        config = members(config).get(step)
    return config


def range_of(config: Any, name: str) -> Range | None:
    """Return the range of a dotted field, None if it has none or if its part is none."""
    *parts, last = name.split(".")
    part = value_of(config, ".".join(parts)) if parts else config
    return None if part is None else field_range(part, last)


def end_values(config: Any, name: str) -> list[Any]:
    """Return the values at the ends of a dotted field that `config` accepts as its only change.

    They are the first and the last accepted integer, or every accepted name and flag; None is one
    of them if the field can be none. Rules between fields may leave a part of the range, or one
    value only.
    """
    values = range_of(config, name)
    if values is None:
        return []
    inner = values.range if isinstance(values, OrNone) else values
    optional: list[Any] = (
        [None] if isinstance(values, OrNone) and accepts(config, name, None) else []
    )
    if isinstance(inner, Choices | Flag):
        return optional + [value for value in inner.values if accepts(config, name, value)]
    ends = [first_accepted(config, name, inner.values[::step]) for step in (1, -1)]
    return optional + [end for end in dict.fromkeys(ends) if end is not None]


def accepts(config: Any, name: str, value: Any) -> bool:
    """Return whether a config can have this value in a dotted field."""
    try:
        override(config, [f"{name}={value}"])
    except ValueError:
        return False
    return True


def first_accepted(config: Any, name: str, values: tuple) -> Any:
    """Return the first of some values that a config accepts in a dotted field, or None."""
    return next((value for value in values if accepts(config, name, value)), None)


def changes_to_ends(config: Any) -> Iterator[tuple[str, Any]]:
    """Yield each dotted field with each value at its ends other than its own."""
    for name in field_names(config):
        for value in end_values(config, name):
            if value != value_of(config, name):
                yield name, value
