"""Blocks between a core and DRAM, for measurements of their cost."""

from amaranth.lib.wiring import Component

from spica.hw.config import ClusterConfig
from spica.hw.memory.axi_mux import AxiMux
from spica.hw.memory.core_path import CorePath, cluster_mux
from spica.hw.memory.data_cache import DataCache
from spica.hw.memory.instruction_cache import InstructionCache
from spica.hw.memory.l1_layouts import data_misses
from spica.hw.memory.l2_ahead import L2Ahead
from spica.hw.memory.l2_place import cluster_l2
from spica.hw.memory.l2_slice import L2Slice
from spica.hw.memory.lane_groups import LaneGroups
from spica.hw.memory.line_masters import LineMasters

__all__ = ["memory_parts"]


def memory_parts(config: ClusterConfig) -> dict[str, Component]:
    """Return the memory blocks of a cluster with cores, by the names of `MEMORY_CELLS`."""
    return {
        "coalescer": LaneGroups(config),
        "L1I": InstructionCache(config),
        "L1D": DataCache(data_misses(config)),
        "masters of a core": LineMasters(config),
        "path of a core": CorePath(config),
        "AXI multiplexer": AxiMux(cluster_mux(config)),
        "reading ahead of the L2": L2Ahead(cluster_l2(config)),
        "slice of the L2": L2Slice(cluster_l2(config)),
    }
