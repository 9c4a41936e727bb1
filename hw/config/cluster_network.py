"""Config of the network between the clusters of a machine."""

from dataclasses import dataclass

from .machine import MachineConfig
from .memory import SharedPortConfig

__all__ = ["ClusterNetworkConfig"]


@dataclass(frozen=True, kw_only=True)
class ClusterNetworkConfig:
    """The cores of a machine and the shared memories of its clusters.

    Parameters
    ----------
    shared : SharedPortConfig
        That of each cluster.
    clusters : int
        Two or more.
    cores : int
        Cores of all clusters.

    """

    shared: SharedPortConfig
    clusters: int
    cores: int

    def __post_init__(self):
        if self.clusters < 2:
            raise ValueError(f"clusters must be at least 2 for a network, not {self.clusters}")

    @classmethod
    def of(cls, machine: MachineConfig) -> "ClusterNetworkConfig":
        """Return the config of the network of a machine."""
        return cls(shared=machine.shared.port, clusters=machine.clusters, cores=machine.all_cores)
