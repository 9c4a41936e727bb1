"""Probe ports of a cluster for checkers, counters and traces."""

from typing import Any

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ..config import ClusterConfig, DmaBlockConfig, MemoryUnitConfig
from ..core.clock_control import SLEEP_WIDTH
from ..core.observation import ObservationSignature
from ..isa.memory_map import in_cluster
from ..lib.axi import Axi4Signature
from ..lib.interfaces.core_memory import (
    data_request_layout,
    data_response_layout,
    fetch_request_layout,
    fetch_response_layout,
)
from ..lib.interfaces.shared_memory import wide_write
from ..lib.probes import FlattenedResponseSignature, MonitorSignature, flatten, probe_stream, relay
from ..memory.l1.cache_reads import CacheReadsSignature
from ..memory.l1.cluster_layouts import data_mshr_config
from ..memory.shared.shared_memory import cluster_ports
from .cores import core_domains, core_number

__all__ = [
    "CoreMonitorSignature",
    "observed_ports",
    "probe_core",
    "probe_dma_axi",
    "probe_writes",
]

#: Layouts of a console byte and of a command word for a matrix unit.
console_layout = data.StructLayout({"byte": 8})
command_layout = data.StructLayout({"word": 32})


class CoreMonitorSignature(wiring.Signature):
    """Probe signals of a core in its cluster; every field is a separate port.

    Names are those of `CoreSignature`, so that code that observes `Cores` also fits a cluster.

    Members
    -------
    fetch, request : Out(MonitorSignature)
    fetched, response : Out(FlattenedResponseSignature)
    console : Out(MonitorSignature)
        A printed byte; it counts when `valid` and `ready` are high.
    command : Out(MonitorSignature)
        A command word for a matrix unit, with the same handshake.
    exit_code : Out(32)
    runs : Out(1)
        The core itself has not ended.
    slept : Out(SLEEP_WIDTH)
        Cycles asleep that the counters of `observed` lack; see `SleepCounter`.
    observed : Out(ObservationSignature)
    """

    def __init__(self, config: ClusterConfig):
        core = config.core
        assert core is not None
        super().__init__({
            "fetch": Out(MonitorSignature(fetch_request_layout(core))),
            "fetched": Out(FlattenedResponseSignature(fetch_response_layout(core))),
            "request": Out(MonitorSignature(data_request_layout(core))),
            "response": Out(FlattenedResponseSignature(data_response_layout(core))),
            "console": Out(MonitorSignature(console_layout)),
            "command": Out(MonitorSignature(command_layout)),
            "exit_code": Out(32),
            "runs": Out(1),
            "slept": Out(SLEEP_WIDTH),
            "observed": Out(ObservationSignature(core)),
        })


def observed_ports(config: ClusterConfig, cluster: int = 0) -> dict[str, Any]:
    """Return the additional ports of an observed cluster, by their names in its machine.

    ``core{c}`` has `CoreMonitorSignature`. ``shared_write_{i}`` is a wide write accepted by shared
    memory in this cycle. ``dma_axi_{c}`` are the writes of the DMA. ``l1d_reads_{c}`` are the reads
    and responses of a core's data cache.
    """
    ports: dict[str, Any] = {}
    if config.cores:
        shown = CoreMonitorSignature(config)
        ports |= {domain: Out(shown) for domain in core_domains(config, cluster)}
        data_reads = CacheReadsSignature(data_mshr_config(MemoryUnitConfig.of(config)).waiter_width)
        for core in range(config.cores):
            ports[f"l1d_reads_{core_number(config, cluster, core)}"] = Out(data_reads)
    shared = cluster_ports(config)
    for i, size in enumerate(shared.write_sizes):
        ports[in_cluster(cluster, f"shared_write_{i}")] = Out(
            FlattenedResponseSignature(wide_write(shared.memory.port, size))
        )
    if config.dma is None:
        return ports
    axi = DmaBlockConfig.of(config).axi
    bus = Axi4Signature(address_width=32, data_width=axi.data_width, id_width=axi.id_width)
    names = [name for name in bus.members if name.startswith(("aw", "w", "b"))]
    writes = wiring.Signature({name: Out(bus.members[name].shape) for name in names})
    names = [in_cluster(cluster, f"dma_axi_{c}") for c in range(axi.masters)]
    return ports | dict.fromkeys(names, Out(writes))


def probe_core(m: Module, core, memory_unit, slept: Value, port) -> None:
    """Connect the probes of a core and its memory unit to a port of `CoreMonitorSignature`."""
    probe_stream(m, core.fetch, port.fetch)
    probe_stream(m, core.request, port.request)
    flatten(m, core.fetched, port.fetched)
    flatten(m, core.response, port.response)
    for source, shown, name in (
        (memory_unit.console, port.console, "byte"),
        (core.command, port.command, "word"),
    ):
        m.d.comb += [
            shown.valid.eq(source.valid),
            shown.ready.eq(source.ready),
            getattr(shown, name).eq(source.payload),
        ]
    m.d.comb += [
        port.exit_code.eq(core.exit_code),
        port.runs.eq(core.runs),
        port.slept.eq(slept),
    ]
    relay(m, core.observed, port.observed)


def probe_writes(m: Module, cluster, shared, number: int) -> None:
    """Connect the wide writes accepted by shared memory to the ports of cluster `number`."""
    for i, write in enumerate(shared.ports("write")):
        request, port = write.request, getattr(cluster, in_cluster(number, f"shared_write_{i}"))
        m.d.comb += port.valid.eq(request.valid & request.ready)
        for name in ("address", "data", "mask"):
            m.d.comb += getattr(port, name).eq(request.payload[name])


def probe_dma_axi(m: Module, cluster, dma, number: int) -> None:
    """Connect the writes of the DMA and their responses to the ports of cluster `number`."""
    for c, axi in enumerate(dma.axi):
        port = getattr(cluster, in_cluster(number, f"dma_axi_{c}"))
        m.d.comb += [getattr(port, name).eq(getattr(axi, name)) for name in port.signature.members]
