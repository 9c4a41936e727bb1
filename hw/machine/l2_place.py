"""Configs of the L2 slices of a machine."""

from dataclasses import replace

from ..cluster.memory_masters import cluster_mux
from ..config import MachineConfig
from ..memory.l2.layouts import L2SliceConfig

__all__ = ["machine_l2"]


def machine_l2(config: MachineConfig) -> L2SliceConfig:
    """Return the config of the slice behind each memory master of the cluster."""
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
