"""What a cache of data is like, and what flows into it and out of it."""

from dataclasses import dataclass

from amaranth.lib import data
from amaranth.utils import exact_log2

from .line_miss import MissConfig
from .miss_table import entry_width

__all__ = [
    "DataCacheConfig",
    "beat_answer_layout",
    "beat_read_layout",
    "beat_write_layout",
    "data_cache_events",
    "line_beat_layout",
    "line_read_layout",
]


@dataclass(frozen=True, kw_only=True)
class DataCacheConfig(MissConfig):
    """A cache of data: whole beats are asked for, and nothing is read ahead.

    Parameters
    ----------
    cache : CacheConfig
        With a `prefetch` of 0.
    beat_bytes, word_bytes : int
        Bytes that come at a time and bytes of a request, the same. A power of two.
    waiters : int
        Reads that may be under way at a time, and as many writes.

    """

    def __post_init__(self):
        if self.word_bytes != self.beat_bytes:
            raise ValueError(
                f"word_bytes must be those of a beat, {self.beat_bytes}, not {self.word_bytes}"
            )
        if self.cache.prefetch:
            raise ValueError(
                f"cache.prefetch must be 0 in a cache of data, which reads nothing ahead, "
                f"not {self.cache.prefetch}"
            )


def beat_width(config: DataCacheConfig) -> int:
    """Bits of an address in beats."""
    return 32 - exact_log2(config.beat_bytes)


def beat_read_layout(config: DataCacheConfig) -> data.StructLayout:
    """Layout of a read of one beat; its id comes back with it."""
    return data.StructLayout({"id": config.waiter_width, "beat": beat_width(config)})


def beat_answer_layout(config: DataCacheConfig) -> data.StructLayout:
    """Layout of a beat that was asked for, or of the reason why there is none."""
    return data.StructLayout({
        "id": config.waiter_width,
        "data": 8 * config.beat_bytes,
        "error": 1,
    })


def beat_write_layout(config: DataCacheConfig) -> data.StructLayout:
    """Layout of a write of one beat's bytes that have a bit in ``strobes``."""
    return data.StructLayout({
        "beat": beat_width(config),
        "data": 8 * config.beat_bytes,
        "strobes": config.beat_bytes,
    })


def line_read_layout(config: DataCacheConfig) -> data.StructLayout:
    """Layout of a read of a whole line, given its first beat; its id comes back with each beat."""
    return data.StructLayout({"id": entry_width(config), "beat": beat_width(config)})


def line_beat_layout(config: DataCacheConfig) -> data.StructLayout:
    """Layout of the next beat of a line."""
    return data.StructLayout({
        "id": entry_width(config),
        "data": 8 * config.beat_bytes,
        "error": 1,
    })


def data_cache_events(_: DataCacheConfig) -> data.StructLayout:
    """Layout of the events of a cycle.

    ``reads``, ``writes``: one is accepted. ``misses``: a line is to be read. ``joins``: a read
    waits for a line that was missed before. ``entry_waits``: one waits for a free entry of the
    misses, or for a way. ``order_waits``: one waits for a write to its line, or a write for reads.
    ``bank_waits``: one is not accepted, though nothing that is looked up holds it and there is
    room, as the memories are in use: by a beat that comes, a waiter that is answered, the last
    write or the other one of a read and a write, or as they are emptied.
    """
    names = ("reads", "writes", "misses", "joins", "entry_waits", "order_waits", "bank_waits")
    return data.StructLayout(dict.fromkeys(names, 1))
