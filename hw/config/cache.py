"""Config of a cache."""

from dataclasses import dataclass
from typing import Annotated

from .cache_shape import CacheShape
from .checks import require_integer
from .ranges import Integers, PowersOfTwo, require_ranges

__all__ = ["CacheConfig"]


@dataclass(frozen=True, kw_only=True)
class CacheConfig(CacheShape):
    """A cache.

    Parameters
    ----------
    size : int
        Capacity in bytes.
    ways : int
        Associativity.
    line_bytes : int
        Bytes of a line.
    mshrs : int
        MSHRs: lines refilled at a time.
    prefetch : int
        Lines prefetched ahead of a sequential stream; less than `mshrs` and at most a quarter of
        all lines; 0 disables prefetching.

    """

    size: Annotated[int, PowersOfTwo(16, 1 << 20)] = 16 * 1024
    ways: Annotated[int, PowersOfTwo(1, 8)] = 2
    line_bytes: Annotated[int, PowersOfTwo(8, 256)] = 64
    mshrs: Annotated[int, Integers(1, 16)] = 8
    prefetch: Annotated[int, Integers(0, 15)] = 6

    def __post_init__(self):
        require_ranges(self)
        require_integer("prefetch", self.prefetch, 0, self.mshrs - 1)
        self.require_sets()
        if 4 * self.prefetch > self.lines:
            raise ValueError(
                f"prefetch must be at most a quarter of {self.lines} lines, not {self.prefetch}"
            )
