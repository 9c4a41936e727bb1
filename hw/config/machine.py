"""Config of a machine: a cluster and what is around it."""

from dataclasses import dataclass, field

from .cluster import ClusterConfig
from .l2 import L2Config
from .parts import part_of

__all__ = ["MachineConfig"]


@dataclass(frozen=True, kw_only=True)
class MachineConfig(ClusterConfig):
    """A cluster with its L2 cache, its AXI masters to DRAM and its control port for a host.

    Parameters
    ----------
    **cluster
        Fields of `ClusterConfig`.
    l2 : L2Config
        The L2 slice before each AXI master, used with cores. Source 0 is the DMA, also if there
        is none; the cores follow.

    """

    l2: L2Config = field(default_factory=L2Config)

    def __post_init__(self):
        super().__post_init__()
        self.require_l2()

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
        """The cluster without what is around it."""
        return part_of(self, ClusterConfig)
