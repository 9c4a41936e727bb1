"""Dimensions of a cache derived from its size, ways and line size."""

from amaranth.utils import exact_log2

__all__ = ["CacheShape"]

ADDRESS_WIDTH = 32


class CacheShape:
    """Lines and sets of a cache; the config provides its size and ways."""

    size: int
    ways: int
    line_bytes: int

    def require_sets(self):
        """Raise unless each way has 2 lines or more."""
        if self.sets < 2:
            raise ValueError(
                f"size must give each way 2 lines or more: {self.ways} ways x {self.line_bytes} "
                f"bytes x 2 = {2 * self.ways * self.line_bytes} bytes, not {self.size}"
            )

    @property
    def lines(self) -> int:
        """Total number of lines."""
        return self.size // self.line_bytes

    @property
    def sets(self) -> int:
        """Lines of each way."""
        return self.lines // self.ways

    @property
    def line_width(self) -> int:
        """Bits of an address that select its line."""
        return ADDRESS_WIDTH - exact_log2(self.line_bytes)

    @property
    def set_width(self) -> int:
        """Bits of a set index, the lowest of a line number."""
        return exact_log2(self.sets)

    @property
    def tag_width(self) -> int:
        """Bits of a tag, which distinguishes lines of one set."""
        return self.line_width - self.set_width
