"""Blocks between a core and DRAM, for measurements of their cost."""

from amaranth.lib.wiring import Component

from spica.hw.cluster.l2_place import cluster_l2, cluster_mux
from spica.hw.config import ClusterConfig, MemoryUnitConfig
from spica.hw.lib.axi_mux import AxiMux
from spica.hw.memory.l1.cluster_layouts import data_mshr_config
from spica.hw.memory.l1.data_cache import DataCache
from spica.hw.memory.l1.instruction_cache import InstructionCache
from spica.hw.memory.l2.l2_slice import L2Slice
from spica.hw.memory.l2.prefetcher import L2Prefetcher
from spica.hw.memory.memory_unit.coalescer import Coalescer
from spica.hw.memory.memory_unit.line_masters import LineMasters
from spica.hw.memory.memory_unit.memory_unit import MemoryUnit

__all__ = ["memory_parts"]


def memory_parts(config: ClusterConfig) -> dict[str, Component]:
    """Return the memory blocks of a cluster with cores, by the names of `MEMORY_CELLS`."""
    memory_unit = MemoryUnitConfig.of(config)
    return {
        "coalescer": Coalescer(memory_unit),
        "L1I": InstructionCache(memory_unit),
        "L1D": DataCache(data_mshr_config(memory_unit)),
        "masters of a core": LineMasters(memory_unit),
        "path of a core": MemoryUnit(memory_unit),
        "AXI multiplexer": AxiMux(cluster_mux(config)),
        "reading ahead of the L2": L2Prefetcher(cluster_l2(config)),
        "slice of the L2": L2Slice(cluster_l2(config)),
    }
