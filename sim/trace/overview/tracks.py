"""Tracks of a cluster's timeline: the recorded signals in each, and how they are drawn."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from ....hw.cluster.counters import Counter, counter_table
from ....hw.config import WORD_BYTES, ClusterConfig
from ....hw.core.issue.stall_reason import StallReason
from ....hw.matrix.registry import kind_of
from ....hw.memory.shared.shared_memory import cluster_ports
from .activity_records import ClusterRecords
from .cache_tracks import CACHES, cache_tracks
from .cluster_signals import slot_name, unit_name
from .function_tracks import function_tracks
from .series import COLOURS, Drawing, Series, Track

__all__ = ["COLOURS", "Drawing", "Series", "Track", "cluster_tracks"]

#: Hues of issue slots by `StallReason`, as in the page of a core's pipeline; idle ones are grey.
REASON_HUES = (130, 350, 320, 290, 215, 30, 180, 265, 55, 15)


def cluster_tracks(
    config: ClusterConfig, records: ClusterRecords, cores: int | None = None
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
    kept = (
        replace(track, series=tuple(one for one in track.series if one.names <= {*records.sums}))
        for track in tracks
    )
    return [track for track in kept if any(one.sums(records).any() for one in track.series)]


def dma_tracks(config: ClusterConfig, events: dict[str, Counter], kind: str) -> Iterator[Track]:
    """Yield a track per AXI master for its reads or writes."""
    for event, counter in events.items():
        if found := re.fullmatch(rf"{kind}_beats_(\d+)", event):
            moved = Series(
                label=f"{kind}s",
                colour=COLOURS[kind],
                signals=(counter.name,),
                event_bytes=config.axi.data_width // 8,
            )
            held = events[f"{kind}_wait_{found[1]}"]
            waits = Series(
                label="stalled",
                colour=COLOURS["held"],
                signals=(held.name,),
                drawing=Drawing.LINE,
            )
            yield Track(title=f"DRAM {kind} m_axi{found[1]}", series=(moved, waits))


def descriptor_tracks(events: dict[str, Counter]) -> Iterator[Track]:
    """Yield the track of the whole DMA."""
    done = tuple(
        Series(
            label="descriptor done" if event == "descriptors" else event.replace("_", " "),
            colour=COLOURS["held"],
            signals=(counter.name,),
            drawing=Drawing.MARK,
        )
        for event, counter in events.items()
        if "descriptors" in event
    )
    busy = Series(label="busy", colour=COLOURS["busy"], signals=("dma_busy",))
    yield Track(title="DMA", series=(busy, *done))


def shared_tracks(config: ClusterConfig, events: dict[str, Counter]) -> Iterator[Track]:
    """Yield a track per wide port of shared memory, one for all rows and one for all lanes."""
    for event, counter in events.items():
        if found := re.fullmatch(r"(read|write)_(\d+)", event):
            kind, number = found.groups()
            port = counter.name.removeprefix(f"shared_{kind}_words_")
            moved = Series(
                label=f"{kind}s",
                colour=COLOURS[kind],
                signals=(counter.name,),
                event_bytes=counter.scale * WORD_BYTES,
            )
            held = Series(
                label="stalled",
                colour=COLOURS["held"],
                signals=(events[f"{kind}_wait_{number}"].name,),
            )
            yield Track(title=f"shared {kind} {port}", series=(moved, held))
    ports = cluster_ports(config)
    if ports.row_ports:
        yield Track(title="shared rows", series=core_series(events, "row"), most=ports.row_ports)
    if lanes := ports.memory.narrow_ports:
        yield Track(title="shared lanes", series=core_series(events, "narrow"), most=lanes)


def core_series(events: dict[str, Counter], kind: str) -> tuple[Series, ...]:
    """Return the reads, writes and waits of all ports of cores of one kind."""
    return tuple(
        Series(
            label=what,
            colour=COLOURS[colour],
            signals=(events[f"{kind}_{what}"].name,),
            event_bytes=0 if what == "waits" else events[f"{kind}_{what}"].scale * WORD_BYTES,
            drawing=drawing,
        )
        for what, colour, drawing in (
            ("reads", "read", Drawing.STACK),
            ("writes", "write", Drawing.STACK),
            ("waits", "held", Drawing.LINE),
        )
    )


def unit_tracks(config: ClusterConfig, unit: str) -> Iterator[Track]:
    """Yield the tracks of a matrix unit, as in the table of its kind."""
    counters = kind_of(config.named_units[unit]).counters
    for track in dict.fromkeys(counter.track for counter in counters):
        series = (
            Series(
                label=counter.label,
                colour=COLOURS[counter.colour],
                signals=(counter.name_in(unit),),
            )
            for counter in counters
            if counter.track == track
        )
        yield Track(title=f"{unit} {track}", series=tuple(series))


def tensor_tracks(config: ClusterConfig, events: dict[str, Counter]) -> Iterator[Track]:
    """Yield the track of the tensor units of all cores, if they have some.

    Units that read shared memory have counters.
    """
    if config.tensor_units is not None:
        signals = tuple(f"core{number}_multiplies" for number in range(config.cores))
        multiply = Series(label="multiply", colour=COLOURS["compute"], signals=signals)
        yield Track(title="tensor units", most=config.cores, series=(multiply,))
    if events:
        series = tuple(
            Series(label=label, colour=COLOURS[colour], signals=(events[event].name,))
            for event, label, colour in (
                ("active", "multiply", "compute"),
                ("operand_wait", "wait for operands", "wait_a"),
                ("c_wait", "wait for C", "wait_drain"),
            )
        )
        yield Track(title="tensor units", most=config.cores, series=series)


def core_tracks(config: ClusterConfig, number: int) -> Iterator[Track]:
    """Yield the tracks of a core: issue slots, execution units with an instruction, warps."""
    assert config.core is not None
    core, slots = f"core{number}", range(config.core.issue_width)
    yield Track(
        title=f"core {number} issue",
        most=len(slots),
        series=tuple(
            Series(
                label=reason.name.lower().replace("_", " ") if reason else "issued",
                colour=reason_colour(reason),
                signals=tuple(slot_name(core, slot, reason) for slot in slots),
            )
            for reason in StallReason
        ),
    )
    yield Track(
        title=f"core {number} units",
        most=len(config.core.ports),
        series=tuple(
            Series(
                label=port.name.lower(),
                colour=f"hsl({REASON_HUES[port]} 45% 62%)",
                signals=(unit_name(core, port),),
            )
            for port in config.core.ports
        ),
    )
    active, waiting = f"{core}_active", f"{core}_at_barrier"
    run = Series(label="run", colour=COLOURS["compute"], signals=(active,), less=waiting)
    wait = Series(
        label="wait at a barrier",
        colour=reason_colour(StallReason.BARRIER),
        signals=(waiting,),
    )
    yield Track(title=f"core {number} warps", most=config.core.warps, series=(run, wait))


def reason_colour(reason: StallReason) -> str:
    """Return the colour of an issue slot."""
    if reason is StallReason.IDLE:
        return COLOURS["idle"]
    return f"hsl({REASON_HUES[reason]} 50% 60%)"
