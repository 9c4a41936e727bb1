"""Config and record layouts of the L1 data cache."""

from dataclasses import dataclass, field
from typing import Any

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data
from amaranth.utils import exact_log2

from ...config.parts import OPTIONAL
from ...lib.axi import WORD, atomic_user_fields
from .mshr_config import MshrConfig

__all__ = [
    "DataCacheConfig",
    "beat_answer_layout",
    "beat_read_layout",
    "beat_write_layout",
    "data_cache_events",
    "write_answer_layout",
    "write_failed",
]


@dataclass(frozen=True, kw_only=True)
class DataCacheConfig(MshrConfig):
    """L1 data cache: requests are whole beats; no prefetch.

    Parameters
    ----------
    cache : CacheConfig
        With a `prefetch` of 0.
    beat_bytes, word_bytes : int
        Bytes of a refill beat and of a request; equal. A power of two.
    waiters : int
        Reads in flight at a time, and as many writes.
    context_width : int
        Bits that accompany a read and are returned with its answer.
    owner_width : int or None
        Bits of the owner of an atomic; None without atomics.

    """

    context_width: int = 1
    owner_width: int | None = field(default=None, metadata=OPTIONAL)

    def __post_init__(self):
        if self.word_bytes != self.beat_bytes:
            raise ValueError(
                f"word_bytes must equal beat_bytes, {self.beat_bytes}, not {self.word_bytes}"
            )
        if self.cache.prefetch:
            raise ValueError(
                f"cache.prefetch must be 0 in a data cache, which never prefetches, "
                f"not {self.cache.prefetch}"
            )

    @property
    def has_atomics(self) -> bool:
        """Whether a write may be an atomic."""
        return self.owner_width is not None

    @property
    def strobe_width(self) -> int:
        """Bits of the strobes of a write, one for each byte."""
        return self.beat_bytes

    @property
    def forwards_beats(self) -> bool:
        """Whether an arriving beat is forwarded to a read that waits for it."""
        return True

    def place_of(self, beat: Value) -> Value:
        """Return the number of a beat in its line."""
        return beat[: self.place_width]

    def line_of(self, beat: Value) -> Value:
        """Return the line of a beat."""
        return beat[self.place_width :]

    def set_of(self, beat: Value) -> Value:
        """Return the set of a beat's line."""
        return self.line_of(beat)[: self.cache.set_width]


def beat_width(config: DataCacheConfig) -> int:
    """Return the bits of an address in beats."""
    return 32 - exact_log2(config.beat_bytes)


def beat_read_layout(config: DataCacheConfig) -> data.StructLayout:
    """Return the layout of a read of one beat; the answer returns its id and its context."""
    return data.StructLayout({
        "id": config.waiter_width,
        "beat": beat_width(config),
        "context": config.context_width,
    })


def beat_answer_layout(config: DataCacheConfig) -> data.StructLayout:
    """Return the layout of the answer to a read: a beat, or an error."""
    return data.StructLayout({
        "id": config.waiter_width,
        "context": config.context_width,
        "data": 8 * config.beat_bytes,
        "error": 1,
    })


def beat_write_layout(config: DataCacheConfig) -> data.StructLayout:
    """Return the layout of a write of one beat; ``strobes`` selects its bytes.

    With atomics, ``user`` and the bytes of one are those of `atomic_user_layout`.
    """
    return data.StructLayout({
        "beat": beat_width(config),
        "data": 8 * config.beat_bytes,
        "strobes": config.beat_bytes,
        **atomic_user_fields(config.owner_width),
    })


def write_answer_layout(config: DataCacheConfig) -> ShapeLike:
    """Return the layout of the answer to a write: 1 if it failed.

    With atomics, also the result of one in ``word``.
    """
    return data.StructLayout({"error": 1, "word": WORD}) if config.has_atomics else 1


def write_failed(config: DataCacheConfig, answer: Any) -> Value:
    """Return the bit of an answer to a write that marks its failure."""
    return answer.error if config.has_atomics else answer


def data_cache_events(_: DataCacheConfig) -> data.StructLayout:
    """Return the layout of the events of a cycle.

    ``reads``, ``writes``: one is accepted. ``misses``: a read of a line begins. ``joins``: a read
    waits for a line in flight. ``entry_waits``: a read stalls as no MSHR or no way is free.
    ``order_waits``: a read stalls for a write to its line, or a write for reads. ``bank_waits``: a
    request is not accepted only because the arrays are in use: by an arriving beat, a replay, the
    write before it, a competing request, or a sweep.
    """
    names = ("reads", "writes", "misses", "joins", "entry_waits", "order_waits", "bank_waits")
    return data.StructLayout(dict.fromkeys(names, 1))
