"""Event counters of a machine: one table for the RTL, drivers, headers and reports."""

from dataclasses import replace

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from ...base.errors import UserError
from ..cluster.counters import Counter, CounterRegister, cluster_counters, counter_events
from ..config import MachineConfig
from ..emit.shared_block import SharedBlock
from ..isa.memory_map import COUNTERS_BASE, COUNTERS_END, in_cluster
from ..lib.register_bus import RegisterSignature

__all__ = ["COUNTERS_ADDRESS_WIDTH", "Counters", "counter_table"]

COUNTERS_ADDRESS_WIDTH = 12


def l2_counters(config: MachineConfig) -> list[Counter]:
    """Return the counters of the L2, summed over all slices."""
    rows = [
        ("read", "reads", "bursts read from the L2"),
        ("write", "writes", "bursts written to the L2"),
        ("read_miss", "read_misses", "read bursts that missed"),
        ("write_miss", "write_misses", "write bursts that missed"),
        ("mshr_stall", "mshr_stalls", "cycles a read waited for an MSHR"),
        ("write_stall", "write_stalls", "retries of writes"),
        ("pipeline_stall", "pipeline_stalls", "cycles a burst waited for the tag stage"),
        ("write_back", "write_backs", "lines written back to DRAM"),
        ("prefetch", "prefetches", "lines prefetched from DRAM"),
    ]
    return [
        Counter(
            name=f"l2_{name}",
            unit="l2",
            event=event,
            meaning=meaning,
            increment_width=config.axi.masters.bit_length(),
        )
        for event, name, meaning in (rows if config.cores else [])
    ]


def counter_table(config: MachineConfig) -> list[Counter]:
    """Return the counters of a machine, in the order of their addresses.

    Raise `UserError` if those of all clusters are more than the host's map has room for. One
    cluster has at most 4 * 9 + 2 * (8 + 32 + 4 + 4) + 3 + 3 + 4 * 4 + 1 + 3 + 21 of 480.
    """
    own = cluster_counters(config, config.clusters)
    counters = [
        replace(
            counter,
            name=in_cluster(cluster, counter.name),
            unit=in_cluster(cluster, counter.unit),
        )
        for cluster in range(config.clusters)
        for counter in own
    ]
    counters += l2_counters(config)
    room = (COUNTERS_END - COUNTERS_BASE) // 8
    if len(counters) > room:
        raise UserError(
            f"clusters must have at most {room} counters together, not {len(counters)}: reduce "
            f"clusters, {config.clusters}, or their units and masters"
        )
    return [
        replace(counter, address=COUNTERS_BASE + 8 * index)
        for index, counter in enumerate(counters)
    ]


class Counters(SharedBlock):
    """Counters of the events of every cycle, modulo ``2**width``, with read access.

    A value includes an event 2 cycles after it happened. Requests are never held. Writes and
    addresses without a counter are refused.

    Parameters
    ----------
    config : tuple of CounterRegister

    Members
    -------
    events : In(counter_events(config))
        Number of events of each kind in this cycle.
    registers : In(RegisterSignature(12))
        Addresses as on the AXI4-Lite slave.

    Attributes
    ----------
    counted : dict of str to Signal
        Contents of each counter, unscaled; a test can preset it close to overflow.

    """

    def __init__(self, config: tuple[CounterRegister, ...]):
        self.config = config
        super().__init__({
            "events": In(counter_events(config)),
            "registers": In(RegisterSignature(COUNTERS_ADDRESS_WIDTH)),
        })
        self.counted = {row.name: Signal(row.width, name=row.name) for row in config}

    def build(self, platform):
        m = Module()
        happened = Signal.like(self.events)  # registered: events end long paths of other blocks
        m.d.sync += happened.eq(self.events)
        request = self.registers.request
        response = self.registers.response
        read = Signal(data.StructLayout({"value": data.ArrayLayout(32, 2), "unknown": 1}))
        latched = Signal(32, reset_less=True)
        with m.Switch(request.payload.address[3:]):
            for row in self.config:
                counted = self.counted[row.name]
                m.d.sync += counted.eq(counted + happened[row.name])
                with m.Case(row.address >> 3):
                    scaled = Cat(C(0, exact_log2(row.scale)), counted)
                    m.d.comb += read.value.as_value().eq(scaled)
            with m.Default():
                m.d.comb += read.unknown.eq(1)
        high = request.payload.address[2]
        m.d.comb += request.ready.eq(1)
        m.d.sync += [
            response.valid.eq(request.valid),
            response.payload.data.eq(Mux(high, latched, read.value[0])),
            response.payload.error.eq(read.unknown | request.payload.write),
        ]
        with m.If(request.valid & ~request.payload.write & ~high):
            m.d.sync += latched.eq(read.value[1])
        return m
