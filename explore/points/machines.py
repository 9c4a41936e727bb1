"""Machines of a comparison: presets, each with settings of its own."""

import re
from collections.abc import Sequence

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...sim.run.request.machine import configured
from .axes import memory_of, require_distinct

__all__ = ["machines_of", "parsed_machines", "presets_of"]


def presets_of(names: Sequence[str], settings: Sequence[str] = ()) -> dict[str, MachineConfig]:
    """Return the configs of presets by name, all with the same settings."""
    require_distinct("presets", names)
    return {name: configured(name, settings) for name in names}


def machines_of(texts: Sequence[str], settings: Sequence[str] = ()) -> dict[str, MachineConfig]:
    """Return the configs of `parsed_machines` by name, all with further `settings` first."""
    return {
        name: configured(preset, [*settings, *own])
        for name, (preset, own) in parsed_machines(texts).items()
    }


def parsed_machines(texts: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
    """Return preset and settings of each machine by its name, the text without blanks.

    Parameters
    ----------
    texts : sequence of str
        Presets with settings, as in ``virgo`` or ``virgo,matrix.rows=8``; values in parentheses
        may contain commas.

    """
    machines = {}
    for text in texts:
        preset, *settings = [part.strip() for part in re.split(r",(?![^(]*\))", text)]
        for setting in settings:
            field, equals, value = setting.partition("=")
            if not (field and equals and value):
                raise UserError(
                    f"a machine must be a preset with settings, as in virgo,matrix.rows=8, not "
                    f"{text!r}"
                )
            if memory_of(field) is not None:
                raise UserError(
                    f"{setting} would give {preset} another memory: all machines of a comparison "
                    "have the same one; use --dram-... or --memory-..."
                )
        name = ",".join([preset, *settings])
        require_distinct("machines of a comparison", [*machines, name])
        machines[name] = preset, settings
    return machines
