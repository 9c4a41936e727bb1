"""Comments before modules: what the block is, its config, and what its description states."""

import dataclasses
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from .layout import WIDTH

__all__ = ["head_of"]

#: Sentences of a description that a reader of the module needs beside the first.
STATED = re.compile(r"\b(latency|throughput)\b", re.I)
#: Field of the config in a description.
FIELD = re.compile(r"\bconfig((?:\.[a-z_]+)+)\b(?!\()")


def head_of(component: Any, path: str = "") -> str:
    """Return the comment before the module of a component.

    Parameters
    ----------
    component : object or None
        None for a part of a block that has no class of its own.
    path : str
        Place in the block, for a module below it; empty for the block itself.

    """
    lines = []
    if component is None:
        lines.append(f"Part of a block: {path}.")
    else:
        config = getattr(component, "config", None)
        first, *rest = [with_sizes(one, config) for one in sentences(type(component))] or [""]
        name = type(component).__name__
        named = re.sub(r"\W", "", first.partition(":")[0]).lower() == name.lower()
        lines.append(first if named else f"{name}: {first}" if first else f"{name}.")
        lines += rest
        changes = ", ".join(differences(config, ""))
        if changes:
            lines.append(f"Config: {changes}.")
    return "".join(f"// {part}\n" for line in lines for part in textwrap.wrap(line, WIDTH - 3))


def sentences(kind: type) -> list[str]:
    """Return the first sentence of a class's description, and those about its timing."""
    text = (inspect.getdoc(kind) or "") if kind.__doc__ else ""
    prose = [
        " ".join(part.split())
        for part in re.split(r"\n\s*\n", text.partition("Parameters\n---")[0])
        if not part.lstrip().startswith(("|", "::")) and "::" not in part
    ]
    prose = [part for part in prose if not part.startswith(("┌", "─"))]
    statements = [
        one.strip() for part in prose for one in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", part)
    ]
    first = [re.sub(r"`", "", one) for one in statements if one]
    return first[:1] + [one for one in first[1:] if STATED.search(one)]


def with_sizes(sentence: str, config: Any) -> str:
    """Return a sentence with the values of the numbers of the config that it names."""

    def value_of(match: re.Match) -> str:
        value = config
        for name in match[1][1:].split("."):
            value = getattr(value, name, None)
        return str(value) if type(value) is int else match[0]

    return FIELD.sub(value_of, sentence)


def differences(config: Any, prefix: str) -> Iterator[str]:
    """Yield the fields of a config that differ from their defaults, with their values."""
    if config is None:
        return
    if not dataclasses.is_dataclass(config):
        yield f"{prefix.rstrip('.')}={short(config)}" if prefix else short(config)
        return
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield from differences(value, f"{prefix}{field.name}.")
        elif not is_default(field, value):
            yield f"{prefix}{field.name}={short(value)}"


def is_default(field: dataclasses.Field, value: Any) -> bool:
    """Return whether a field has its default."""
    if field.default is not dataclasses.MISSING:
        return bool(field.default == value)
    if field.default_factory is not dataclasses.MISSING:
        return bool(field.default_factory() == value)
    return False


def short(value: Any) -> str:
    """Return a value as text."""
    if isinstance(value, enum.Enum):
        return value.name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({', '.join(differences(value, ''))})"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(short, value))})"
    return str(value)
