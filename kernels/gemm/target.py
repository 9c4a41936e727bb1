"""Unit that a product runs on: a matrix unit of the cluster, or the tensor units of the cores."""

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig, SystolicConfig
from ...hw.config.tensor import HgmmaConfig, TensorConfig

__all__ = [
    "cores_unit",
    "has_fragments",
    "hgmma_unit",
    "is_on_tensor_units",
    "product_macs",
    "product_operand",
    "systolic_unit",
    "tensor_unit",
]


def cores_unit(config: ClusterConfig) -> TensorConfig | HgmmaConfig | None:
    """Return the config of the tensor units of the cores, None without them."""
    return config.tensor_units or config.hgmma_units


def is_on_tensor_units(config: ClusterConfig) -> bool:
    """Return whether products run on the tensor units: there are some, and no matrix unit."""
    return cores_unit(config) is not None and not config.units


def has_fragments(config: ClusterConfig) -> bool:
    """Return whether products take operands from registers, in the order of fragments."""
    return is_on_tensor_units(config) and config.tensor_units is not None


def product_operand(config: ClusterConfig, user: str = "a product") -> str:
    """Return the format of A and B of products; raise `UserError` if no unit computes any."""
    if is_on_tensor_units(config):
        unit = cores_unit(config)
        assert unit is not None
        return unit.operand
    return systolic_unit(config, user).operand


def product_macs(config: ClusterConfig, user: str = "a product") -> int:
    """Return the multiply-adds per cycle of the units of a product, or raise `UserError`."""
    if is_on_tensor_units(config):
        unit = cores_unit(config)
        assert unit is not None
        return config.cores * unit.macs
    return systolic_unit(config, user).macs


def tensor_unit(config: ClusterConfig, user: str = "a product") -> TensorConfig:
    """Return the config of the tensor units fed by registers; raise `UserError` without them."""
    if config.tensor_units is None:
        raise UserError(f"{user} needs tensor units in the cores; this machine has none")
    if config.tensor_units.threads != 8:
        raise UserError(
            f"{user} needs core.threads=8, not {config.tensor_units.threads}: its fragments are "
            "those of warps of 8 threads"
        )
    return config.tensor_units


def hgmma_unit(config: ClusterConfig, user: str = "a product") -> HgmmaConfig:
    """Return the config of the tensor units that read shared memory, or raise `UserError`."""
    if config.hgmma_units is None:
        raise UserError(f"{user} needs core.tensor hgmma; this machine does not have it")
    return config.hgmma_units


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
