"""Checks of config values, each with its error message."""

__all__ = ["require_choice", "require_integer", "require_power_of_two"]


def require_integer(name: str, value: object, low: int, high: int) -> None:
    """Raise unless `value` is an int in ``low..high``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low} and {high}, not {value!r}")


def require_power_of_two(name: str, value: object, low: int, high: int) -> None:
    """Raise unless `value` is a power of two in ``low..high``."""
    require_integer(name, value, low, high)
    assert isinstance(value, int)
    if value.bit_count() != 1:
        raise ValueError(f"{name} must be a power of two, not {value!r}")


def require_choice(name: str, value: object, choices) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, not {value!r}")
