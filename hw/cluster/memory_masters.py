"""Memory masters of a cluster: AXI multiplexers of its DMA and cores."""

from ..config import ClusterConfig, CoreAccessConfig, DmaBlockConfig
from ..lib.axi import Axi4Signature
from ..lib.axi_mux import AxiMuxConfig

__all__ = ["cluster_mux", "master_signature"]


def cluster_mux(config: ClusterConfig) -> AxiMuxConfig:
    """Return the config of the AXI multiplexer at each master: the DMA, if any, then cores."""
    if config.core is None:
        raise ValueError("cores must be at least 1 to have AXI multiplexers, not 0")
    core = CoreAccessConfig.of(config.core)
    widths = [core.id_width] * config.cores
    if config.dma is not None:
        widths.insert(0, DmaBlockConfig.of(config).axi.id_width)
    return AxiMuxConfig(
        id_widths=tuple(widths),
        data_width=config.axi.data_width,
        owner_width=core.atomic_owner_width,
        plain_sources=int(core.atomics and config.dma is not None),
    )


def master_signature(config: ClusterConfig) -> Axi4Signature:
    """Return the signature of each memory master; ids number the source with cores."""
    axi = config.axi
    if config.cores:
        return cluster_mux(config).signature()
    return Axi4Signature(address_width=32, data_width=axi.data_width, id_width=axi.id_width)
