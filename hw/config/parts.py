"""Part of a config that is a config of its own: the fields of one of its base classes."""

from dataclasses import fields
from typing import Any, TypeVar

__all__ = ["BOUND", "OPTIONAL", "part_of"]

#: Metadata of a field that is an option of a block: a config has the name that it would have
#: without the field while the field has its default (`describe`).
OPTIONAL = {"optional": True}
#: Metadata of a field that the config around it sets: it is no setting.
BOUND = {"bound": True}

Part = TypeVar("Part")


def part_of(config: Any, kind: type[Part]) -> Part:
    """Return the fields that `config` has from `kind`, one of its base classes."""
    own: Any = kind  # a class of configs, as `fields` needs
    return kind(**{field.name: getattr(config, field.name) for field in fields(own)})
