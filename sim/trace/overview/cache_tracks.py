"""Tracks of a cluster's caches: accesses, misses and stalls."""

from collections.abc import Iterator, Mapping

from ....hw.cluster.counters import Counter
from ....hw.config import MachineConfig
from .series import Drawing, Track, counted

__all__ = ["CACHES", "cache_tracks"]

#: Series of each cache: event, label, name of the colour, drawing. Accesses are stacked areas, all
#: others are lines behind them.
CACHES: dict[str, tuple[str, dict[str, tuple[str, str, Drawing]]]] = {
    "l2": (
        "L2",
        {
            "read": ("bursts read", "read", Drawing.STACK),
            "write": ("bursts written", "write", Drawing.STACK),
            "read_miss": ("read misses", "read_miss", Drawing.LINE),
            "write_miss": ("write misses", "write_miss", Drawing.LINE),
            "mshr_stall": ("waits for a free MSHR", "wait_a", Drawing.LINE),
            "write_stall": ("write retries", "wait_weights", Drawing.LINE),
            "pipeline_stall": ("waits for another access", "wait_revisit", Drawing.LINE),
            "write_back": ("lines written back", "drain", Drawing.LINE),
            "prefetch": ("lines prefetched", "add", Drawing.LINE),
        },
    ),
    "l1d": (
        "L1 data",
        {
            "data.reads": ("beats read", "read", Drawing.STACK),
            "data.writes": ("beats written", "write", Drawing.STACK),
            "data.misses": ("line refills", "drain", Drawing.LINE),
            "data.joins": ("secondary misses", "add", Drawing.LINE),
            "data.entry_waits": ("waits for a free MSHR", "wait_a", Drawing.LINE),
            "data.order_waits": ("waits for another access", "wait_revisit", Drawing.LINE),
            "data.bank_waits": ("waits for the memories", "wait_weights", Drawing.LINE),
        },
    ),
    "l1i": (
        "L1 instructions",
        {
            "instructions.fetches": ("fetches", "read", Drawing.STACK),
            "instructions.fetch_misses": ("fetch misses", "read_miss", Drawing.LINE),
            "instructions.entry_waits": ("waits for a free MSHR", "wait_a", Drawing.LINE),
            "instructions.bank_waits": ("waits for the memories", "wait_weights", Drawing.LINE),
            "instructions.lines_fetched": ("line refills", "drain", Drawing.LINE),
        },
    ),
}


def cache_tracks(
    config: MachineConfig, unit: str, events: Mapping[str, Counter]
) -> Iterator[Track]:
    """Yield the track of a cache, summed over all cores or slices."""
    title, table = CACHES[unit]
    series = tuple(
        counted(events[event], label, colour, drawing=drawing)
        for event, (label, colour, drawing) in table.items()
    )
    most = config.axi.masters if unit == "l2" else config.cores
    yield Track(title=title, manual="docs/machine.md#memory", series=series, most=most)
