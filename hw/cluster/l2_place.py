"""Configs of the AXI multiplexers and L2 slices of a cluster."""

from ..config import ClusterConfig, CoreAccessConfig
from ..lib.axi_mux import AxiMuxConfig
from ..memory.l2.layouts import L2SliceConfig

__all__ = ["cluster_l2", "cluster_mux"]


def cluster_mux(config: ClusterConfig) -> AxiMuxConfig:
    """Return the config of the AXI multiplexer at each master: source 0 is the DMA, then cores."""
    if config.core is None:
        raise ValueError("cores must be at least 1 to have AXI multiplexers, not 0")
    return AxiMuxConfig(
        id_widths=(
            config.axi.id_width,
            *[CoreAccessConfig.of(config.core).id_width] * config.cores,
        ),
        data_width=config.axi.data_width,
    )


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
