"""Probe ports of a machine for checkers, counters and traces."""

from typing import Any

from amaranth import *
from amaranth.lib.wiring import Out

from ..cluster import observation
from ..config import MachineConfig
from ..memory.l1.cache_reads import CacheReadsSignature, probe_reads
from .counters import counter_table
from .l2_place import machine_l2

__all__ = ["observed_ports", "probe_events", "probe_l2_reads"]


def observed_ports(config: MachineConfig) -> dict[str, Any]:
    """Return the additional ports of an observed machine: those of its clusters, and its own.

    ``events_{counter}`` is the number of events of a counter in this cycle. ``l2_reads_{c}`` are
    the reads and responses of an L2 slice.
    """
    ports: dict[str, Any] = {
        f"events_{counter.name}": Out(counter.increment_width) for counter in counter_table(config)
    }
    for cluster in range(config.clusters):
        ports |= observation.observed_ports(config, cluster)
    if config.cores:
        slice_reads = CacheReadsSignature(machine_l2(config).inner.id_width)
        ports |= {f"l2_reads_{c}": Out(slice_reads) for c in range(config.axi.masters)}
    return ports


def probe_events(m: Module, machine, events) -> None:
    """Connect the counted events to the ports of a machine."""
    for counter in counter_table(machine.config):
        m.d.comb += getattr(machine, f"events_{counter.name}").eq(events[counter.name])


def probe_l2_reads(m: Module, cache, port) -> None:
    """Connect the reads of an L2 slice to a port of `CacheReadsSignature`."""
    axi = cache.i
    answered = axi.rvalid & axi.rready & axi.rlast
    probe_reads(m, port, axi.arvalid, axi.arready, axi.arid, answered=answered, answered_id=axi.rid)
