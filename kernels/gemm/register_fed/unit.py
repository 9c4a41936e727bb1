"""Tensor units with operands in registers, of a machine that has them."""

from collections.abc import Iterator

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.styles.register_fed.config import RegisterFedConfig

__all__ = ["register_fed_unit", "sizes"]


def register_fed_unit(config: MachineConfig, user: str = "a product") -> RegisterFedConfig:
    """Return the config of the tensor units fed by registers; raise `UserError` without them."""
    unit = config.tensor
    if not isinstance(unit, RegisterFedConfig):
        raise UserError(f"{user} needs tensor units in the cores; this machine has none")
    if unit.threads != 8:
        raise UserError(
            f"{user} needs core.threads=8, not {unit.threads}: its fragments are "
            "those of warps of 8 threads"
        )
    return unit


def sizes(unit: RegisterFedConfig) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and meaning of each size of a unit that programs use."""
    width = unit.operand_width
    yield "tensor_operand_bits", str(width), "bits of an operand of hmma in a register"
