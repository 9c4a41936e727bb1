"""Config of the L2 cache."""

from dataclasses import dataclass

from .cache_shape import CacheShape
from .checks import require_integer, require_power_of_two

__all__ = ["L2Config"]


@dataclass(frozen=True, kw_only=True)
class L2Config(CacheShape):
    """A slice of the L2 cache, which serves one DRAM channel.

    Parameters
    ----------
    size : int
        Capacity of a slice in bytes. A power of two.
    ways : int
        Associativity, 1 to 16. A power of two.
    line_bytes : int
        Bytes of a line, 8 to 256, all on one channel. A power of two.
    mshrs : int
        MSHRs: reads that wait for DRAM or for each other, 2 to 256. A power of two.
    write_backs : int
        Write-backs in flight, 2 to 256. A power of two.
    prefetch : int
        Lines of the slice prefetched ahead of a stream of reads, 0 to 128; 0 disables it.
    early_write_backs : int
        Write-backs in flight below which a line written in whole goes to DRAM with its write, 0
        to 64. Lines beyond follow while DRAM is lightly loaded, from sets of which up to twice as
        many are queued. 0 leaves all lines to evictions and to the flush.
    no_allocate_sources : tuple of int
        Sources whose misses do not allocate: their reads bypass the cache, and their writes do
        too if they miss.

    """

    size: int = 256 * 1024
    ways: int = 8
    line_bytes: int = 64
    mshrs: int = 64
    write_backs: int = 64
    prefetch: int = 48
    early_write_backs: int = 28
    no_allocate_sources: tuple[int, ...] = (0,)

    def __post_init__(self):
        require_power_of_two("size", self.size, 16, 1 << 24)
        require_power_of_two("ways", self.ways, 1, 16)
        require_power_of_two("line_bytes", self.line_bytes, 8, 256)
        require_power_of_two("mshrs", self.mshrs, 2, 256)
        require_power_of_two("write_backs", self.write_backs, 2, 256)
        require_integer("prefetch", self.prefetch, 0, 128)
        require_integer("early_write_backs", self.early_write_backs, 0, 64)
        if not isinstance(self.no_allocate_sources, tuple):
            raise TypeError(
                f"no_allocate_sources must be a tuple of integers, not {self.no_allocate_sources!r}"
            )
        for source in self.no_allocate_sources:
            require_integer("each of no_allocate_sources", source, 0, 255)
        self.require_sets()
