"""Fields of a machine's config by dotted names, as in settings and results."""

import dataclasses
import typing
from collections.abc import Iterator

from ..config.ranges import Range, ranges_of
from ..isa.memory_map import numbered
from .variants import variant_range, variant_type, variant_values

__all__ = [
    "elements_of",
    "field_names",
    "field_range",
    "field_type",
    "members",
    "plain_config",
    "variants_of",
]


def field_names(config, prefix: str = "") -> Iterator[str]:
    """Yield the dotted name of every leaf field of `config`."""
    for name, value in members(config).items():
        if members(value):
            yield from field_names(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def members(part) -> dict[str, typing.Any]:
    """Return the members of a config that a dotted name can select next.

    They are its fields. A field with the metadata ``element`` is replaced by its elements, with
    this name and their number; None stands for the first of no elements. One with the metadata
    ``variants`` is replaced by its kind and fields, see `variants`. One that the config around it
    sets is left out.
    """
    parts = {}
    for field in dataclasses.fields(part) if dataclasses.is_dataclass(part) else ():
        if is_bound(field):
            continue
        parts |= (
            elements_of(part, field)
            or variants_of(part, field)
            or {field.name: getattr(part, field.name)}
        )
    return parts


def plain_config(config) -> typing.Any:
    """Return a config as dictionaries, in the form of results: elements in tuples, kinds by name.

    Names are those of settings but for elements, which are in a tuple under the field's name.
    """
    if isinstance(config, tuple):
        return tuple(map(plain_config, config))
    if not dataclasses.is_dataclass(config):
        return config
    plain = {}
    for field in dataclasses.fields(config):
        if is_bound(field):
            continue
        plain |= variants_of(config, field) or {
            field.name: plain_config(getattr(config, field.name))
        }
    return plain


def is_bound(field: dataclasses.Field) -> bool:
    """Return whether the config around sets the field."""
    return "bound" in field.metadata


def field_range(part, name: str) -> Range | None:
    """Return the range of a member of a config, None if it has none."""
    for field in dataclasses.fields(part):
        if name in variants_of(part, field):
            return variant_range(field.name, name)
    return ranges_of(type(part)).get(name)


def variants_of(part, field: dataclasses.Field) -> dict[str, typing.Any]:
    """Return kind and fields of a field by name; none if it has no variants."""
    if "variants" not in field.metadata:
        return {}
    return variant_values(field.name, getattr(part, field.name))


def elements_of(part, field: dataclasses.Field) -> dict[str, typing.Any]:
    """Return the elements of a field by name; none if a dotted name selects the field itself."""
    name = field.metadata.get("element")
    if name is None:
        return {}
    elements = getattr(part, field.name) or (None,)
    return {numbered(name, number): element for number, element in enumerate(elements)}


def field_type(part, name: str):
    """Return the type of a member of a config."""
    for field in dataclasses.fields(part):
        if name in variants_of(part, field):
            return variant_type(field.name, name)
    # An element may be removed.
    return typing.get_type_hints(type(part)).get(name, object | None)
