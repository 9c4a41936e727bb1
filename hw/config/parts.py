"""Part of a config that is a config of its own: the fields of one of its base classes."""

from dataclasses import fields
from typing import Any, TypeVar

__all__ = ["part_of"]

Part = TypeVar("Part")


def part_of(config: Any, kind: type[Part]) -> Part:
    """Return the fields that `config` has from `kind`, one of its base classes."""
    own: Any = kind  # a class of configs, as `fields` needs
    return kind(**{field.name: getattr(config, field.name) for field in fields(own)})
