"""Events that consume energy: counters of a result behind each, and the groups that they drive."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...hw.config import ClusterConfig
from ...hw.core.units.execution_units import UNITS
from ...hw.isa.operations import PORTS, Port
from ...hw.matrix.registry import kind_of
from ...synth.clocked_parts import ClockedPart

__all__ = ["CANDIDATES", "EVENTS", "Event", "EventCounts", "require_counters"]

#: Domain of events of the whole cluster.
CLUSTER = ""
#: Event of useful products: those outside of a matrix have zeros as operands.
PRODUCTS = "multiply_adds"
#: Counters of the beats of the DMA.
DMA_READS, DMA_WRITES = r"dma_read_beats_\d+", r"dma_write_beats_\d+"


@dataclass(frozen=True, kw_only=True)
class Event:
    """Event of a run.

    Parameters
    ----------
    meaning : str
        The quantity counted.
    is_broadcast : bool
        Whether every instance of a block takes part in each event of its clock domain, as the
        elements of an array do; otherwise one of them does, as with the banks of a memory.
    pattern : str or None
        Counters of the cluster, a regular expression; None for an event of cores, units or the
        problem.
    without : str or None
        Counters to subtract from them, a regular expression.

    """

    meaning: str
    is_broadcast: bool = False
    pattern: str | None = None
    without: str | None = None


def unit_events() -> dict[str, Event]:
    """Return the events of matrix units; each row of the array moves through all elements."""
    return {
        "matrix_active": Event(meaning="cycles in which the array multiplies", is_broadcast=True),
        "weight_words": Event(meaning="words of weights read", is_broadcast=True),
        "overwrite_rows": Event(meaning="accumulator rows overwritten", is_broadcast=True),
        "accumulate_rows": Event(meaning="accumulator rows added to", is_broadcast=True),
        "drain_rows": Event(meaning="accumulator rows drained", is_broadcast=True),
    }


def core_events() -> dict[str, Event]:
    """Return the events of cores, by the names of their counters."""
    operations = {
        f"operations_{port.name.lower()}": Event(
            meaning=f"operations of the {info.name}", is_broadcast=True
        )
        for port, info in PORTS.items()
        if info.counter is not None
    }
    return operations | {
        "instructions": Event(meaning="warp instructions", is_broadcast=True),
        "thread_instructions": Event(meaning="thread instructions", is_broadcast=True),
        "loads": Event(meaning="warp loads", is_broadcast=True),
        "stores": Event(meaning="warp stores", is_broadcast=True),
        "memory_requests": Event(meaning="requests to data memory", is_broadcast=True),
        "fetches": Event(meaning="requests to instruction memory", is_broadcast=True),
        "register_reads": Event(meaning="rows read from register banks"),
        "register_writes": Event(meaning="rows written to register banks"),
    }


def cluster_events() -> dict[str, Event]:
    """Return the events of the cluster."""
    rows = {
        "shared_wide_reads": ("words read by units and DMA", r"shared_read_words_.*"),
        "shared_wide_writes": ("words written by the DMA", r"shared_write_words_.*"),
        "shared_row_words": ("words of rows of cores", r"shared_row_(read|write)_words"),
        "shared_narrow_words": ("words of lanes", r"shared_narrow_(reads|writes)"),
        "dma_read_beats": ("beats read by the DMA", DMA_READS),
        "dma_write_beats": ("beats written by the DMA", DMA_WRITES),
        "dma_descriptors": ("descriptors of the DMA", r"dma_descriptors"),
        "tensor_active": ("steps of products in cores", r"tensor_active_cycles"),
        "l1i_fetches": ("fetches of the L1I", r"l1i_fetches"),
        "l1i_lines": ("refills of the L1I", r"l1i_lines"),
        "l1d_reads": ("reads of the L1D", r"l1d_reads"),
        "l1d_writes": ("writes of the L1D", r"l1d_writes"),
        "l1d_misses": ("refills of the L1D", r"l1d_misses"),
        "l2_reads": ("bursts read from the L2", r"l2_reads"),
        "l2_writes": ("bursts written to the L2", r"l2_writes"),
        "l2_write_backs": ("lines that the L2 writes", r"l2_write_backs"),
        "l2_prefetches": ("lines that the L2 reads ahead", r"l2_prefetches"),
        # Bursts of the DMA pass the L2 without a place in it, if they miss.
        "l2_placed": ("lines with a place in the L2", r"l2_(read_misses|prefetches)", DMA_READS),
        "l2_core_reads": ("bursts that caches read from the L2", r"l2_reads", DMA_READS),
        "l2_core_writes": ("bursts that cores write to the L2", r"l2_writes", DMA_WRITES),
        "l2_write_misses": ("bursts written without a place in the L2", r"l2_write_misses"),
    }
    return {
        PRODUCTS: Event(meaning="multiply-adds of the problem on matrix units"),
        **{
            name: Event(meaning=text, pattern=pattern, without=without[0] if without else None)
            for name, (text, pattern, *without) in rows.items()
        },
    }


UNIT_EVENTS, CORE_EVENTS, CLUSTER_EVENTS = unit_events(), core_events(), cluster_events()
EVENTS: Mapping[str, Event] = UNIT_EVENTS | CORE_EVENTS | CLUSTER_EVENTS

#: Further events of the group of a port, besides its operations.
OPERANDS = ("instructions", "register_reads")
PORT_EVENTS: Mapping[Port, tuple[str, ...]] = {
    Port.MEMORY: (
        *("loads", "stores", "memory_requests", "shared_narrow_words", "l1d_reads", "l1d_writes"),
    ),
    Port.TENSOR: (PRODUCTS, "tensor_active", *OPERANDS),
}

#: Events that a fit may choose for the blocks of each group, the most direct first.
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "mesh": ("matrix_active", "weight_words"),
    "accumulator": ("accumulate_rows", "overwrite_rows", "drain_rows"),
    "sequencer": ("matrix_active", "weight_words", "drain_rows"),
    "shared memory": (
        *("shared_wide_reads", "shared_wide_writes", "shared_row_words", "shared_narrow_words"),
    ),
    "DMA": ("dma_read_beats", "dma_write_beats", "dma_descriptors"),
    "control": ("instructions", "dma_descriptors"),
    "front end": ("instructions", "fetches"),
    "scheduler and scoreboard": ("instructions", "thread_instructions"),
    "registers and collectors": ("register_reads", "register_writes", "instructions"),
    **{
        info.label or port.name: (
            *([f"operations_{port.name.lower()}"] if info.counter is not None else []),
            *PORT_EVENTS.get(port, OPERANDS),
            "thread_instructions",
        )
        for port, info in PORTS.items()
        if port in UNITS
    },
    "L1I": ("l1i_fetches", "l1i_lines"),
    "L1D": ("l1d_reads", "l1d_writes", "l1d_misses"),
    "L2": (
        *("l2_placed", "l2_core_reads", "l2_core_writes", "l2_prefetches", "l2_write_backs"),
        *("l2_write_misses", "dma_read_beats", "dma_write_beats"),
    ),
    "interconnect": (
        *("memory_requests", "l2_reads", "l2_writes", "shared_row_words", "l1i_lines"),
        *("l1d_writes", "l1d_misses", "dma_read_beats", "dma_write_beats"),
    ),
}


def require_counters(result: Mapping[str, Any]):
    """Raise unless a result has the counters of a run on RTL."""
    if result["clocked_cycles"] is None or result["counters"] is None:
        raise ValueError("the energy of events needs a result of the whole cluster on RTL")


class EventCounts:
    """Events of a run.

    Parameters
    ----------
    result : mapping
        Result of the run.
    config : ClusterConfig
        Config of the machine.

    """

    def __init__(self, result: Mapping[str, Any], config: ClusterConfig):
        require_counters(result)
        self.cycles: int = result["run_cycles"]
        self.clocked: Mapping[str, int] = result["clocked_cycles"]
        counters = result["counters"]
        cluster = {
            name: matching(counters, each)
            for name, each in CLUSTER_EVENTS.items()
            if each.pattern is not None
        }
        is_product = result["mac_utilization"] is not None
        cluster[PRODUCTS] = result["operations"] // 2 if is_product else 0
        self.counts: dict[str, dict[str, int]] = {CLUSTER: cluster}
        for number, (unit, matrix) in enumerate(config.named_units.items()):
            weights = "shared_read_words_b" + (str(number) if number else "")
            self.counts[unit] = {"weight_words": counters.get(weights, 0)} | {
                name: counters[row.name_in(unit)]
                for row in kind_of(matrix).counters
                if (name := row.name_in("matrix")) in UNIT_EVENTS
            }
        for number, core in enumerate(result["cores"] or ()):
            own = core["counters"] or {}
            self.counts[f"core{number}"] = {name: own.get(name, 0) for name in CORE_EVENTS}

    def clocked_cycles(self, part: ClockedPart) -> int:
        """Return the clocked cycles of all instances; those without a clock count all cycles."""
        return sum(
            count * (self.clocked[place.domain] if place.is_clocked else self.cycles)
            for place, count in part.places.items()
        )

    def count(self, part: ClockedPart, name: str) -> float:
        """Return the events of a part: if broadcast, of each instance, else of all together.

        A part outside of a unit or of cores, such as an arbiter between them, sees the events of
        all of them.
        """
        event, everywhere = EVENTS[name], self.counts
        if name in CLUSTER_EVENTS:
            return everywhere[CLUSTER][name]
        own = [domain for domain, found in everywhere.items() if name in found]
        inside = {place.domain for place in part.places} & set(own)
        if not inside:
            return part.instances * sum(everywhere[domain][name] for domain in own)
        if not event.is_broadcast:
            return sum(everywhere[domain][name] for domain in inside)
        return sum(
            count * everywhere[place.domain].get(name, 0) for place, count in part.places.items()
        )


def matching(counters: Mapping[str, int], event: Event) -> int:
    """Return the sum of an event's counters without those to subtract, 0 at least."""

    def total(pattern: str | None) -> int:
        is_counter: Callable = re.compile(pattern or "").fullmatch
        return sum(count for name, count in counters.items() if is_counter(name))

    return max(0, total(event.pattern) - total(event.without))
