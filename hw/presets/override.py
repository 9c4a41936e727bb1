"""Overrides of config fields by dotted name, as on the command line."""

import dataclasses
import difflib
import types
import typing
from collections.abc import Iterable

from ..machine.fields import elements_of, field_names, field_type, members, variants_of
from ..machine.variants import variant_part

__all__ = ["SettingError", "override"]


ConfigT = typing.TypeVar("ConfigT")


class SettingError(ValueError):
    """A setting names no field of the config, or its value cannot be parsed."""


def override(config: ConfigT, settings: Iterable[str]) -> ConfigT:
    """Return `config` with every ``name=value`` of `settings` applied at once.

    Names are dotted (``matrix.rows``, ``matrix1.rows``). Integers may be hexadecimal. Elements of
    a tuple are separated by commas. ``none`` removes a part if the config allows it.

    Raises
    ------
    SettingError
        If a name is unknown, its part is none in this config, or a value cannot be parsed.
    ValueError
        If the config rejects the combination.

    """
    changes: dict = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise SettingError(f"a setting must be written name=value, not {setting!r}")
        _add_change(changes, config, name.strip(), text.strip())
    try:
        return _replaced(config, changes)
    except TypeError as error:  # raised by a config for a value of the wrong type
        raise ValueError(str(error)) from None


def _add_change(changes: dict, config, name: str, text: str):
    """Parse `text` as the type of field `name` and add it to the tree of `changes`."""
    *parts, last = name.split(".")
    part = config
    for depth, step in enumerate(parts):
        _require_field(config, part, step, name)
        part = members(part)[step]
        path = ".".join(parts[: depth + 1])
        if part is None:
            raise SettingError(f"{name} cannot be set: {path} is none in this config")
        if not members(part):
            raise SettingError(f"{path} has no subfields, so {name!r} names nothing")
        changes = changes.setdefault(step, {})
        if changes is None:
            raise ValueError(f"{name} cannot be set: another setting takes {path} away")
    _require_field(config, part, last, name)
    value = members(part)[last]
    if members(value) and text.lower() != "none":
        fields = ", ".join(field_names(value, f"{name}."))
        raise SettingError(f"{name} is a group of fields; set one of {fields}")
    changes[last] = _parsed(name, text, field_type(part, last))


def _require_field(config, part, step: str, name: str):
    """Raise unless `part` of `config` has a field `step`; `name` is the whole dotted name."""
    if step in members(part):
        return
    names = list(field_names(config))
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    close = close or [known for known in names if known.rpartition(".")[2] == name]
    hint = f"did you mean {close[0]!r}?" if close else f"known are {listed(names)}"
    raise SettingError(f"unknown field {name!r}; {hint}")


def listed(names: Iterable[str]) -> str:
    """Return field names as a list in which each group is one entry, as in ``core.…``."""
    return ", ".join(
        dict.fromkeys(
            f"{first}.…" if dot else first for first, dot, _ in (n.partition(".") for n in names)
        )
    )


def _parsed(name: str, text: str, kind):
    """Return `text` parsed as type `kind`."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        choices = typing.get_args(kind)
        if type(None) in choices and text.lower() == "none":
            return None
        (kind,) = (choice for choice in choices if choice is not type(None))
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        if kinds[1:] == (...,) and text.strip("() ").lower() in ("", "none"):
            return ()
        parts = text.strip("()").split(",")
        if kinds[1:] == (...,):
            kinds = kinds[:1] * len(parts)
        if len(parts) != len(kinds):
            raise SettingError(f"{name} must be {len(kinds)} values with commas, not {text!r}")
        pairs = zip(parts, kinds, strict=True)
        return tuple(_parsed(name, part.strip(), element) for part, element in pairs)
    if kind is bool:
        if text.lower() not in ("true", "false", "1", "0"):
            raise SettingError(f"{name} must be true or false, not {text!r}")
        return text.lower() in ("true", "1")
    if kind is int:
        try:
            return int(text, 0)
        except ValueError:
            raise SettingError(f"{name} must be an integer, not {text!r}") from None
    if kind is float:
        try:
            return float(text)
        except ValueError:
            raise SettingError(f"{name} must be a number, not {text!r}") from None
    if kind is str:
        return text
    raise SettingError(f"{name} cannot be set to {text!r}")


def _replaced(config: typing.Any, changes: dict, prefix: str = "") -> typing.Any:
    """Return `config` with a tree of changes; each part is built once, with all its values.

    Errors name fields from the root: `prefix` is the dotted name of `config`.
    """
    parts = members(config)
    values = {
        name: _replaced(parts[name], value, f"{prefix}{name}.")
        if isinstance(value, dict)
        else value
        for name, value in changes.items()
    }
    for field in dataclasses.fields(config):
        if elements := elements_of(config, field):
            remaining = [values.pop(name, element) for name, element in elements.items()]
            values[field.name] = tuple(element for element in remaining if element is not None)
    try:
        for field in dataclasses.fields(config):
            if given := {
                name: values.pop(name) for name in variants_of(config, field) if name in values
            }:
                values[field.name] = variant_part(field.name, getattr(config, field.name), given)
        return dataclasses.replace(config, **values)
    except ValueError as error:
        first, _, rest = str(error).partition(" ")
        if prefix and first in members(config):
            raise ValueError(f"{prefix}{first} {rest}") from None
        raise
