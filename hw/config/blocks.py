"""Configs of the blocks of a cluster: each holds only the parameters that its block depends on."""

from dataclasses import dataclass

from .cluster import ClusterConfig
from .memory import AxiConfig, DmaConfig, SharedPortConfig

__all__ = ["DmaBlockConfig"]


@dataclass(frozen=True, kw_only=True)
class DmaBlockConfig:
    """A DMA engine and its place in the cluster.

    Parameters
    ----------
    dma : DmaConfig
    axi : AxiConfig
    shared : SharedPortConfig
    drain_bytes : tuple of int
        Bytes of a beat of results of each matrix unit.
    is_multiplexed : bool
        Whether AXI multiplexers arbitrate the masters between the DMA and cores.

    """

    dma: DmaConfig
    axi: AxiConfig
    shared: SharedPortConfig
    drain_bytes: tuple[int, ...]
    is_multiplexed: bool

    @classmethod
    def of(cls, cluster: ClusterConfig) -> "DmaBlockConfig":
        """Return the config of the DMA of a cluster."""
        return cls(
            dma=cluster.dma,
            axi=cluster.axi,
            shared=cluster.shared.port,
            drain_bytes=tuple(matrix.drain_bytes for matrix in cluster.matrices),
            is_multiplexed=cluster.cores > 0,
        )

    @property
    def ports(self) -> int:
        """Descriptor ports, each with a block of registers: one per matrix unit, at least one."""
        return max(1, len(self.drain_bytes))
