"""Groups of a machine with the config fields and the events that their energy depends on."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from ...hw.config import MachineConfig
from ...hw.core.units.execution_units import UNITS
from ...hw.isa.operations import PORTS, Port
from ...hw.machine.fields import members
from ...hw.styles.registry import matrix_style_of

__all__ = ["GROUPS", "EventBlock", "EventCounts", "EventGroup", "event_blocks"]

#: Clock domains of which there are several: of each core, of each matrix unit.
CORE, UNIT = "core", "matrix"
#: Suffix of the clocked cycles of a domain among events.
CYCLES = "_cycles"
#: Field of the matrix units.
MATRICES = "units"
#: Lanes of cores that have a default by their port.
LANES = {info.lanes: port for port, info in PORTS.items() if info.lanes is not None}
#: Group of the tensor units of cores.
TENSOR = PORTS[Port.TENSOR].label or PORTS[Port.TENSOR].name
#: Event of useful products: those outside of a matrix have zeros as operands.
PRODUCTS = "multiply_adds"
#: Counters of the beats of the DMA.
DMA_READS, DMA_WRITES = r"dma_read_beats_\d+", r"dma_write_beats_\d+"

#: Events of a matrix unit.
UNIT_EVENTS = ("matrix_active", "weight_words", "overwrite_rows", "accumulate_rows", "drain_rows")
#: Events of cores, by the names of their counters.
CORE_EVENTS = (
    *(
        f"operations_{port.name.lower()}"
        for port, info in PORTS.items()
        if info.counter is not None
    ),
    *("instructions", "thread_instructions", "memory_requests", "fetches"),
    *("register_reads", "register_writes"),
)
#: Events of the cluster, if not single counters: sums of counters, and those to subtract, as
#: regular expressions.
CLUSTER_EVENTS: Mapping[str, tuple[str, ...]] = {
    "shared_wide_reads": (r"shared_read_words_.*",),
    "shared_wide_writes": (r"shared_write_words_.*",),
    "shared_row_words": (r"shared_row_(read|write)_words",),
    "shared_narrow_words": (r"shared_narrow_(reads|writes)",),
    "dma_read_beats": (DMA_READS,),
    "dma_write_beats": (DMA_WRITES,),
    "tensor_active": (r"tensor_active_cycles",),
    # Bursts of the DMA pass the L2 without a place in it, if they miss.
    "l2_placed": (r"l2_(read_misses|prefetches)", DMA_READS),
    "l2_core_reads": (r"l2_reads", DMA_READS),
    "l2_core_writes": (r"l2_writes", DMA_WRITES),
}


@dataclass(frozen=True, kw_only=True)
class EventGroup:
    """Group of a machine, as event energies see it.

    Parameters
    ----------
    clocks : tuple of str
        Clock domains of its blocks. The first one says how many instances the group has.
    fields : tuple of str
        Config fields that select its energies, by their dotted names.
    events : tuple of str
        Events that consume energy, besides clocked cycles.

    """

    clocks: tuple[str, ...]
    fields: tuple[str, ...]
    events: tuple[str, ...]


def group(clocks: str, fields: str, events: str) -> EventGroup:
    """Return a group from lists of names with spaces."""
    return EventGroup(
        clocks=tuple(clocks.split()), fields=tuple(fields.split()), events=tuple(events.split())
    )


def port_group(port: Port) -> EventGroup:
    """Return the group of the execution unit of a port."""
    info = PORTS[port]
    fields, events = PORT_GROUPS.get(port, ("", "instructions register_reads"))
    lanes = "" if info.lanes is None else f"core.{info.lanes}"
    own = "" if info.counter is None else f"operations_{port.name.lower()}"
    return group(CORE, f"core.threads {lanes} {fields}", f"{own} {events} thread_instructions")


#: Fields and events of the groups of single ports.
PORT_GROUPS = {
    Port.MEMORY: ("core.accesses", "memory_requests shared_narrow_words l1d_reads l1d_writes"),
    Port.TENSOR: ("core.tensor core.tensor_operand", f"{PRODUCTS} tensor_active register_reads"),
}
GROUPS: Mapping[str, EventGroup] = {
    "front end": group(CORE, "core.warps core.instruction_buffer", "instructions fetches"),
    "scheduler and scoreboard": group(
        CORE, "core.warps core.threads core.issue_width", "instructions thread_instructions"
    ),
    "registers and collectors": group(
        CORE,
        "core.warps core.threads core.banks core.collectors",
        "register_reads register_writes instructions",
    ),
    **{PORTS[port].label or port.name: port_group(port) for port in (*UNITS, Port.TENSOR)},
    "mesh": group(
        UNIT,
        "matrix.rows matrix.columns matrix.dataflow matrix.operand",
        "matrix_active weight_words",
    ),
    "accumulator": group(
        UNIT,
        "matrix.columns matrix.operand matrix.accumulator_bytes matrix.row_scale",
        "accumulate_rows overwrite_rows drain_rows",
    ),
    "sequencer": group(
        UNIT, "matrix.rows matrix.columns matrix.operand", "matrix_active weight_words drain_rows"
    ),
    "shared memory": group(
        "shared",
        "cores shared.size shared.banks shared.subbanks",
        "shared_wide_reads shared_wide_writes shared_row_words shared_narrow_words",
    ),
    "DMA": group(
        "dma",
        f"{MATRICES} axi.masters axi.data_width",
        "dma_read_beats dma_write_beats dma_descriptors",
    ),
    "L1I": group(CORE, "core.l1i.size core.l1i.ways", "l1i_fetches l1i_lines"),
    "L1D": group(
        CORE, "core.l1d.size core.l1d.ways core.l1d.mshrs", "l1d_reads l1d_writes l1d_misses"
    ),
    "L2": group(
        "bus",
        "l2.size l2.ways l2.mshrs axi.data_width",
        "l2_placed l2_core_reads l2_core_writes l2_prefetches l2_write_backs"
        " dma_read_beats dma_write_beats",
    ),
    "interconnect": group(
        f"bus {CORE} sync",
        "cores axi.data_width",
        "memory_requests l2_reads l2_writes l1d_writes dma_read_beats",
    ),
    "control": group(f"sync {CORE}", f"cores {MATRICES}", "instructions dma_descriptors"),
}


@dataclass(frozen=True, kw_only=True)
class EventBlock:
    """Instances of a group with one config in a machine.

    Parameters
    ----------
    group : str
        The group, in `GROUPS`.
    config : str
        Its config fields with their values, as in ``matrix.rows=16 matrix.columns=16``.
    unit : str or None
        Matrix unit that has it, ``matrix`` or ``matrix1`` and so on.
    instances : int
        Number of instances.

    """

    group: str
    config: str
    unit: str | None
    instances: int


def event_blocks(config: MachineConfig) -> Iterator[EventBlock]:
    """Yield the groups of a machine; one of matrix units once for each unit that has it."""
    for name, group in GROUPS.items():
        if group.clocks[0] == UNIT:
            for number, (unit, matrix) in enumerate(config.named_units.items()):
                if name in matrix_style_of(matrix).groups:
                    yield event_block(name, config.unit(number), unit)
        elif has_group(config, name):
            yield event_block(name, config)


def event_block(name: str, config: MachineConfig, unit: str | None = None) -> EventBlock:
    """Return a group of a machine, or of one with a unit as its only one."""
    group = GROUPS[name]
    values = (f"{field}={value_of(config, field)}" for field in group.fields)
    count = instances(config, group.clocks[0])
    return EventBlock(group=name, config=" ".join(values), unit=unit, instances=count)


def has_group(config: MachineConfig, name: str) -> bool:
    """Return whether a machine has a group outside of matrix units."""
    if name == "DMA":
        return config.dma is not None
    if name == TENSOR:
        return config.core is not None and config.core.tensor is not None
    return config.core is not None or name in ("shared memory", "control")


def value_of(config: MachineConfig, field: str) -> Any:
    """Return a field of a config by its dotted name; of units and of lanes, their number."""
    if field == MATRICES:
        return len(config.units)
    part, _, name = field.rpartition(".")
    if part == CORE and name in LANES:
        assert config.core is not None
        return config.core.lanes(LANES[name])
    return reduce(lambda part, step: members(part)[step], field.split("."), config)


def instances(config: MachineConfig, clock: str) -> int:
    """Return the instances that a clock domain stands for: cores, slices of the L2, or one."""
    return {CORE: config.cores, "bus": config.axi.masters}.get(clock, 1)


class EventCounts:
    """Events and clocked cycles of a run.

    Parameters
    ----------
    result : mapping
        Result of a run of the whole cluster on RTL.
    config : MachineConfig
        Config of the machine.

    """

    def __init__(self, result: Mapping[str, Any], config: MachineConfig):
        if result["clocked_cycles"] is None or result["counters"] is None:
            raise ValueError("the energy of events needs a result of the whole cluster on RTL")
        self.config = config
        self.run_cycles: int = result["run_cycles"]
        self.clocked: Mapping[str, int] = result["clocked_cycles"]
        counters = result["counters"]
        is_product = result["mac_utilization"] is not None
        cores = [core["counters"] or {} for core in result["cores"] or ()]
        self.events = {
            **counters,
            **{name: matching(counters, *patterns) for name, patterns in CLUSTER_EVENTS.items()},
            **{name: sum(own.get(name, 0) for own in cores) for name in CORE_EVENTS},
            PRODUCTS: result["operations"] // 2 if is_product else 0,
        }
        self.units: dict[str | None, dict[str, int]] = {}
        for number, (unit, matrix) in enumerate(config.named_units.items()):
            weights = "shared_read_words_b" + (str(number) if number else "")
            self.units[unit] = {"weight_words": counters.get(weights, 0)} | {
                name: counters[row.name_in(unit)]
                for row in matrix_style_of(matrix).counters
                if (name := row.name_in("matrix")) in UNIT_EVENTS
            }

    def count(self, block: EventBlock, name: str) -> int:
        """Return the events of all instances of a block, or their clocked cycles."""
        clock = name.removesuffix(CYCLES)
        if clock == name:
            return (self.units[block.unit] if name in UNIT_EVENTS else self.events).get(name, 0)
        if clock == CORE:
            return sum(self.clocked[f"core{number}"] for number in range(self.config.cores))
        return instances(self.config, clock) * self.clocked[block.unit or clock]

    def ungated(self, energies: Mapping[str, float]) -> float:
        """Return the energy of clock pins per cycle if no clock is withheld."""
        counted = (instances(self.config, name.removesuffix(CYCLES)) for name in energies)
        return sum(map(mul, counted, energies.values()))

    def energy(self, block: EventBlock, energies: Mapping[str, float]) -> float:
        """Return the energy of a block from those of its events and clocked cycles."""
        return sum(energy * self.count(block, name) for name, energy in energies.items())


def matching(counters: Mapping[str, int], pattern: str, without: str = "") -> int:
    """Return the sum of counters of a pattern without those of another, 0 at least."""
    plus, minus = (
        sum(count for name, count in counters.items() if re.fullmatch(regex, name))
        for regex in (pattern, without)
    )
    return max(0, plus - minus)
