"""What follows from the size of a cache, its ways and its lines."""

from amaranth.utils import exact_log2

__all__ = ["CacheShape"]

ADDRESS_WIDTH = 32


class CacheShape:
    """Lines and sets of a cache, whose config says how many bytes and ways it has."""

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
