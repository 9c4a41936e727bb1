"""Dotted names of a part of which a config has one of several kinds, or none.

A field ``tensor`` with the metadata ``variants`` has the name ``tensor``, with the name of the kind
as its value, and for each field of any kind a name such as ``tensor_queue``. So the names of a
machine's fields, and those in its results, do not depend on its kind. A field that the kind lacks,
or that no kind has because the part is none, shows its default value, and takes no other.
"""

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from ..config import TensorUnitConfig
from ..config.ranges import Choices, OrNone, Range, ranges_of
from ..styles.registry import TENSOR_STYLES

__all__ = ["tensor_of_result", "variant_part", "variant_range", "variant_type", "variant_values"]

KINDS: dict[str, type[TensorUnitConfig]] = {kind.name: kind for kind in TENSOR_STYLES}


@cache
def variant_names(name: str) -> dict[str, dataclasses.Field]:
    """Return the fields of all kinds by their names beside field `name`; bound ones have none."""
    fields: dict[str, dataclasses.Field] = {}
    for kind in KINDS.values():
        for field in dataclasses.fields(kind):
            if "bound" not in field.metadata:
                fields.setdefault(f"{name}_{field.name}", field)
    return fields


def variant_values(name: str, part: TensorUnitConfig | None) -> dict[str, Any]:
    """Return kind and fields of `part` by their names, in the form of settings and results."""
    fields = variant_names(name)
    return {name: None if part is None else part.name} | {
        shown: getattr(part, field.name, field.default) for shown, field in fields.items()
    }


def variant_range(name: str, shown: str) -> Range | None:
    """Return the range of one of the names of field `name`."""
    if shown == name:
        return OrNone(Choices(tuple(KINDS)))
    kind, own = owner_of(name, shown)
    return ranges_of(kind).get(own)


def variant_type(name: str, shown: str) -> Any:
    """Return the type of one of the names of field `name`."""
    if shown == name:
        return str | None
    kind, own = owner_of(name, shown)
    return get_type_hints(kind)[own]


def owner_of(name: str, shown: str) -> tuple[type, str]:
    """Return a kind that has one of the names of field `name`, and its own name of this field."""
    own = variant_names(name)[shown].name
    return next(kind for kind in KINDS.values() if has_field(kind, own)), own


def variant_part(
    name: str, part: TensorUnitConfig | None, changes: Mapping[str, Any]
) -> TensorUnitConfig | None:
    """Return `part` with changed values, by the names of `variant_values`.

    A kind chosen where there was none has its own defaults.
    Raise `ValueError` if a value is illegal, or if it is that of a field that the kind lacks and
    not its default.
    """
    for shown, value in changes.items():
        if values := variant_range(name, shown):
            values.require(shown, value)
    chosen = variant_values(name, part) | dict(changes)
    kind = chosen.pop(name)
    values = {}
    for shown, field in variant_names(name).items():
        owners = [owner.name for owner in KINDS.values() if has_field(owner, field.name)]
        if kind in owners:
            if part is not None or shown in changes:
                values[field.name] = chosen[shown]
        elif shown in changes and chosen[shown] != field.default:
            raise ValueError(
                f"{shown} applies to {name} {' or '.join(owners)}; without it, {shown} must be "
                f"{field.default}, not {chosen[shown]!r}"
            )
    if kind is None:
        return None
    try:
        return KINDS[kind](**values)
    except ValueError as error:
        first, _, rest = str(error).partition(" ")
        raise ValueError(f"{name}_{first} {rest}" if first in values else str(error)) from None


def has_field(kind: type, name: str) -> bool:
    """Return whether a class of configs has a field."""
    return name in {field.name for field in dataclasses.fields(kind)}


def tensor_of_result(core: Mapping[str, Any]) -> TensorUnitConfig:
    """Return the tensor unit of a core as results describe it; it must have one."""
    values = {name: core[name] for name in ("tensor", *variant_names("tensor")) if name in core}
    unit = variant_part("tensor", None, values)
    assert unit is not None, "a core without a tensor unit"
    return dataclasses.replace(unit, threads=core["threads"])
