"""Config of a cache."""

from dataclasses import dataclass

from amaranth.utils import exact_log2

from .checks import require_integer, require_power_of_two

__all__ = ["CacheConfig"]

ADDRESS_WIDTH = 32


@dataclass(frozen=True, kw_only=True)
class CacheConfig:
    """A cache.

    Parameters
    ----------
    size : int
        Bytes of all lines. A power of two.
    ways : int
        Lines that an address may be in, 1 to 8. A power of two.
    line_bytes : int
        Bytes of a line, 8 to 256. A power of two.
    misses : int
        Lines that are being read at a time, 1 to 16.
    prefetch : int
        Lines that are read ahead of the one in use where lines follow each other, less than
        `misses` and at most a quarter of all lines; 0 reads none.

    """

    size: int = 16 * 1024
    ways: int = 2
    line_bytes: int = 64
    misses: int = 8
    prefetch: int = 6

    def __post_init__(self):
        require_power_of_two("size", self.size, 16, 1 << 20)
        require_power_of_two("ways", self.ways, 1, 8)
        require_power_of_two("line_bytes", self.line_bytes, 8, 256)
        require_integer("misses", self.misses, 1, 16)
        require_integer("prefetch", self.prefetch, 0, self.misses - 1)
        if self.sets < 2:
            raise ValueError(
                f"size must give each way 2 lines or more: {self.ways} ways x {self.line_bytes} "
                f"bytes x 2 = {2 * self.ways * self.line_bytes} bytes, not {self.size}"
            )
        if 4 * self.prefetch > self.lines:
            raise ValueError(
                f"prefetch must be at most a quarter of {self.lines} lines, not {self.prefetch}"
            )

    @property
    def lines(self) -> int:
        """Lines in all."""
        return self.size // self.line_bytes

    @property
    def sets(self) -> int:
        """Lines of each way."""
        return self.lines // self.ways

    @property
    def line_width(self) -> int:
        """Bits of an address that tell its line."""
        return ADDRESS_WIDTH - exact_log2(self.line_bytes)

    @property
    def set_width(self) -> int:
        """Bits of a set's number, the lowest of a line's."""
        return exact_log2(self.sets)

    @property
    def tag_width(self) -> int:
        """Bits that tell lines of one set apart."""
        return self.line_width - self.set_width
