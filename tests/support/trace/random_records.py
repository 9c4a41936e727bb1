"""Random cluster records, for tests of timelines without a run."""

import numpy as np

from spica.hw.config import MachineConfig
from spica.hw.emit.emission import EmittedPort
from spica.hw.machine.counters import counter_table
from spica.sim.harness.binding import Layout
from spica.sim.trace.overview.activity_records import ClusterRecords
from spica.sim.trace.overview.cluster_signals import cluster_signals

__all__ = ["made_up"]


def observed_layout(config: MachineConfig) -> Layout:
    """Return a layout with the recorded outputs of an observed cluster, without building it."""
    names = [f"events_{counter.name}" for counter in counter_table(config)] + ["dma_busy"]
    for core in range(config.cores):
        assert config.core is not None
        names += [f"core{core}_observed_slots_{k}" for k in range(config.core.issue_width)]
        names += [f"core{core}_observed_{what}" for what in ("active", "at_barrier")]
        names += [f"core{core}_observed_asleep"] * config.core.awaits_units
    return Layout([EmittedPort(name, "output", 8) for name in names], ())


def made_up(
    config: MachineConfig, cycles: int = 1000, bin_cycles: int = 8, seed: int = 3
) -> ClusterRecords:
    """Return random records, with stretches without activity."""
    rng = np.random.default_rng(seed)
    signals = cluster_signals(config, observed_layout(config))
    bins = -(-cycles // bin_cycles)
    busy = np.repeat(rng.random(bins // 10 + 1) < 0.6, 10)[:bins]
    sums = {
        signal.name: (rng.integers(0, bin_cycles + 1, bins) * busy).astype(np.uint32)
        for signal in signals
    }
    intervals = {}
    for signal in signals:
        if signal.has_intervals:
            ends = np.sort(rng.choice(cycles, 40, replace=False)).reshape(-1, 2)
            intervals[signal.name] = ends.astype(np.int64)
    gaps = dict.fromkeys(intervals, 1)
    return ClusterRecords(
        first=0, end=cycles, bin_cycles=bin_cycles, sums=sums, intervals=intervals, gaps=gaps
    )
