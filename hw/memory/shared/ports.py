"""Ports of shared memory: numbers, sizes, and the part of a bank that holds a row."""

from dataclasses import dataclass

from amaranth.utils import exact_log2

from ...config import WORD_BYTES, SharedMemoryConfig
from ...config.checks import require_integer, require_power_of_two

__all__ = ["SharedMemoryPorts"]


@dataclass(frozen=True, kw_only=True)
class SharedMemoryPorts:
    """Shared memory and its ports.

    Parameters
    ----------
    memory : SharedMemoryConfig
        Storage, and the number of narrow ports.
    read_sizes, write_sizes : tuple of int
        Bytes of each wide read and write port: powers of two from a word to a line.
    row_ports : int
        Ports that read or write a row.
    row_bytes : int or None
        Bytes of a row, a power of two from a word to a line; None without row ports.

    """

    memory: SharedMemoryConfig
    read_sizes: tuple[int, ...]
    write_sizes: tuple[int, ...]
    row_ports: int = 0
    row_bytes: int | None = None

    def __post_init__(self):
        line = self.memory.line_bytes
        for name in ("read_sizes", "write_sizes"):
            sizes = getattr(self, name)
            for size in sizes:
                require_power_of_two(f"each of {name}", size, WORD_BYTES, line)
            if not sizes and not self.memory.narrow_ports:
                raise ValueError(
                    f"{name} must name a port where there are no narrow ports, not {sizes!r}"
                )
        if self.memory.atomics is not None and not self.memory.narrow_ports:
            raise ValueError("memory.atomics must be None where there are no narrow ports")
        require_integer("row_ports", self.row_ports, 0, 32)
        if (self.row_bytes is None) != (self.row_ports == 0):
            rule = "an integer with row ports" if self.row_ports else "none without row ports"
            raise ValueError(f"row_bytes must be {rule}, not {self.row_bytes}")
        if self.row_bytes is not None:
            require_power_of_two("row_bytes", self.row_bytes, WORD_BYTES, line)

    @property
    def bank_address_width(self) -> int:
        """Bits of a byte address within a bank."""
        return exact_log2(self.memory.lines * self.memory.line_bytes)

    @property
    def slice_bytes(self) -> int:
        """Bytes of a line in one slice of a bank: a row, or the line without row ports."""
        return self.row_bytes or self.memory.line_bytes

    @property
    def slice_words(self) -> int:
        """Words of a line in one slice of a bank, each in a subbank."""
        return self.slice_bytes // WORD_BYTES

    @property
    def slices(self) -> int:
        """Slices of a bank."""
        return self.memory.line_bytes // self.slice_bytes
