"""Changes of one field of a cluster's config to another legal value."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from spica.base.errors import UserError
from spica.hw.config import DmaConfig, MachineConfig, SystolicConfig
from spica.hw.config.rtl_support import require_rtl
from spica.hw.styles.register_fed.config import RegisterFedConfig

__all__ = ["changed", "field_paths"]

#: A matrix unit that any preset has room for.
SMALL = SystolicConfig(rows=2, columns=2, accumulator_bytes=64, tile=(2, 2, 2))


def field_paths(config) -> Iterator[str]:
    """Yield the dotted path of every field of a config, at any depth, in order.

    A part of a config, such as ``core``, is not itself a field, except if it may be absent.
    """
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        parts = {field.name: value}
        if isinstance(value, tuple):
            parts = {f"{field.name}.{number}": part for number, part in enumerate(value)}
        parts = {path: part for path, part in parts.items() if dataclasses.is_dataclass(part)}
        if field.name not in parts:
            yield field.name
        for path, part in parts.items():
            yield from (f"{path}.{inner}" for inner in field_paths(part))


def changed(config: MachineConfig, path: str) -> MachineConfig | None:
    """Return the config with another value of the field at `path`; None if no other is legal."""
    for value in candidates(config, path):
        try:
            other = replaced(config, path.split("."), value)
            require_rtl(other, other.clusters)
        except (AttributeError, TypeError, ValueError, UserError):
            continue
        if other != config:
            return other
    return None


def replaced(config: Any, path: list[str], value) -> Any:
    """Return a config with the field at `path` replaced."""
    name, *inner = path
    if isinstance(config, tuple):
        parts = list(config)
        parts[int(name)] = replaced(parts[int(name)], inner, value)
        return tuple(parts)
    if inner:
        value = replaced(getattr(config, name), inner, value)
    return dataclasses.replace(config, **{name: value})


def candidates(config: MachineConfig, path: str) -> list:
    """Return values to try for the field at `path`, of which some may be illegal."""
    value: Any = config
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, tuple) else getattr(value, name)
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2 * value, value // 2, value + 1, value - 1, 4 * value]
    if isinstance(value, tuple):
        numbers = [n for n, part in enumerate(value) if isinstance(part, int)]
        scaled = [(*value[:n], 2 * value[n], *value[n + 1 :]) for n in numbers]
        return [*scaled, (*value, 1), (*value, SMALL), ()]
    return [*choices(config, path), 1, 2, 4, SMALL, DmaConfig(), RegisterFedConfig(), None]


def choices(config: MachineConfig, path: str) -> list[str]:
    """Return the choices that the refusal of an unknown one lists, last first; else none."""
    try:
        replaced(config, path.split("."), "?")
    except (AttributeError, TypeError, ValueError) as error:
        match = re.search(r"must be one of (.*), not", str(error))
        return match[1].split(", ")[::-1] if match else []
    return []
