"""Machine of a run: a preset with settings, or a config of the user."""

from collections.abc import Sequence
from typing import TypeVar

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.presets import PRESETS
from ....hw.presets.override import override
from .choices import choose

__all__ = ["changed", "configured"]

Config = TypeVar("Config")


def configured(preset: str, settings: Sequence[str]) -> MachineConfig:
    """Return the config of a preset with the settings of ``--set``."""
    return changed(PRESETS[choose("preset", preset, PRESETS)], settings)


def changed(config: Config, settings: Sequence[str]) -> Config:
    """Return a config with the settings of ``--set``; the same one without any."""
    if not settings:
        return config
    try:
        return override(config, settings)
    except ValueError as error:
        raise UserError(f"cannot set {', '.join(settings)}: {error}") from None
