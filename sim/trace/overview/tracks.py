"""Tracks of a cluster's timeline: the recorded signals in each, and how they are drawn."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from ....hw.cluster.counters import Counter
from ....hw.config import WORD_BYTES, MachineConfig
from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.csr import COUNTERS
from ....hw.isa.operations import PORTS
from ....hw.machine.counters import counter_table
from ....hw.memory.shared.shared_memory import cluster_ports
from ....hw.styles.registry import matrix_style_of, tensor_style_of
from ..palette import COLOURS, PALETTE, SLOT_COLOURS
from .activity_records import ClusterRecords
from .cache_tracks import CACHES, cache_tracks
from .cluster_signals import slot_name, unit_name
from .function_tracks import function_tracks
from .series import Drawing, Series, Track, counted

__all__ = ["Drawing", "Series", "Track", "cluster_tracks"]

#: Sections of the manual.
UNITS_AND_DMA = "docs/programming.md#matrix-unit-and-dma"
SHARED = "docs/machine.md#conflicts-in-shared-memory"
STALLS = "docs/pipeline.md#stall-reasons"


def cluster_tracks(
    config: MachineConfig, records: ClusterRecords, cores: int | None = None
) -> list[Track]:
    """Return the tracks with any activity, in the order of the data flow.

    Tracks of a core are those of the first `cores` cores, None for all.
    """
    shown = config.cores if cores is None else cores
    of_unit: dict[str, dict[str, Counter]] = defaultdict(dict)
    for counter in counter_table(config):
        of_unit[counter.unit][counter.event] = counter
    dma, shared = of_unit.pop("dma", {}), of_unit.pop("shared", {})
    tensor = of_unit.pop("tensor", {})
    caches = {unit: of_unit.pop(unit) for unit in CACHES if unit in of_unit}
    tracks = [
        *dma_tracks(config, dma, "read"),
        *descriptor_tracks(dma),
        *shared_tracks(config, shared),
        *(track for unit in config.named_units for track in unit_tracks(config, unit)),
        *tensor_tracks(config, tensor),
        *dma_tracks(config, dma, "write"),
        *(track for unit in caches for track in cache_tracks(config, unit, caches[unit])),
        *(track for number in range(shown) for track in core_tracks(config, number)),
        *function_tracks(config, records, shown),
    ]
    drawn = (
        replace(track, series=tuple(one for one in track.series if one.names <= {*records.sums}))
        for track in tracks
    )
    return [track for track in drawn if any(one.sums(records).any() for one in track.series)]


def dma_tracks(config: MachineConfig, events: dict[str, Counter], kind: str) -> Iterator[Track]:
    """Yield a track per AXI master for its reads or writes."""
    beat = config.axi.data_width // 8
    for event, counter in events.items():
        if match := re.fullmatch(rf"{kind}_beats_(\d+)", event):
            moved = counted(counter, f"{kind}s", kind, event_bytes=beat)
            held = events[f"{kind}_wait_{match[1]}"]
            waits = counted(held, "stalled", "held", drawing=Drawing.LINE)
            title = f"DRAM {kind} m_axi{match[1]}"
            yield Track(title=title, manual=UNITS_AND_DMA, series=(moved, waits))


def descriptor_tracks(events: dict[str, Counter]) -> Iterator[Track]:
    """Yield the track of the whole DMA."""
    busy = Series(
        label="busy",
        colour=COLOURS["busy"],
        signals=("dma_busy",),
        meaning="cycles with an unfinished descriptor",
    )
    done = (
        counted(counter, "descriptor done", "done", drawing=Drawing.MARK)
        for event, counter in events.items()
        if event == "descriptors"
    )
    yield Track(title="DMA", manual=UNITS_AND_DMA, series=(busy, *done))


def shared_tracks(config: MachineConfig, events: dict[str, Counter]) -> Iterator[Track]:
    """Yield a track per wide port of shared memory, one for all rows and one for all lanes."""
    for event, counter in events.items():
        if match := re.fullmatch(r"(read|write)_(\d+)", event):
            kind, number = match.groups()
            port = counter.name.removeprefix(f"shared_{kind}_words_")
            moved = counted(counter, f"{kind}s", kind, event_bytes=counter.scale * WORD_BYTES)
            held = counted(events[f"{kind}_wait_{number}"], "stalled", "held")
            yield Track(title=f"shared {kind} {port}", manual=SHARED, series=(moved, held))
    ports = cluster_ports(config)
    for kind, title, most in (
        ("row", "shared rows", ports.row_ports),
        ("narrow", "shared lanes", ports.memory.narrow_ports),
    ):
        if most:
            series = core_series(events, kind)
            yield Track(title=title, manual=SHARED, series=series, most=most)


def core_series(events: dict[str, Counter], kind: str) -> tuple[Series, ...]:
    """Return the reads, writes and waits of all ports of cores of one kind."""
    reads, writes, waits = (events[f"{kind}_{what}"] for what in ("reads", "writes", "waits"))
    return (
        counted(reads, "reads", "read", event_bytes=reads.scale * WORD_BYTES),
        counted(writes, "writes", "write", event_bytes=writes.scale * WORD_BYTES),
        counted(waits, "waits", "held", drawing=Drawing.LINE),
    )


def unit_tracks(config: MachineConfig, unit: str) -> Iterator[Track]:
    """Yield the tracks of a matrix unit, as in the table of its kind."""
    counters = matrix_style_of(config.named_units[unit]).counters
    for track in dict.fromkeys(counter.track for counter in counters):
        series = (
            Series(
                label=counter.label,
                colour=COLOURS[counter.colour],
                signals=(counter.name_in(unit),),
                meaning=counter.meaning,
            )
            for counter in counters
            if counter.track == track
        )
        yield Track(title=f"{unit} {track}", manual=UNITS_AND_DMA, series=tuple(series))


def tensor_tracks(config: MachineConfig, events: dict[str, Counter]) -> Iterator[Track]:
    """Yield the track of the tensor units of all cores, if they have some.

    It shows the counters of their style, or without any the cycles in which a unit multiplies.
    """
    if config.tensor is None:
        return
    style = tensor_style_of(config.tensor)
    series = [counted(events[row.event], row.label, row.colour) for row in style.counters]
    if not series:
        signals = tuple(f"core{number}_multiplies" for number in range(config.cores))
        multiply = Series(
            label="multiply",
            colour=COLOURS["compute"],
            signals=signals,
            meaning="cycles in which a unit multiplies",
        )
        series = [multiply]
    yield Track(title="tensor units", manual=style.manual, most=config.cores, series=tuple(series))


def core_tracks(config: MachineConfig, number: int) -> Iterator[Track]:
    """Yield the tracks of a core: issue slots, execution units with an instruction, warps."""
    assert config.core is not None
    core, slots = f"core{number}", range(config.core.issue_width)
    yield Track(
        title=f"core {number} issue",
        manual=STALLS,
        most=len(slots),
        series=tuple(
            Series(
                label=reason.name.lower().replace("_", " ") if reason else "issued",
                colour=SLOT_COLOURS[reason],
                signals=tuple(slot_name(core, slot, reason) for slot in slots),
                meaning=COUNTERS[f"slots_{reason.name.lower()}"].meaning,
            )
            for reason in StallReason
        ),
    )
    yield Track(
        title=f"core {number} units",
        manual="docs/measuring.md#execution-units",
        most=len(config.core.ports),
        series=tuple(
            Series(
                label=port.name.lower(),
                colour=PALETTE[port],
                signals=(unit_name(core, port),),
                meaning=f"cycles in which the {PORTS[port].name} has an instruction",
            )
            for port in config.core.ports
        ),
    )
    active, waiting = f"{core}_active", f"{core}_at_barrier"
    run = Series(
        label="run",
        colour=COLOURS["compute"],
        signals=(active,),
        less=waiting,
        meaning="active warps that wait at no barrier",
    )
    wait = Series(
        label="wait at a barrier",
        colour=SLOT_COLOURS[StallReason.BARRIER],
        signals=(waiting,),
        meaning="warps that wait at a barrier",
    )
    yield Track(
        title=f"core {number} warps", manual=STALLS, most=config.core.warps, series=(run, wait)
    )
