"""Configs of the blocks of a cluster: each holds only the parameters that its block depends on."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from amaranth.utils import ceil_log2

from .cache import CacheConfig
from .cluster import ClusterConfig
from .core import CoreConfig
from .memory import AxiConfig, DmaConfig, SharedPortConfig
from .unit import UnitConfig

__all__ = ["CoreMemoryConfig", "DmaBlockConfig", "MatrixUnitConfig", "MemoryUnitConfig"]


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
            drain_bytes=tuple(unit.drain_bytes for unit in cluster.units),
            is_multiplexed=cluster.cores > 0,
        )

    @property
    def ports(self) -> int:
        """Descriptor ports, each with a block of registers: one per matrix unit, at least one."""
        return max(1, len(self.drain_bytes))


#: Config of a kind of matrix unit.
Kind = TypeVar("Kind", bound=UnitConfig)


@dataclass(frozen=True, kw_only=True)
class MatrixUnitConfig(Generic[Kind]):
    """A matrix unit of any kind and the shared memory it reads.

    Parameters
    ----------
    matrix : UnitConfig
    shared : SharedPortConfig

    """

    matrix: Kind
    shared: SharedPortConfig

    @classmethod
    def of(cls, cluster: ClusterConfig, number: int = 0) -> "MatrixUnitConfig[Any]":
        """Return the config of matrix unit `number` of a cluster."""
        if number >= len(cluster.units):
            raise ValueError(
                f"number of a matrix unit must be below {len(cluster.units)}, not {number}"
            )
        return MatrixUnitConfig(matrix=cluster.units[number], shared=cluster.shared.port)


@dataclass(frozen=True, kw_only=True)
class CoreMemoryConfig:
    """A core as its memory unit sees it.

    Parameters
    ----------
    warps : int
    instruction_buffer : int
        Decoded instructions buffered per warp.
    request_lanes : int
        Lanes of a request for data.
    tag_width : int
        Bits of the tag of a request for data.
    lane_accesses : int
        Loads and stores of all threads in flight at a time.
    transactions : int
        DRAM reads and writes in flight at a time.
    shared_ports : int
        Words of shared memory read or written per cycle.
    l1i, l1d : CacheConfig

    """

    warps: int
    instruction_buffer: int
    request_lanes: int
    tag_width: int
    lane_accesses: int
    transactions: int
    shared_ports: int
    l1i: CacheConfig
    l1d: CacheConfig

    @classmethod
    def of(cls, core: CoreConfig) -> "CoreMemoryConfig":
        """Return the memory side of a core."""
        return cls(
            warps=core.warps,
            instruction_buffer=core.instruction_buffer,
            request_lanes=core.request_lanes,
            tag_width=core.tag_width,
            lane_accesses=core.accesses * core.threads,
            transactions=core.transactions,
            shared_ports=core.shared_ports or core.request_lanes,
            l1i=core.l1i,
            l1d=core.l1d,
        )

    @property
    def mshr_width(self) -> int:
        """Bits of an MSHR's number in either cache."""
        return ceil_log2(max(self.l1i.mshrs, self.l1d.mshrs))

    @property
    def id_width(self) -> int:
        """Bits of an AXI id: MSHR number, and the cache above it."""
        return 1 + self.mshr_width


@dataclass(frozen=True, kw_only=True)
class MemoryUnitConfig:
    """The memory unit of a core and its place in the cluster.

    Parameters
    ----------
    core : CoreMemoryConfig
    cores : int
        Cores of the cluster, whose output areas are mapped.
    matrices : int
        Matrix units of the cluster, whose registers are mapped.
    axi : AxiConfig
    shared : SharedPortConfig

    """

    core: CoreMemoryConfig
    cores: int
    matrices: int
    axi: AxiConfig
    shared: SharedPortConfig

    @classmethod
    def of(cls, cluster: ClusterConfig) -> "MemoryUnitConfig":
        """Return the config of the memory unit of each core of a cluster."""
        if cluster.core is None:
            raise ValueError("cores must be at least 1 to have memory, not 0")
        return cls(
            core=CoreMemoryConfig.of(cluster.core),
            cores=cluster.cores,
            matrices=len(cluster.units),
            axi=cluster.axi,
            shared=cluster.shared.port,
        )
