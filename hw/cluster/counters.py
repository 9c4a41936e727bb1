"""Events that are counted in a cluster: a table of names, units and meanings."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add

from amaranth import *
from amaranth.lib import data

from ..config import WORD_BYTES, ClusterConfig
from ..config.parts import part_of
from ..isa.memory_map import COUNTERS_BASE
from ..memory.shared.ports import SharedMemoryPorts
from ..memory.shared.shared_memory import cluster_ports, port_names
from ..styles.registry import matrix_style_of, tensor_style_of

__all__ = ["Counter", "CounterRegister", "cluster_counters", "counter_events"]


@dataclass(frozen=True, kw_only=True)
class CounterRegister:
    """Register of an event counter.

    Reading its low word latches its high word for the next read.

    Parameters
    ----------
    name : str
        Name in headers, results and reports.
    width : int
        Bits counted; the counter wraps.
    increment_width : int
        Bits of the event: the number of occurrences in one cycle.
    scale : int
        Amount that one event adds to the value read. A power of two.
    address : int
        Byte address of the low word on the AXI4-Lite slave; the high word is 4 above.

    """

    name: str
    width: int = 48
    increment_width: int = 1
    scale: int = 1
    address: int = COUNTERS_BASE


@dataclass(frozen=True, kw_only=True)
class Counter(CounterRegister):
    """One event counter.

    Parameters
    ----------
    **register
        Fields of `CounterRegister`.
    unit, event : str
        Unit of the event, and the event's name in the `events` of that unit, dotted if nested.
    meaning : str
        The quantity counted since reset.

    """

    unit: str
    event: str
    meaning: str

    @property
    def register(self) -> CounterRegister:
        """The counter without its event."""
        return part_of(self, CounterRegister)

    def happened(self, events) -> Value:
        """Return the event among the `events` of its unit."""
        for name in self.event.split("."):
            events = events[name]
        return Value.cast(events)

    def times(self, sources: list) -> Value:
        """Return the number of events in this cycle, summed over the `events` of `sources`."""
        sums = [self.happened(events) for events in sources]
        while len(sums) > 1:
            sums = [reduce(add, sums[n : n + 2]) for n in range(0, len(sums), 2)]
        return sums[0][: self.increment_width]


def matrix_counters(config: ClusterConfig) -> list[Counter]:
    """Return the counters of the matrix units, from the table of their kinds."""
    return [
        Counter(name=row.name_in(unit), unit=unit, event=row.event, meaning=row.meaning)
        for unit, matrix in config.named_units.items()
        for row in matrix_style_of(matrix).counters
    ]


def shared_counters(config: ClusterConfig, clusters: int) -> list[Counter]:
    """Return the counters of shared memory: words moved and accesses held, per port."""
    ports = cluster_ports(config, clusters)
    read_names, write_names = port_names(config)
    table = []
    for kind, names, sizes in (
        ("read", read_names, ports.read_sizes),
        ("write", write_names, ports.write_sizes),
    ):
        for i, (name, size) in enumerate(zip(names, sizes, strict=True)):
            words = Counter(
                name=f"shared_{kind}_words_{name}",
                unit="shared",
                event=f"{kind}_{i}",
                meaning=f"{kind}s by {name}, in words of 4 bytes",
                scale=size // WORD_BYTES,
            )
            waits = Counter(
                name=f"shared_{kind}_wait_{name}",
                unit="shared",
                event=f"{kind}_wait_{i}",
                meaning=f"cycles in which a {kind} by {name} was held",
            )
            table += [words, waits]
    lanes = ports.memory.narrow_ports
    narrow = {"reads": "words read", "writes": "words written", "waits": "accesses held"}
    for event, meaning in narrow.items() if lanes else ():
        table.append(
            Counter(
                name=f"shared_narrow_{event}",
                unit="shared",
                event=f"narrow_{event}",
                meaning=f"{meaning} by lanes",
                increment_width=lanes.bit_length(),
            )
        )
    return table + (row_counters(ports) if ports.row_ports else [])


def row_counters(ports: SharedMemoryPorts) -> list[Counter]:
    """Return the counters of row ports: words of whole rows moved, and accesses held."""
    return [
        Counter(
            name=f"shared_row_{name}",
            unit="shared",
            event=f"row_{event}",
            meaning=meaning,
            scale=scale,
            increment_width=ports.row_ports.bit_length(),
        )
        for event, name, meaning, scale in (
            ("reads", "read_words", "rows read, in words of 4 bytes", ports.slice_words),
            ("writes", "write_words", "rows written, in words of 4 bytes", ports.slice_words),
            ("waits", "waits", "accesses held by row ports", 1),
        )
    ]


def dma_counters(config: ClusterConfig) -> list[Counter]:
    """Return the counters of the DMA."""
    events = {}
    for kind in ("read", "write"):
        for c in range(config.axi.masters):
            events[f"{kind}_beats_{c}"] = f"beats of {kind}s on m_axi{c}"
            events[f"{kind}_wait_{c}"] = f"cycles in which {kind}s on m_axi{c} waited"
    events["descriptors"] = "descriptors completed"
    return [
        Counter(name=f"dma_{event}", unit="dma", event=event, meaning=meaning)
        for event, meaning in events.items()
    ]


def tensor_counters(config: ClusterConfig) -> list[Counter]:
    """Return the counters of the tensor units, from the table of styles, summed over all cores."""
    rows = () if config.tensor is None else tensor_style_of(config.tensor).counters
    return [
        Counter(
            name=row.name,
            unit="tensor",
            event=row.event,
            meaning=row.meaning,
            increment_width=config.cores.bit_length(),
        )
        for row in rows
    ]


def cache_counters(config: ClusterConfig) -> list[Counter]:
    """Return the counters of the data and instruction caches, summed over all cores."""
    rows = [
        ("l1i", "instructions.fetches", "fetches", "instruction fetches"),
        ("l1i", "instructions.fetch_misses", "misses", "fetches that were not answered at once"),
        ("l1i", "instructions.lines_fetched", "lines", "L1I refills, demand and prefetch"),
        ("l1i", "instructions.entry_waits", "entry_waits", "cycles a fetch waited for an MSHR"),
        ("l1i", "instructions.bank_waits", "bank_waits", "cycles a fetch waited for its SRAMs"),
        ("l1d", "data.reads", "reads", "beats read by cores"),
        ("l1d", "data.writes", "writes", "beats written by cores"),
        ("l1d", "data.misses", "misses", "L1D refills"),
        ("l1d", "data.joins", "joins", "reads merged into a pending refill"),
        ("l1d", "data.entry_waits", "entry_waits", "cycles a miss waited for an MSHR"),
        ("l1d", "data.order_waits", "order_waits", "cycles an access waited for a hazard"),
        ("l1d", "data.bank_waits", "bank_waits", "cycles an access waited for its SRAMs"),
    ]
    return [
        Counter(
            name=f"{unit}_{name}",
            unit=unit,
            event=event,
            meaning=meaning,
            increment_width=config.cores.bit_length(),
        )
        for unit, event, name, meaning in (rows if config.cores else [])
    ]


def cluster_counters(config: ClusterConfig, clusters: int = 1) -> list[Counter]:
    """Return the counters of the events of one of `clusters`, without addresses."""
    return [
        *matrix_counters(config),
        *shared_counters(config, clusters),
        *(dma_counters(config) if config.dma is not None else ()),
        *tensor_counters(config),
        *cache_counters(config),
    ]


def counter_events(counters: Iterable[CounterRegister]) -> data.StructLayout:
    """Layout of the events of one cycle, by counter name."""
    return data.StructLayout({row.name: row.increment_width for row in counters})
