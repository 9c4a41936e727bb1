"""Configs of the blocks of a cluster: each holds only the parameters that its block depends on."""

from dataclasses import dataclass

from .cluster import ClusterConfig
from .matrix import MatrixConfig
from .memory import AxiConfig, DmaConfig, SharedPortConfig

__all__ = ["DmaBlockConfig", "MatrixUnitConfig"]


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


@dataclass(frozen=True, kw_only=True)
class MatrixUnitConfig:
    """A matrix unit and the shared memory it reads.

    Parameters
    ----------
    matrix : MatrixConfig
    shared : SharedPortConfig

    """

    matrix: MatrixConfig
    shared: SharedPortConfig

    @classmethod
    def of(cls, cluster: ClusterConfig, number: int = 0) -> "MatrixUnitConfig":
        """Return the config of matrix unit `number` of a cluster."""
        if number >= len(cluster.matrices):
            raise ValueError(
                f"number of a matrix unit must be below {len(cluster.matrices)}, not {number}"
            )
        return cls(matrix=cluster.matrices[number], shared=cluster.shared.port)
