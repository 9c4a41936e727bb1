"""Configs of the AXI multiplexers and L2 slices of a cluster."""

from dataclasses import replace

from ..config import ClusterConfig, CoreAccessConfig, DmaBlockConfig
from ..lib.axi_mux import AxiMuxConfig
from ..memory.l2.layouts import L2SliceConfig

__all__ = ["cluster_l2", "cluster_mux"]


def cluster_mux(config: ClusterConfig) -> AxiMuxConfig:
    """Return the config of the AXI multiplexer at each master: the DMA, if any, then cores."""
    if config.core is None:
        raise ValueError("cores must be at least 1 to have AXI multiplexers, not 0")
    widths = [CoreAccessConfig.of(config.core).id_width] * config.cores
    if config.dma is not None:
        widths.insert(0, DmaBlockConfig.of(config).axi.id_width)
    return AxiMuxConfig(id_widths=tuple(widths), data_width=config.axi.data_width)


def cluster_l2(config: ClusterConfig) -> L2SliceConfig:
    """Return the config of the slice behind the multiplexer of each AXI master of a cluster."""
    mux, l2 = cluster_mux(config), config.l2
    if config.dma is None:  # the first core is source 0 of the multiplexer
        cores = tuple(source - 1 for source in l2.no_allocate_sources if source)
        l2 = replace(l2, no_allocate_sources=cores)
    return L2SliceConfig(
        l2=l2,
        data_width=config.axi.data_width,
        id_width=mux.outer_id_width,
        source_width=mux.source_width,
        masters=config.axi.masters,
    )
