"""Unit that a product runs on: a matrix unit of the cluster, or the tensor units of the cores."""

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig, SystolicConfig
from ...hw.config.tensor import TensorConfig

__all__ = ["is_on_tensor_units", "systolic_unit", "tensor_unit"]


def is_on_tensor_units(config: ClusterConfig) -> bool:
    """Return whether products run on the tensor units: there are some, and no matrix unit."""
    return config.tensor_units is not None and not config.units


def tensor_unit(config: ClusterConfig, user: str = "a product") -> TensorConfig:
    """Return the config of the tensor units; raise `UserError` without them."""
    if config.tensor_units is None:
        raise UserError(f"{user} needs tensor units in the cores; this machine has none")
    return config.tensor_units


def systolic_unit(config: ClusterConfig, user: str = "a product") -> SystolicConfig:
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
