"""Unit that a product runs on: a matrix unit of the cluster, or the tensor units of the cores."""

from collections.abc import Mapping
from typing import TypeVar

from ...base.errors import UserError
from ...hw.config import MachineConfig, SystolicConfig, TensorUnitConfig, UnitConfig

__all__ = [
    "is_on_tensor_units",
    "product_macs",
    "product_operand",
    "product_unit",
    "style_in",
    "systolic_unit",
]


Style = TypeVar("Style")


def is_on_tensor_units(config: MachineConfig) -> bool:
    """Return whether products run on the tensor units: there are some, and no matrix unit."""
    return config.tensor is not None and not config.units


def product_unit(config: MachineConfig, user: str = "a product") -> UnitConfig | TensorUnitConfig:
    """Return the first matrix unit, or the tensor unit of each core.

    Raise `UserError`, which names `user`, if the machine has neither.
    """
    if config.units:
        return config.units[0]
    if config.tensor is None:
        raise UserError(f"{user} needs a matrix unit; this machine has none")
    return config.tensor


def style_in(
    table: Mapping[type[UnitConfig | TensorUnitConfig], Style], config: MachineConfig, user: str
) -> Style:
    """Return the entry of a table of styles for the unit on which a machine multiplies matrices.

    Raise `UserError`, which names `user`, if there is no unit or no entry for it.
    """
    kind = type(product_unit(config, user))
    if kind not in table:
        raise UserError(f"{user} has no program for units of {kind.__name__}")
    return table[kind]


def product_operand(config: MachineConfig, user: str = "a product") -> str:
    """Return the format of A and B of products; raise `UserError` if no unit computes any."""
    return product_unit(config, user).operand


def product_macs(config: MachineConfig, user: str = "a product") -> int:
    """Return the multiply-adds per cycle of the units of a product, or raise `UserError`."""
    units = config.cores if is_on_tensor_units(config) else 1
    return units * product_unit(config, user).macs


def systolic_unit(config: MachineConfig, user: str = "a product") -> SystolicConfig:
    """Return the first matrix unit of a machine.

    Raises
    ------
    UserError
        If there is none, or it is no systolic array; the message names `user`.

    """
    if not config.units:
        raise UserError(f"{user} needs a matrix unit; this machine has none")
    unit = config.units[0]
    if not isinstance(unit, SystolicConfig):
        raise UserError(
            f"{user} needs a systolic array as first matrix unit; this machine has "
            f"{type(unit).__name__}"
        )
    return unit
