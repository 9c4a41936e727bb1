"""What a cluster shows of itself to those who check, count and draw it."""

from typing import Any

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from .axi import Axi4Signature
from .config import ClusterConfig
from .core.observation import ObservationSignature
from .cores import core_domains
from .counters import counter_table
from .lib.interfaces.core_memory import (
    data_request_layout,
    data_response_layout,
    fetch_request_layout,
    fetch_response_layout,
)
from .memory.cache_reads import CacheReadsSignature, show_reads
from .memory.l1_layouts import data_misses
from .memory.l2_place import cluster_l2
from .memory.ports import wide_write
from .memory.shared import cluster_ports
from .spread import ShownSignature, SpreadResponseSignature, show_stream, spread

__all__ = [
    "ShownCoreSignature",
    "observed_ports",
    "show_core",
    "show_dma_axi",
    "show_events",
    "show_l2_reads",
    "show_writes",
]

#: Layouts of what a core prints, and of what it tells a matrix unit.
console_layout = data.StructLayout({"byte": 8})
command_layout = data.StructLayout({"word": 32})


class ShownCoreSignature(wiring.Signature):
    """What is seen of a core in its cluster; every field is a port of its own.

    Names are those of `CoreSignature`, so that who looks at `Cores` can look at a cluster.

    Members
    -------
    fetch, request : Out(ShownSignature)
    fetched, response : Out(SpreadResponseSignature)
    console : Out(ShownSignature)
        A byte that is printed, once it is taken.
    command : Out(ShownSignature)
        A word for a matrix unit, likewise.
    exit_code : Out(32)
    observed : Out(ObservationSignature)
    """

    def __init__(self, config: ClusterConfig):
        core = config.core
        assert core is not None
        super().__init__({
            "fetch": Out(ShownSignature(fetch_request_layout(core))),
            "fetched": Out(SpreadResponseSignature(fetch_response_layout(core))),
            "request": Out(ShownSignature(data_request_layout(core))),
            "response": Out(SpreadResponseSignature(data_response_layout(core))),
            "console": Out(ShownSignature(console_layout)),
            "command": Out(ShownSignature(command_layout)),
            "exit_code": Out(32),
            "observed": Out(ObservationSignature(core)),
        })


def observed_ports(config: ClusterConfig) -> dict[str, Any]:
    """Return the ports that an observed cluster has beside those of every cluster.

    ``core{c}`` is of `ShownCoreSignature`; ``events_{counter}`` says how often the event of each
    counter happens in this cycle; ``shared_write_{i}`` is a wide write that shared memory takes
    in this cycle; ``l1d_reads_{c}`` and ``l2_reads_{c}`` are what the cache of data of a core, and
    a slice of the L2, is asked for and answers.
    """
    ports: dict[str, Any] = {
        f"events_{counter.name}": Out(counter.increment_width) for counter in counter_table(config)
    }
    if config.cores:
        shown = ShownCoreSignature(config)
        ports |= {domain: Out(shown) for domain in core_domains(config)}
        data_reads = CacheReadsSignature(data_misses(config).waiter_width)
        ports |= {f"l1d_reads_{c}": Out(data_reads) for c in range(config.cores)}
        slice_reads = CacheReadsSignature(cluster_l2(config).inner.id_width)
        ports |= {f"l2_reads_{c}": Out(slice_reads) for c in range(config.axi.masters)}
    shared = cluster_ports(config)
    for i, size in enumerate(shared.write_sizes):
        ports[f"shared_write_{i}"] = Out(SpreadResponseSignature(wide_write(shared.memory, size)))
    axi = config.axi
    bus = Axi4Signature(address_width=32, data_width=axi.data_width, id_width=axi.id_width)
    names = [name for name in bus.members if name.startswith(("aw", "w", "b"))]
    writes = wiring.Signature({name: Out(bus.members[name].shape) for name in names})
    return ports | {f"dma_axi_{c}": Out(writes) for c in range(axi.masters)}


def show_core(m: Module, core, path, port) -> None:
    """Show a core and what lies between it and memory on a port of `ShownCoreSignature`."""
    show_stream(m, core.fetch, port.fetch)
    show_stream(m, core.request, port.request)
    spread(m, core.fetched, port.fetched)
    spread(m, core.response, port.response)
    for source, shown, name in (
        (path.console, port.console, "byte"),
        (core.command, port.command, "word"),
    ):
        m.d.comb += [
            shown.valid.eq(source.valid),
            shown.ready.eq(source.ready),
            getattr(shown, name).eq(source.payload),
        ]
    m.d.comb += port.exit_code.eq(core.exit_code)
    shown, ports = (each.observed.signature.flatten(each.observed) for each in (core, port))
    m.d.comb += [each.eq(value) for (*_, value), (*_, each) in zip(shown, ports, strict=True)]


def show_events(m: Module, cluster, events) -> None:
    """Show the events that counters count on the ports of a cluster."""
    for counter in counter_table(cluster.config):
        m.d.comb += getattr(cluster, f"events_{counter.name}").eq(events[counter.name])


def show_writes(m: Module, cluster, shared) -> None:
    """Show the wide writes that shared memory takes on the ports of a cluster."""
    for i, _ in enumerate(cluster_ports(cluster.config).write_sizes):
        request, port = getattr(shared, f"write_{i}").request, getattr(cluster, f"shared_write_{i}")
        m.d.comb += port.valid.eq(request.valid & request.ready)
        for name in ("address", "data", "mask"):
            m.d.comb += getattr(port, name).eq(request.payload[name])


def show_l2_reads(m: Module, cache, port) -> None:
    """Show the reads of a slice of the L2 on a port of `CacheReadsSignature`."""
    axi = cache.i
    answered = axi.rvalid & axi.rready & axi.rlast
    show_reads(m, port, axi.arvalid, axi.arready, axi.arid, answered=answered, answered_id=axi.rid)


def show_dma_axi(m: Module, cluster, dma) -> None:
    """Show what the DMA writes, and the responses it takes, on the ports of a cluster."""
    for c in cluster.masters:
        axi, port = getattr(dma, f"axi_{c}"), getattr(cluster, f"dma_axi_{c}")
        m.d.comb += [getattr(port, name).eq(getattr(axi, name)) for name in port.signature.members]
