"""Matrix unit that a product runs on."""

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig, SystolicConfig

__all__ = ["systolic_unit"]


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
