"""Config of the L2 cache."""

from dataclasses import dataclass
from typing import Annotated

from .cache_shape import CacheShape
from .checks import require_integer
from .ranges import Integers, PowersOfTwo, require_ranges

__all__ = ["L2Config"]


@dataclass(frozen=True, kw_only=True)
class L2Config(CacheShape):
    """A slice of the L2 cache, which serves one DRAM channel.

    Parameters
    ----------
    size : int
        Capacity of a slice in bytes.
    ways : int
        Associativity.
    line_bytes : int
        Bytes of a line, all on one channel.
    mshrs : int
        MSHRs: reads that wait for DRAM or for each other.
    write_backs : int
        Write-backs in flight.
    prefetch : int
        Lines of the slice prefetched ahead of a stream of reads; 0 disables it.
    early_write_backs : int
        Write-backs in flight below which a line written in whole goes to DRAM with its write.
        Lines beyond follow while DRAM is lightly loaded, from sets of which up to twice as many
        are queued. 0 leaves all lines to evictions and to the flush.
    no_allocate_sources : tuple of int
        Sources whose misses do not allocate: their reads bypass the cache, and their writes do
        too if they miss.

    """

    size: Annotated[int, PowersOfTwo(16, 1 << 24)] = 256 * 1024
    ways: Annotated[int, PowersOfTwo(1, 16)] = 8
    line_bytes: Annotated[int, PowersOfTwo(8, 256)] = 64
    mshrs: Annotated[int, PowersOfTwo(2, 256)] = 64
    write_backs: Annotated[int, PowersOfTwo(2, 256)] = 64
    prefetch: Annotated[int, Integers(0, 128)] = 48
    early_write_backs: Annotated[int, Integers(0, 64)] = 28
    no_allocate_sources: tuple[int, ...] = (0,)

    def __post_init__(self):
        require_ranges(self)
        if not isinstance(self.no_allocate_sources, tuple):
            raise TypeError(
                f"no_allocate_sources must be a tuple of integers, not {self.no_allocate_sources!r}"
            )
        for source in self.no_allocate_sources:
            require_integer("each of no_allocate_sources", source, 0, 255)
        self.require_sets()
