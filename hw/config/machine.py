"""Config of a machine: its clusters and what is around them."""

from dataclasses import dataclass, field
from typing import Annotated

from .cluster import ClusterConfig
from .l2 import L2Config
from .parts import part_of
from .ranges import Integers

__all__ = ["MOST_MACHINE_CORES", "MOST_MACHINE_UNITS", "MachineConfig"]

#: Cores, and matrix units, whose registers the host's map has room for.
MOST_MACHINE_CORES, MOST_MACHINE_UNITS = 32, 16


@dataclass(frozen=True, kw_only=True)
class MachineConfig(ClusterConfig):
    """Clusters, all alike, with their L2 cache, AXI masters to DRAM and a host's control port.

    Parameters
    ----------
    **cluster
        Fields of `ClusterConfig`, for each cluster.
    clusters : int
        More than one only with cores.
    l2 : L2Config
        The L2 slice before each AXI master, used with cores. Source 0 is the DMA, also if there
        is none; the cores follow. They are the same in each cluster.

    """

    clusters: Annotated[int, Integers(1, 8)] = 1
    l2: L2Config = field(default_factory=L2Config)

    def __post_init__(self):
        super().__post_init__()
        self.require_clusters()
        self.require_l2()

    def require_clusters(self):
        """Raise unless a host can reach the cores and units of all clusters."""
        if self.clusters > 1 and not self.cores:
            raise ValueError(
                f"clusters must be 1 without cores, as a host drives one, not {self.clusters}"
            )
        for name, count, most in (
            ("cores", self.cores, MOST_MACHINE_CORES),
            ("units", len(self.units), MOST_MACHINE_UNITS),
        ):
            if self.clusters * count > most:
                raise ValueError(
                    f"clusters must be at most {most // count} with {count} {name} in each, "
                    f"{most} in all, not {self.clusters}"
                )

    def require_l2(self):
        """Raise unless every burst lies within a line and every source exists."""
        line, burst = self.l2.line_bytes, self.axi.interleave_bytes
        if self.cores and line != burst:
            raise ValueError(
                f"l2.line_bytes must be axi.interleave_bytes with cores, the longest burst, "
                f"{burst}, not {line}"
            )
        for source in self.l2.no_allocate_sources if self.cores else ():
            if source > self.cores:
                raise ValueError(
                    f"each of l2.no_allocate_sources must be at most {self.cores}, where 0 is the "
                    f"DMA and others are cores, not {source}"
                )

    @property
    def cluster(self) -> ClusterConfig:
        """A cluster without what is around it."""
        return part_of(self, ClusterConfig)

    @property
    def all_cores(self) -> int:
        """Cores of all clusters; those of a cluster follow each other."""
        return self.clusters * self.cores
