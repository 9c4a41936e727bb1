"""Configs of the blocks of a cluster: each holds only the parameters that its block depends on."""

from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from amaranth.utils import ceil_log2

from ..isa.memory_map import SHARED_BASE
from ..isa.progress import WaitKind, progress_offsets
from .cache import CacheConfig
from .cluster import ClusterConfig
from .core import CoreConfig, PipelineConfig
from .memory import AxiConfig, DmaConfig, SharedPortConfig
from .parts import OPTIONAL
from .unit import UnitConfig

__all__ = [
    "ClusterBarrierConfig",
    "CoreAccessConfig",
    "CoreBlockConfig",
    "DmaBlockConfig",
    "MatrixUnitConfig",
    "MemoryUnitConfig",
    "ProgressConfig",
    "RunControlConfig",
    "TensorBlockConfig",
    "UnitRegisterBusConfig",
]


#: Most bits of the ids of a DMA in front of the L2.
INNER_ID_WIDTH = 4


def core_of(cluster: ClusterConfig) -> CoreConfig:
    """Return the config of the cores of a cluster."""
    if cluster.core is None:
        raise ValueError("cores must be at least 1 for the blocks of a core, not 0")
    return cluster.core


@dataclass(frozen=True, kw_only=True)
class DmaBlockConfig:
    """A DMA engine and its place in the cluster.

    Parameters
    ----------
    dma : DmaConfig
    axi : AxiConfig
        With cores its ids have at most `INNER_ID_WIDTH` bits: the DMA uses id 0 only, and the L2
        has a table of all ids of its requesters.
    shared : SharedPortConfig
    drain_bytes : tuple of int
        Bytes of a beat of results of each matrix unit.
    fill_bytes : tuple of int
        Bytes of an accumulator row of each matrix unit; 0 for those without loads of D.
    is_multiplexed : bool
        Whether AXI multiplexers arbitrate the masters between the DMA and cores, which also wait
        for its descriptors (``vx_wait``).

    """

    dma: DmaConfig
    axi: AxiConfig
    shared: SharedPortConfig
    drain_bytes: tuple[int, ...]
    fill_bytes: tuple[int, ...]
    is_multiplexed: bool

    @classmethod
    def of(cls, cluster: ClusterConfig) -> "DmaBlockConfig":
        """Return the config of the DMA of a cluster."""
        if cluster.dma is None:
            raise ValueError("dma must not be none for the blocks of a DMA")
        id_width = cluster.axi.id_width
        if cluster.cores:
            id_width = min(id_width, INNER_ID_WIDTH)
        return cls(
            dma=cluster.dma,
            axi=replace(cluster.axi, id_width=id_width),
            shared=cluster.shared.port,
            drain_bytes=tuple(unit.drain_bytes for unit in cluster.units),
            fill_bytes=tuple(unit.fill_bytes for unit in cluster.units),
            is_multiplexed=cluster.cores > 0,
        )

    @property
    def fills(self) -> bool:
        """Whether the DMA writes into the accumulator of a matrix unit."""
        return any(self.fill_bytes)

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
    reports_progress : bool
        Whether cores wait for the unit (``vx_wait``).

    """

    matrix: Kind
    shared: SharedPortConfig
    reports_progress: bool = field(default=False, metadata=OPTIONAL)

    @classmethod
    def of(cls, cluster: ClusterConfig, number: int = 0) -> "MatrixUnitConfig[Any]":
        """Return the config of matrix unit `number` of a cluster."""
        if number >= len(cluster.units):
            raise ValueError(
                f"number of a matrix unit must be below {len(cluster.units)}, not {number}"
            )
        return MatrixUnitConfig(
            matrix=cluster.units[number],
            shared=cluster.shared.port,
            reports_progress=cluster.cores > 0,
        )


@dataclass(frozen=True, kw_only=True)
class CoreAccessConfig:
    """A core from the view of its memory unit.

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
    atomics : bool
        Whether the core has atomic instructions.
    owner_width : int
        With atomics: bits of the warp and the beat of a request.

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
    atomics: bool = field(default=False, metadata=OPTIONAL)
    owner_width: int = field(default=0, metadata=OPTIONAL)

    @classmethod
    def of(cls, core: CoreConfig) -> "CoreAccessConfig":
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
            atomics=core.atomics,
            owner_width=core.owner_width if core.atomics else 0,
        )

    @property
    def thread_width(self) -> int:
        """With atomics: bits of the number of a thread of the core, with the lane below the owner.

        The number is unique, but not all numbers are in use.
        """
        return ceil_log2(self.request_lanes) + self.owner_width

    @property
    def atomic_owner_width(self) -> int | None:
        """Bits of the owner of an atomic in DRAM, its thread; None without atomics."""
        return self.thread_width if self.atomics else None

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
    core : CoreAccessConfig
    cores : int
        Cores of the cluster, whose output areas are mapped.
    matrices : int
        Matrix units of the cluster, whose registers are mapped.
    has_dma : bool
        Whether the cluster has a DMA. Without one no unit has registers.
    axi : AxiConfig
    shared : SharedPortConfig
    row_bytes : int or None
        Bytes of a row of shared memory, for the row port; None without one.
    clusters : int
        Clusters of the machine. With several, all have windows.

    """

    core: CoreAccessConfig
    cores: int
    matrices: int
    has_dma: bool
    axi: AxiConfig
    shared: SharedPortConfig
    row_bytes: int | None = None
    clusters: int = field(default=1, metadata=OPTIONAL)

    @classmethod
    def of(cls, cluster: ClusterConfig, clusters: int = 1) -> "MemoryUnitConfig":
        """Return the config of the memory unit of each core of a cluster, one of `clusters`."""
        return cls(
            core=CoreAccessConfig.of(core_of(cluster)),
            cores=cluster.cores,
            matrices=len(cluster.units),
            has_dma=cluster.dma is not None,
            axi=cluster.axi,
            shared=cluster.shared.port,
            row_bytes=cluster.row_bytes,
            clusters=clusters,
        )


@dataclass(frozen=True, kw_only=True)
class ProgressConfig:
    """A unit register that warps can wait for.

    Parameters
    ----------
    address : int
        Address of the register for cores.
    is_counter : bool
        Whether warps wait until it is at or past a number, rather than at most a number.

    """

    address: int
    is_counter: bool

    @classmethod
    def all_of(cls, cluster: ClusterConfig) -> "tuple[ProgressConfig, ...]":
        """Return the registers of the units of a cluster with a DMA, in the order of the units."""
        window = SHARED_BASE + cluster.shared.size
        return tuple(
            cls(address=window + offset, is_counter=kind is WaitKind.AT_LEAST)
            for offset, kind in progress_offsets(len(cluster.units))
        )


@dataclass(frozen=True, kw_only=True)
class CoreBlockConfig:
    """A core and its place in the cluster.

    Parameters
    ----------
    core : PipelineConfig
    cores : int
        Cores of the cluster.
    barriers : int
        Barriers of the cluster.
    barrier_scope : str
        See `ClusterConfig`.
    shared : SharedPortConfig or None
        Shared memory, for tensor units that read it; None without them.
    clusters : int
        Clusters of the machine.
    progress : tuple of ProgressConfig
        Unit registers that warps can wait for; none without a DMA.

    """

    core: PipelineConfig
    cores: int
    barriers: int
    barrier_scope: str
    shared: SharedPortConfig | None = None
    clusters: int = 1
    progress: tuple[ProgressConfig, ...] = field(default=(), metadata=OPTIONAL)

    @classmethod
    def of(cls, cluster: ClusterConfig, clusters: int = 1) -> "CoreBlockConfig":
        """Return the config of each core of a cluster, one of `clusters`."""
        return cls(
            core=core_of(cluster).pipeline,
            cores=cluster.cores,
            barriers=cluster.barriers,
            barrier_scope=cluster.barrier_scope,
            shared=cluster.shared.port if core_of(cluster).tensor_reads else None,
            clusters=clusters,
            progress=() if cluster.dma is None else ProgressConfig.all_of(cluster),
        )


@dataclass(frozen=True, kw_only=True)
class TensorBlockConfig:
    """The tensor unit of a core, of any style.

    Parameters
    ----------
    core : PipelineConfig
        With a tensor unit.
    shared : SharedPortConfig or None
        Shared memory, for units that read it; None for others.

    """

    core: PipelineConfig
    shared: SharedPortConfig | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterBarrierConfig:
    """The barriers across the cores of a cluster.

    Parameters
    ----------
    cores, barriers : int

    """

    cores: int
    barriers: int

    @classmethod
    def of(cls, cluster: ClusterConfig) -> "ClusterBarrierConfig":
        """Return the config of the barriers of a cluster."""
        return cls(cores=cluster.cores, barriers=cluster.barriers)


@dataclass(frozen=True, kw_only=True)
class RunControlConfig:
    """The cores of a machine from the view of run control.

    Parameters
    ----------
    cores : int
        Cores of a cluster.
    clusters : int
    warps, threads : int
        Warps per core and threads per warp.
    masters : int
        AXI masters, each with a slice of the L2 cache.

    """

    cores: int
    warps: int
    threads: int
    masters: int
    clusters: int = 1

    @classmethod
    def of(cls, cluster: ClusterConfig, clusters: int = 1) -> "RunControlConfig":
        """Return the config of the run control of a machine of `clusters` clusters."""
        core = core_of(cluster)
        return cls(
            cores=cluster.cores,
            warps=core.warps,
            threads=core.threads,
            masters=cluster.axi.masters,
            clusters=clusters,
        )


@dataclass(frozen=True, kw_only=True)
class UnitRegisterBusConfig:
    """Requesters and units of the unit register bus of a cluster with a DMA.

    Parameters
    ----------
    cores : int
    matrices : int
        Matrix units of the cluster.

    """

    cores: int
    matrices: int

    @classmethod
    def of(cls, cluster: ClusterConfig) -> "UnitRegisterBusConfig":
        """Return the config of the unit register bus of a cluster."""
        return cls(cores=cluster.cores, matrices=len(cluster.units))
