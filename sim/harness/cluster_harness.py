"""C++ harness of an observed cluster: DRAM, host, core monitors and unit counters."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...hw.config import MachineConfig
from ...hw.core.units.lsu.memory_layouts import slots
from ...hw.isa.markers import BEGIN_MARKER, END_MARKER
from ...hw.isa.memory_map import CORES_BASE, SHARED_BASE, core_registers
from ...hw.isa.operations import Port
from ...hw.lib.interfaces.memory_fault import MemoryFault
from ...hw.machine.counters import counter_table
from ...hw.machine.machine import Machine
from ...kernels.commands import CommandList
from .binding import Layout
from .core_harness import ProgramHarness
from .dram import ChannelStatistics, DramConfig
from .harness import channel_statistics, response_name
from .interface import HARNESS
from .launch import Launch
from .load_latency import PLACES, LoadLatency
from .stop_reason import StopReason

__all__ = ["ClusterHarness", "observed_cluster"]


def observed_cluster(config: MachineConfig) -> Machine:
    """Return a cluster with observation ports."""
    return Machine(config, observed=True)


class ClusterHarness(ProgramHarness):
    """DRAM, host and AXI ports of an observed cluster, with the counters of its cores.

    Parameters
    ----------
    library : Path
        Shared library that contains the harness.
    layout : Layout
        Port layout of the cluster.
    config : MachineConfig
    dram : DramConfig
    access_cycles : int
        Cycles from the start of one host access to the start of the next.

    """

    def __init__(
        self,
        library: Path,
        layout: Layout,
        config: MachineConfig,
        dram: DramConfig,
        access_cycles: int,
    ):
        assert config.core is not None
        self.config = config
        super().__init__(
            library,
            layout.table(),
            dram,
            channels=config.axi.masters,
            interleave_bytes=config.axi.interleave_bytes,
            access_cycles=access_cycles,
        )
        parameters = HARNESS.structure("ClusterCoresParameters")(
            memory_port=Port.MEMORY,
            slot_bits=(slots(config.core) - 1).bit_length(),
            refused=MemoryFault.REFUSED,
            begin_marker=BEGIN_MARKER,
            end_marker=END_MARKER,
            shared_base=SHARED_BASE,
            shared_bytes=config.shared.size,
        )
        self.library.harness_cluster(self.handle, parameters)

    def prepare(self, commands: CommandList | None, launches: Sequence[Launch]) -> None:
        """Queue host commands for the next run: the start of the clusters, then `commands`."""
        rows = CommandList()
        registers = core_registers(self.config.cores, self.config.clusters)
        for cluster, launch in enumerate(launches if self.config.clusters > 1 else ()):
            rows.write(CORES_BASE + registers[f"entry_{cluster}"].offset, launch.entry)
            rows.write(CORES_BASE + registers[f"arguments_{cluster}"].offset, launch.arguments)
        rows.write(CORES_BASE + registers["start"].offset, (1 << len(launches)) - 1)
        rows.rows += commands.rows if commands else []
        array = rows.array()
        self.library.harness_prepare(self.handle, array, len(array))

    def renew(self) -> None:
        """Reset host and AXI ports to their initial state; DRAM keeps its contents."""
        self.library.harness_renew(self.handle)

    def error(self) -> str:
        """Return the host access that got an error response, or an empty string."""
        if self.state().stop != StopReason.HOST_ERROR:
            return ""
        command, address, response = self.errors()[-1]
        return f"host access {command} to {address:#06x} got the response {response_name(response)}"

    def cores_end(self) -> int:
        """Return the first cycle of the run after which no core was busy."""
        return self.library.harness_cluster_cores_end(self.handle)

    def load_latency(self) -> dict[str, list[LoadLatency]]:
        """Return the load latencies of each core, by the place of the loaded words."""
        read = self.library.harness_cluster_latency
        cores = range(self.config.all_cores)
        return {
            place: [LoadLatency.of(read(self.handle, core, number)) for core in cores]
            for number, place in enumerate(PLACES)
        }

    def cache_latency(self) -> dict[str, list[LoadLatency]]:
        """Return the read latencies of each cache: L1I and L1D per core, L2 per slice."""
        read = self.library.harness_cluster_cache_latency
        cores = self.config.all_cores
        numbers = {"l1i": cores, "l1d": cores, "l2": self.channels}
        return {
            cache: [LoadLatency.of(read(self.handle, level, number)) for number in range(count)]
            for level, (cache, count) in enumerate(numbers.items())
        }

    def marked(self) -> list[ChannelStatistics]:
        """Return each channel's statistics at the completion of the first begin marker."""
        read = self.library.harness_marked
        return [channel_statistics(read(self.handle, channel)) for channel in range(self.channels)]

    def events(self) -> dict[str, int]:
        """Return the event counts of this run, by the names of `counter_table`."""
        table = counter_table(self.config)
        sums = np.zeros(len(table), np.uint64)
        self.library.harness_cluster_events(self.handle, sums)
        by_name = dict(zip(sorted(counter.name for counter in table), sums.tolist(), strict=True))
        return {counter.name: by_name[counter.name] * counter.scale for counter in table}
