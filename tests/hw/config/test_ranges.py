"""Tests of the ranges of config fields, each stated once, and of their ends on the presets."""

import dataclasses
import re
import typing

import pytest

from spica.hw.config import (
    AxiConfig,
    CacheConfig,
    CoreConfig,
    DmaConfig,
    L2Config,
    MachineConfig,
    SharedMemoryConfig,
    SystolicConfig,
)
from spica.hw.config.ranges import Choices, Flag, OrNone, ranges_of
from spica.hw.machine.fields import field_names
from spica.hw.presets import PRESETS
from spica.hw.presets.ends import changes_to_ends, end_values, range_of, value_of
from spica.hw.presets.override import override
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig

KINDS = (
    *(AxiConfig, CacheConfig, MachineConfig, CoreConfig, DmaConfig),
    *(L2Config, SharedMemoryConfig, SystolicConfig, RegisterFedConfig, SharedFedConfig),
)
FIELDS = [(kind, name) for kind in KINDS for name in ranges_of(kind)]
#: Fields without a range: parts, and tuples with rules of their own.
WITHOUT = {"core", "shared", "units", "tensor", "dma", "axi", "l2", "l1i", "l1d", "tile"}
WITHOUT |= {"no_allocate_sources"}


def inner(kind, name):
    """Return the range of a field without its None."""
    values = ranges_of(kind)[name]
    return values.range if isinstance(values, OrNone) else values


def test_every_field_of_a_number_a_name_or_a_flag_has_a_range():
    for kind in KINDS:
        own = {
            own_field.name
            for own_field in dataclasses.fields(kind)
            if "bound" not in own_field.metadata
        }
        assert own - set(ranges_of(kind)) <= WITHOUT


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=lambda part: getattr(part, "__name__", part))
def test_a_value_outside_the_range_is_refused_with_rule_and_value(kind, name):
    values = inner(kind, name)
    if isinstance(values, Flag | Choices):
        wrong = [3 if isinstance(values, Flag) else "nothing"]
    else:
        wrong = [values.values[0] - 1, values.values[-1] + 1, 1.5, True]
    for value in wrong:
        with pytest.raises(
            (TypeError, ValueError), match=f"^{name} must be .*, not {re.escape(repr(value))}$"
        ):
            dataclasses.replace(kind(), **{name: value})


def test_none_is_a_value_only_of_optional_fields():
    for kind, name in FIELDS:
        is_optional = type(None) in typing.get_args(typing.get_type_hints(kind)[name])
        assert isinstance(ranges_of(kind)[name], OrNone) == is_optional
        if not is_optional:
            with pytest.raises((TypeError, ValueError), match=f"^{name} must be "):
                dataclasses.replace(kind(), **{name: None})


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.quick(5)
def test_ends_are_legal_and_the_values_beyond_are_refused(preset):
    config = PRESETS[preset]
    for name in field_names(config):
        values = range_of(config, name)
        if values is None:
            continue
        ends = end_values(config, name)
        assert ends, f"{name} must have a legal value"
        for value in ends:
            assert value_of(override(config, [f"{name}={value}"]), name) == value
        whole = values.range if isinstance(values, OrNone) else values
        if isinstance(whole, Choices | Flag):
            continue
        ordered = [end for end in ends if end is not None]
        for value in whole.values:
            if not ordered[0] <= value <= ordered[-1]:
                with pytest.raises(ValueError, match=r" must |cannot"):
                    override(config, [f"{name}={value}"])


def test_changes_are_those_of_every_end_but_the_own_value():
    config = PRESETS["tiny"]
    changes = list(changes_to_ends(config))
    assert {("dma.queue", 1), ("dma.queue", 16), ("core.snoop", False), ("cores", 32)} <= {*changes}
    assert all(value_of(config, name) != value for name, value in changes)
