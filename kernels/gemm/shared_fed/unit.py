"""Tensor units with operands in shared memory, of a machine that has them."""

from collections.abc import Iterator

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.styles.shared_fed.config import (
    SWIZZLE_ROW_BYTES,
    SWIZZLE_UNIT_BYTES,
    SharedFedConfig,
)

__all__ = ["CONSTANTS", "shared_fed_unit", "sizes"]

#: Constants of the programs of all machines: the layout `swizzle128`.
CONSTANTS = {"SWIZZLE_ROW_BYTES": SWIZZLE_ROW_BYTES, "SWIZZLE_UNIT_BYTES": SWIZZLE_UNIT_BYTES}


def shared_fed_unit(config: MachineConfig, user: str = "a product") -> SharedFedConfig:
    """Return the config of the tensor units that read shared memory, or raise `UserError`."""
    if not isinstance(config.tensor, SharedFedConfig):
        raise UserError(f"{user} needs core.tensor hgmma; this machine does not have it")
    return config.tensor


def sizes(unit: SharedFedConfig) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and meaning of each size of a unit that programs use."""
    width = unit.operand_width
    yield "hgmma_operand_bits", str(width), "bits of an element of A and B of hgmma"
    is_swizzled = str(int(unit.is_swizzled))
    yield "hgmma_is_swizzled", is_swizzled, "whether its operands have layout swizzle128"
