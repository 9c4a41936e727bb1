"""Configs of the L2 slices of a machine."""

from dataclasses import replace

from ..cluster.memory_masters import cluster_mux
from ..config import MachineConfig
from ..lib.axi_mux import AxiMuxConfig
from ..memory.l2.slice_config import MOST_RESERVATIONS, L2SliceConfig

__all__ = ["machine_l2", "machine_mux"]


def machine_mux(config: MachineConfig) -> AxiMuxConfig:
    """Return the config of the AXI multiplexer of the clusters before each slice."""
    inner = cluster_mux(config)
    return AxiMuxConfig(
        id_widths=(inner.outer_id_width,) * config.clusters,
        data_width=config.axi.data_width,
        owner_width=inner.owner_width,
    )


def machine_l2(config: MachineConfig) -> L2SliceConfig:
    """Return the config of the slice behind each memory master of the clusters.

    A source is a cluster, in the upper bits, and one of its sources. With atomics there are as many
    reservations as a warp has threads.
    """
    mux, inner = machine_mux(config), cluster_mux(config)
    sources = config.l2.no_allocate_sources
    atomics = {}
    if config.core is not None and mux.owner_width is not None:
        threads = min(config.core.threads, MOST_RESERVATIONS)
        atomics = {"owner_width": mux.owner_width, "reservations": threads}
    if config.dma is None:  # the first core is source 0 of the multiplexer
        sources = tuple(source - 1 for source in sources if source)
    everywhere = tuple(
        cluster << inner.source_width | source
        for cluster in range(config.clusters)
        for source in sources
    )
    return L2SliceConfig(
        l2=replace(config.l2, no_allocate_sources=everywhere),
        data_width=config.axi.data_width,
        id_width=mux.outer_id_width,
        source_width=mux.source_width + inner.source_width,
        masters=config.axi.masters,
        **atomics,
    )
