"""Table of the functional models of matrix units, by the class of their configs."""

from collections.abc import Callable
from typing import Any

from ....hw.config import SystolicConfig, UnitConfig
from .systolic import SystolicDevice

__all__ = ["UNIT_MODELS"]

#: ``device(config, agenda, memory, number)``: the functional model of unit `number` of the
#: cluster, with the methods and attributes of `SystolicDevice` that `Devices` uses.
UNIT_MODELS: dict[type[UnitConfig], Callable[..., Any]] = {
    SystolicConfig: SystolicDevice,
}
