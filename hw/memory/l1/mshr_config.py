"""Config of the misses of an L1 cache."""

from dataclasses import dataclass

from amaranth.utils import ceil_log2, exact_log2

from ...config import CacheConfig

__all__ = ["MshrConfig"]


@dataclass(frozen=True, kw_only=True)
class MshrConfig:
    """Miss handling of a cache.

    Parameters
    ----------
    cache : CacheConfig
    beat_bytes : int
        Bytes of a refill beat, at most a line. A power of two.
    word_bytes : int
        Bytes of one request, at most a beat. A power of two.
    waiters : int
        Requests that may wait at a time, each with its own number.

    """

    cache: CacheConfig
    beat_bytes: int
    word_bytes: int
    waiters: int

    @property
    def beats(self) -> int:
        """Beats of a line."""
        return self.cache.line_bytes // self.beat_bytes

    @property
    def place_width(self) -> int:
        """Bits of a word's number in its line."""
        return exact_log2(self.cache.line_bytes // self.word_bytes)

    @property
    def word_width(self) -> int:
        """Bits of a word's number in its beat, the low bits of its place."""
        return exact_log2(self.beat_bytes // self.word_bytes)

    @property
    def entry_width(self) -> int:
        """Bits of an MSHR's number."""
        return ceil_log2(self.cache.mshrs)

    @property
    def waiter_width(self) -> int:
        """Bits of a waiting request's number."""
        return ceil_log2(self.waiters)

    @property
    def strobe_width(self) -> int:
        """Bits of the strobes of a write to the data array; 0 if beats are written whole."""
        return 0

    @property
    def forwards_beats(self) -> bool:
        """Whether an arriving beat is forwarded to a request that waits for it."""
        return False
