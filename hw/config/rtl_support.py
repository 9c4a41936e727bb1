"""Limits of the RTL, checked without building any hardware."""

from ..base.errors import UserError
from . import ClusterConfig
from .tensor import READ_BYTES

__all__ = ["require_rtl"]


#: Words of shared memory that all cores together may request in a cycle.
NARROW_PORTS = 256


def require_rtl(config: ClusterConfig) -> None:
    """Raise if a cluster has parts that exist as models only."""
    if config.core is None:
        return
    shared, tile = config.shared, config.hgmma_units
    if tile is not None and (
        shared.line_bytes < READ_BYTES or shared.size < 2 * tile.operand_bytes
    ):
        raise UserError(
            f"shared must have lines of {READ_BYTES} bytes or more and a size of "
            f"{2 * tile.operand_bytes} bytes or more in RTL with core.tensor=hgmma, not "
            f"{shared.line_bytes} and {shared.size}"
        )
    ports = config.cores * config.core_shared_ports
    if ports > NARROW_PORTS:
        raise UserError(
            f"core.shared_ports must give {config.cores} cores at most {NARROW_PORTS} ports of "
            f"shared memory in RTL, not {config.core_shared_ports} each"
        )
