"""Axes of a sweep: dotted fields of the machine or of its memory, each with its values."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...hw.machine.fields import field_names
from ...hw.presets.override import SettingError, override
from ...sim.harness.core_memory import CoreMemoryConfig
from ...sim.harness.dram import DramConfig
from ...sim.run.options import MODEL, RunOptions

__all__ = [
    "Axis",
    "combinations",
    "memory_of",
    "on_machine",
    "on_memory",
    "parsed_axes",
    "require_distinct",
    "require_known",
]

#: Memory models by the first part of the dotted names of their fields.
MEMORIES = {"dram": DramConfig, "memory": CoreMemoryConfig}


@dataclass(frozen=True)
class Axis:
    """A field and the values that it takes.

    Parameters
    ----------
    field : str
        Dotted name: a field of the config, or of a memory model after ``dram.`` or ``memory.``.
    values : tuple of str
        Values, as for `hw.presets.override.override`.

    """

    field: str
    values: tuple[str, ...]

    def __post_init__(self):
        if not self.field or not self.values or not all(self.values):
            raise UserError(
                "an axis of a sweep must be a field with its values, as in core.warps=4,8, not "
                f"{self.field}={','.join(self.values)}"
            )
        require_distinct(f"values of {self.field}", self.values)


def require_distinct(kind: str, names: Sequence[str]):
    """Raise if a name is repeated."""
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"the {kind} must differ, and {name} is repeated; leave it out")


def parsed_axes(settings: Iterable[str]) -> list[Axis]:
    """Return the axes of ``FIELD=V1,V2``; values in parentheses may contain commas."""
    axes: list[Axis] = []
    for setting in settings:
        field, _, values = setting.partition("=")
        parts = re.split(r",(?![^(]*\))", values)
        axes.append(Axis(field.strip(), tuple(part.strip() for part in parts)))
    return axes


def combinations(axes: Sequence[Axis]) -> Iterator[dict[str, str]]:
    """Yield the values of all fields; the last field changes first."""
    for values in product(*(axis.values for axis in axes)):
        yield dict(zip((axis.field for axis in axes), values, strict=True))


def on_machine(config: MachineConfig, settings: Mapping[str, str]) -> MachineConfig:
    """Return a config with the settings of its fields."""
    return override(config, part_of(settings, None))


def on_memory(options: RunOptions, settings: Mapping[str, str]) -> RunOptions:
    """Return options of a run with the settings of the memory's fields."""
    for name, kind in MEMORIES.items():
        if changes := part_of(settings, name):
            memory = kind(seed=options.seed) if options.memory is None else options.memory
            if not isinstance(memory, kind):
                raise UserError(f"{name}.* does not apply to a run with the other memory model")
            options = replace(options, memory=override(memory, changes))
    return options


def part_of(settings: Mapping[str, str], memory: str | None) -> list[str]:
    """Return settings as ``name=value``: those of a memory model, or those of the config."""
    prefix = "" if memory is None else f"{memory}."
    return [
        f"{field.removeprefix(prefix)}={value}"
        for field, value in settings.items()
        if memory_of(field) == memory
    ]


def memory_of(field: str) -> str | None:
    """Return the key in `MEMORIES` of a field, None for a field of the config."""
    first = field.partition(".")[0]
    return first if first in MEMORIES else None


def require_known(
    axes: Sequence[Axis], configs: Collection[MachineConfig], engine: str, *, has_dram: bool
):
    """Raise unless the axes exist.

    A field must exist in one of the configs, and each value must be one of its type. The config's
    own rules, on the range of a value and on combinations, are not checked.

    Parameters
    ----------
    axes : sequence of Axis
        Axes of the sweep.
    configs : collection of MachineConfig
        Configs of the presets.
    engine : str
        Engine of the runs.
    has_dram : bool
        Whether the kernel needs the whole cluster with DRAM.

    """
    require_distinct("fields of a sweep", [axis.field for axis in axes])
    for axis in axes:
        memory = memory_of(axis.field)
        if memory is not None and engine == MODEL:
            raise UserError(f"{axis.field} does not apply to engine {MODEL}, which has no timing")
        if memory == "memory" and has_dram:
            raise UserError(
                f"{axis.field} does not apply to a kernel of the matrix unit, which needs DRAM; "
                "vary fields of dram"
            )
        # The config with the most fields has the best hint for an unknown one.
        parts = sorted(configs, key=lambda config: -len([*field_names(config)]))
        parts = parts if memory is None else [MEMORIES[memory]()]
        for value in axis.values:
            (setting,) = part_of({axis.field: value}, memory)
            errors = [error_of(part, setting) for part in parts]
            if all(errors):
                raise UserError(f"cannot vary {axis.field}: {errors[0]}")


def error_of(config: MachineConfig | DramConfig | CoreMemoryConfig, setting: str) -> str:
    """Return the error in the name or in the type of a setting, "" if there is none."""
    try:
        override(config, [setting])
    except SettingError as error:
        return str(error)
    except ValueError:
        return ""
    return ""
