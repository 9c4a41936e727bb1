"""L1 caches of a core: their miss configs, line reads and events."""

from amaranth.lib import data
from amaranth.utils import ceil_log2, exact_log2

from ..config import ClusterConfig, CoreConfig
from ..lib.interfaces.core_memory import pairs
from .data_cache_layouts import DataCacheConfig
from .line_miss import MissConfig

__all__ = [
    "PAIR_BYTES",
    "core_id_width",
    "core_of",
    "data_misses",
    "id_width",
    "instruction_cache_events",
    "instruction_misses",
    "line_layout",
    "read_layout",
]


#: Bytes of a request for instructions: two words.
PAIR_BYTES = 8


def core_of(config: ClusterConfig) -> CoreConfig:
    """Return the config of the cores of a cluster that has some."""
    if config.core is None:
        raise ValueError("cores must be at least 1 to have memory, not 0")
    return config.core


def instruction_misses(config: ClusterConfig) -> MissConfig:
    """Return what misses of a core's instructions are like: each pair of each warp may wait."""
    core = core_of(config)
    return MissConfig(
        cache=core.l1i,
        beat_bytes=config.axi.beat_bytes,
        word_bytes=PAIR_BYTES,
        waiters=core.warps << ceil_log2(pairs(core)),
    )


def data_misses(config: ClusterConfig) -> DataCacheConfig:
    """Return what the cache of a core's data is like: each transaction may wait."""
    core = core_of(config)
    return DataCacheConfig(
        cache=core.l1d,
        beat_bytes=config.axi.beat_bytes,
        word_bytes=config.axi.beat_bytes,
        waiters=core.transactions,
    )


def id_width(config: ClusterConfig) -> int:
    """Bits that name a line that one cache of a core reads."""
    core = core_of(config)
    return ceil_log2(max(core.l1i.misses, core.l1d.misses))


def core_id_width(config: ClusterConfig) -> int:
    """Bits of the ids of a core's bursts: those of its two caches, and which of them it is."""
    return 1 + id_width(config)


def read_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of a read of a line, given its first beat; its id comes back with each beat."""
    return data.StructLayout({
        "id": id_width(config),
        "beat": 32 - exact_log2(config.axi.beat_bytes),
    })


def line_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of the next beat of a line, or of the reason why there is none."""
    return data.StructLayout({
        "id": id_width(config),
        "data": config.axi.data_width,
        "error": 1,
    })


def instruction_cache_events() -> data.StructLayout:
    """Layout of the events of a cycle in the cache of instructions.

    ``fetches``: one is accepted. ``fetch_misses``: one that was accepted in the last cycle is not
    answered. ``lines_fetched``: a line is asked for, wanted or read ahead. ``entry_waits``: one
    that is looked up waits for a free entry of the misses, or for a way. ``bank_waits``: one is not
    accepted as the memories are in use: a beat comes, a waiter is answered, a line to be read ahead
    is looked up, or the cache is emptied.
    """
    names = ("fetches", "fetch_misses", "lines_fetched", "entry_waits", "bank_waits")
    return data.StructLayout(dict.fromkeys(names, 1))
