"""L1 caches of a core: their miss configs, line reads and events."""

from amaranth.lib import data
from amaranth.utils import ceil_log2, exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...lib.interfaces.core_memory import pairs
from .data_cache_layouts import DataCacheConfig
from .mshr_config import MshrConfig

__all__ = [
    "PAIR_BYTES",
    "context_layout",
    "data_mshr_config",
    "instruction_cache_events",
    "instruction_mshr_config",
    "read_layout",
]


#: Bytes of an instruction fetch: two words.
PAIR_BYTES = 8


def instruction_mshr_config(config: MemoryUnitConfig) -> MshrConfig:
    """Return the miss config of a core's L1I: each pair of each warp may wait."""
    core = config.core
    return MshrConfig(
        cache=core.l1i,
        beat_bytes=config.axi.beat_bytes,
        word_bytes=PAIR_BYTES,
        waiters=core.warps << ceil_log2(pairs(core)),
    )


def context_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of the context of a read: the response's tag, and its lanes' words.

    ``places`` are the numbers of the words in the beat.
    """
    core = config.core
    place = exact_log2(config.axi.beat_bytes // WORD_BYTES)
    return data.StructLayout({
        "tag": core.tag_width,
        "lanes": core.request_lanes,
        "places": data.ArrayLayout(place, core.request_lanes),
    })


def data_mshr_config(config: MemoryUnitConfig) -> DataCacheConfig:
    """Return the config of a core's L1D: each transaction may wait."""
    core = config.core
    return DataCacheConfig(
        cache=core.l1d,
        beat_bytes=config.axi.beat_bytes,
        word_bytes=config.axi.beat_bytes,
        waiters=core.transactions,
        context_width=context_layout(config).size,
        owner_width=core.atomic_owner_width,
    )


def read_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of a read of a line by either cache, with its first beat."""
    return data.StructLayout({
        "id": config.core.mshr_width,
        "beat": 32 - exact_log2(config.axi.beat_bytes),
    })


def instruction_cache_events() -> data.StructLayout:
    """Return the layout of a cycle's events in the L1 instruction cache.

    ``fetches``: a fetch is accepted. ``fetch_misses``: the fetch accepted in the last cycle is not
    answered. ``lines_fetched``: a line is requested, on demand or as a prefetch. ``entry_waits``: a
    look-up stalls as no MSHR or no way is free. ``bank_waits``: a fetch is not accepted as the
    arrays are in use: a beat arrives, a replay is answered, a prefetch is looked up, or a sweep
    is in progress.
    """
    names = ("fetches", "fetch_misses", "lines_fetched", "entry_waits", "bank_waits")
    return data.StructLayout(dict.fromkeys(names, 1))
