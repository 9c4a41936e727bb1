"""Config of a cache."""

from dataclasses import dataclass

from .cache_shape import CacheShape
from .checks import require_integer, require_power_of_two

__all__ = ["CacheConfig"]


@dataclass(frozen=True, kw_only=True)
class CacheConfig(CacheShape):
    """A cache.

    Parameters
    ----------
    size : int
        Capacity in bytes. A power of two.
    ways : int
        Associativity, 1 to 8. A power of two.
    line_bytes : int
        Bytes of a line, 8 to 256. A power of two.
    mshrs : int
        MSHRs: lines refilled at a time, 1 to 16.
    prefetch : int
        Lines prefetched ahead of a sequential stream; less than `mshrs` and at most a quarter of
        all lines; 0 disables prefetching.

    """

    size: int = 16 * 1024
    ways: int = 2
    line_bytes: int = 64
    mshrs: int = 8
    prefetch: int = 6

    def __post_init__(self):
        require_power_of_two("size", self.size, 16, 1 << 20)
        require_power_of_two("ways", self.ways, 1, 8)
        require_power_of_two("line_bytes", self.line_bytes, 8, 256)
        require_integer("mshrs", self.mshrs, 1, 16)
        require_integer("prefetch", self.prefetch, 0, self.mshrs - 1)
        self.require_sets()
        if 4 * self.prefetch > self.lines:
            raise ValueError(
                f"prefetch must be at most a quarter of {self.lines} lines, not {self.prefetch}"
            )
