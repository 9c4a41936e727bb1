"""Tracks of a cluster's timeline: the recorded signals in each, and how they are drawn."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from ....hw.cluster.cores import core_domains
from ....hw.cluster.counters import Counter
from ....hw.config import WORD_BYTES, MachineConfig
from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.csr import COUNTERS
from ....hw.isa.memory_map import in_cluster
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
#: Units of a cluster whose counters have tracks, besides caches and matrix units.
UNITS = ("dma", "shared", "tensor")


def cluster_tracks(
    config: MachineConfig, records: ClusterRecords, cores: int | None = None
) -> list[Track]:
    """Return the tracks with any activity, in the order of the data flow.

    Tracks of a core are those of the first `cores` cores, None for all. With several clusters the
    titles begin with the cluster.
    """
    shown = config.all_cores if cores is None else cores
    of_unit: dict[str, dict[str, Counter]] = defaultdict(dict)
    for counter in counter_table(config):
        of_unit[counter.unit][counter.event] = counter
    tracks = []
    for cluster in range(config.clusters):
        events = {name: of_unit.get(in_cluster(cluster, name), {}) for name in (*UNITS, *CACHES)}
        first, end = (min(shown, config.cores * number) for number in (cluster, cluster + 1))
        own = [
            *unit_and_cache_tracks(config, cluster, events),
            *(track for number in range(first, end) for track in core_tracks(config, number)),
        ]
        if config.clusters > 1:
            own = [replace(track, title=f"cluster {cluster}, {track.title}") for track in own]
        tracks += own
    if config.clusters > 1:
        tracks += cache_tracks(config, "l2", of_unit["l2"])
    tracks += function_tracks(config, records, shown)
    drawn = (
        replace(track, series=tuple(one for one in track.series if one.names <= {*records.sums}))
        for track in tracks
    )
    return [track for track in drawn if any(one.sums(records).any() for one in track.series)]


def unit_and_cache_tracks(
    config: MachineConfig, cluster: int, events: dict[str, dict[str, Counter]]
) -> Iterator[Track]:
    """Yield the tracks of the units of a cluster, and of the caches, in the order of the data flow.

    The L2 is with them if there is one cluster.
    """
    dma = events["dma"]
    yield from dma_tracks(config, dma, "read")
    yield from descriptor_tracks(dma, in_cluster(cluster, "dma_busy"))
    yield from shared_tracks(config, events["shared"])
    for unit in config.named_units:
        yield from unit_tracks(config, unit, cluster)
    yield from tensor_tracks(config, events["tensor"], cluster)
    yield from dma_tracks(config, dma, "write")
    for unit in CACHES:
        if events[unit] and (unit != "l2" or config.clusters == 1):
            yield from cache_tracks(config, unit, events[unit])


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


def descriptor_tracks(events: dict[str, Counter], signal: str) -> Iterator[Track]:
    """Yield the track of the whole DMA, with its `busy` signal."""
    busy = Series(
        label="busy",
        colour=COLOURS["busy"],
        signals=(signal,),
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
            port = counter.name.partition(f"shared_{kind}_words_")[2]
            moved = counted(counter, f"{kind}s", kind, event_bytes=counter.scale * WORD_BYTES)
            held = counted(events[f"{kind}_wait_{number}"], "stalled", "held")
            yield Track(title=f"shared {kind} {port}", manual=SHARED, series=(moved, held))
    ports = cluster_ports(config, config.clusters)
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


def unit_tracks(config: MachineConfig, unit: str, cluster: int) -> Iterator[Track]:
    """Yield the tracks of a matrix unit of a cluster, as in the table of its kind."""
    counters = matrix_style_of(config.named_units[unit]).counters
    for track in dict.fromkeys(counter.track for counter in counters):
        series = (
            Series(
                label=counter.label,
                colour=COLOURS[counter.colour],
                signals=(in_cluster(cluster, counter.name_in(unit)),),
                meaning=counter.meaning,
            )
            for counter in counters
            if counter.track == track
        )
        yield Track(title=f"{unit} {track}", manual=UNITS_AND_DMA, series=tuple(series))


def tensor_tracks(
    config: MachineConfig, events: dict[str, Counter], cluster: int
) -> Iterator[Track]:
    """Yield the track of the tensor units of the cores of a cluster, if they have some.

    It shows the counters of their style, or without any the cycles in which a unit multiplies.
    """
    if config.tensor is None:
        return
    style = tensor_style_of(config.tensor)
    series = [counted(events[row.event], row.label, row.colour) for row in style.counters]
    if not series:
        signals = tuple(f"{core}_multiplies" for core in core_domains(config, cluster))
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
    active, waiting, asleep = (f"{core}_{what}" for what in ("active", "at_barrier", "asleep"))
    sleeps = config.core.awaits_units
    run = Series(
        label="run",
        colour=COLOURS["compute"],
        signals=(active,),
        less=waiting,
        meaning="active warps that wait at no barrier and for no unit",
    )
    wait = Series(
        label="wait at a barrier",
        colour=SLOT_COLOURS[StallReason.BARRIER],
        signals=(waiting,),
        less=asleep if sleeps else "",
        meaning="warps that wait at a barrier",
    )
    sleep = Series(
        label="sleep",
        colour=COLOURS["idle"],
        signals=(asleep,),
        meaning="warps that sleep until a unit has made progress",
    )
    yield Track(
        title=f"core {number} warps",
        manual=STALLS,
        most=config.core.warps,
        series=(run, wait, sleep) if sleeps else (run, wait),
    )
