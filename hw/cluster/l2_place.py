"""Config of the L2 slices of a cluster."""

from ..config import ClusterConfig
from ..memory.l2.layouts import L2SliceConfig
from ..memory.memory_unit.memory_unit import cluster_mux

__all__ = ["cluster_l2"]


def cluster_l2(config: ClusterConfig) -> L2SliceConfig:
    """Return the config of the slice behind the multiplexer of each AXI master of a cluster."""
    mux = cluster_mux(config)
    return L2SliceConfig(
        l2=config.l2,
        data_width=config.axi.data_width,
        id_width=mux.outer_id_width,
        source_width=mux.source_width,
        masters=config.axi.masters,
    )
