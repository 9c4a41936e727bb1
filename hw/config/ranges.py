"""Ranges of config fields, stated once in their annotations, for checks and documents."""

import typing
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cache

from .checks import require_choice, require_integer, require_power_of_two

__all__ = [
    "Choices",
    "Flag",
    "Integers",
    "OrNone",
    "PowersOfTwo",
    "Range",
    "ranges_of",
    "require_ranges",
]


class Range(ABC):
    """Values that a field can have, whatever the other fields; rules between fields narrow them."""

    @abstractmethod
    def require(self, name: str, value: object) -> None:
        """Raise `TypeError` or `ValueError` unless `value` is one of the range."""

    @property
    @abstractmethod
    def values(self) -> tuple:
        """All values, in ascending order if they have one."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The range in a few words."""


@dataclass(frozen=True)
class Integers(Range):
    """All integers from `low` to `high`."""

    low: int
    high: int

    def require(self, name: str, value: object) -> None:
        """Raise unless `value` is an integer of the range."""
        require_integer(name, value, self.low, self.high)

    @property
    def values(self) -> tuple[int, ...]:
        """All integers."""
        return tuple(range(self.low, self.high + 1))

    @property
    def text(self) -> str:
        """First and last."""
        return f"{self.low} to {self.high}"


@dataclass(frozen=True)
class PowersOfTwo(Range):
    """Powers of two from `low` to `high`."""

    low: int
    high: int

    def require(self, name: str, value: object) -> None:
        """Raise unless `value` is a power of two of the range."""
        require_power_of_two(name, value, self.low, self.high)

    @property
    def values(self) -> tuple[int, ...]:
        """All powers of two."""
        exponents = range(self.low.bit_length() - 1, self.high.bit_length())
        return tuple(1 << exponent for exponent in exponents)

    @property
    def text(self) -> str:
        """First and last."""
        return f"power of two, {self.low} to {self.high}"


@dataclass(frozen=True)
class Choices(Range):
    """One of some names."""

    names: tuple[str, ...]

    def require(self, name: str, value: object) -> None:
        """Raise unless `value` is one of the names."""
        require_choice(name, value, self.names)

    @property
    def values(self) -> tuple[str, ...]:
        """All names."""
        return self.names

    @property
    def text(self) -> str:
        """All names."""
        return ", ".join(self.names)


@dataclass(frozen=True)
class Flag(Range):
    """True or false, the range of every field of type `bool`."""

    def require(self, name: str, value: object) -> None:
        """Raise unless `value` is a bool."""
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be true or false, not {value!r}")

    @property
    def values(self) -> tuple[bool, ...]:
        """Both values."""
        return (False, True)

    @property
    def text(self) -> str:
        """Both values."""
        return "true, false"


@dataclass(frozen=True)
class OrNone(Range):
    """A range whose field can also be none."""

    range: Range

    def require(self, name: str, value: object) -> None:
        """Raise unless `value` is None or one of the range."""
        if value is not None:
            self.range.require(name, value)

    @property
    def values(self) -> tuple:
        """None, and the values of the range."""
        return (None, *self.range.values)

    @property
    def text(self) -> str:
        """The range, and none."""
        return f"{self.range.text}; none"


@cache
def ranges_of(kind: type) -> dict[str, Range]:
    """Return the ranges of the fields of a class of configs by name, in the order of its fields.

    A field has one if its type is `bool`, or has a `Range` in its `Annotated`. Parts of a config
    and tuples have none.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    by_name = {}
    for field in fields(kind):
        hint = hints[field.name]
        ranges = [Flag()] if hint is bool else []
        ranges += [item for item in getattr(hint, "__metadata__", ()) if isinstance(item, Range)]
        for limits in ranges:
            is_optional = type(None) in typing.get_args(getattr(hint, "__origin__", hint))
            by_name[field.name] = OrNone(limits) if is_optional else limits
    return by_name


def require_ranges(config: typing.Any) -> None:
    """Raise unless every field of a config is in its range."""
    for name, values in ranges_of(type(config)).items():
        values.require(name, getattr(config, name))
