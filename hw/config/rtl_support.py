"""Limits of the RTL, checked without building any hardware."""

from ...base.errors import UserError
from . import ClusterConfig

__all__ = ["require_rtl"]


#: Words of shared memory that all cores together may request in a cycle.
NARROW_PORTS = 256


def require_rtl(config: ClusterConfig, clusters: int = 1) -> None:
    """Raise if one of `clusters` has parts that exist as models only."""
    if config.core is None:
        return
    if config.core.atomics:
        raise UserError(
            "core.atomics must be False in RTL, not True: only the instruction-set model has "
            "atomic instructions"
        )
    if config.core.transaction_barriers:
        raise UserError(
            "core.transaction_barriers must be False in RTL, not True: only the instruction-set "
            "model has transaction barriers"
        )
    if config.tensor is not None:
        config.tensor.require_memory(config.shared)
    ports = config.cores * config.core_shared_ports
    # Several clusters have one port more, for each other.
    most = NARROW_PORTS - (clusters > 1)
    if ports > most:
        raise UserError(
            f"core.shared_ports must give {config.cores} cores at most {most} ports of "
            f"shared memory in RTL, not {config.core_shared_ports} each"
        )
