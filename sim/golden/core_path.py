"""Golden model of what a core's data requests do to the memories of a cluster."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...hw.address_map import (
    CONSOLE_BASE,
    CONSOLE_LANES,
    COUNTER_DUMP,
    COUNTER_DUMP_BYTES,
    DRAM_BASE,
    DRAM_END,
    MATRIX_STRIDE,
    PRINT_BYTES,
    SHARED_BASE,
    unit_bases,
)
from ...hw.config import ClusterConfig
from .dma import SparseMemory

__all__ = ["ClusterMemory"]


@dataclass
class ClusterMemory:
    """DRAM, shared memory and console, as requests leave them that are carried out in order.

    Attributes
    ----------
    broken : range
        Addresses of DRAM that answer with errors.
    device : callable or None
        ``device(offset, is_store, value)`` carries out an access to a register of a unit that is
        there, by its byte offset in the window; it returns what is loaded (0 for a store), or None
        to refuse. Without one, all are refused.
    dram : SparseMemory
    shared : SparseMemory
        By byte offset.
    console : bytearray

    """

    config: ClusterConfig
    broken: range = range(0)
    device: Callable[[int, int, int], int | None] | None = None
    dram: SparseMemory = field(default_factory=SparseMemory)
    shared: SparseMemory = field(default_factory=SparseMemory)
    console: bytearray = field(default_factory=bytearray)

    def carry_out(self, request: dict) -> tuple[list[int], int]:
        """Carry a request out, lowest lanes first; return the words loaded and who is refused."""
        words, refused = [0] * len(request["address"]), 0
        for lane, address in enumerate(request["address"]):
            if not request["mask"] >> lane & 1:
                continue
            access = (address, request["is_store"], request["data"][lane], request["strobes"][lane])
            word = self.access(*access)
            if word is None:
                refused |= 1 << lane
            else:
                words[lane] = word
        return words, refused

    def access(self, address: int, is_store: int, value: int, strobes: int) -> int | None:
        """Carry out one lane's access; return what it loads, None if nobody serves it."""
        shared_end = SHARED_BASE + self.config.shared.size
        if address in self.broken:
            return None
        if DRAM_BASE <= address < DRAM_END:
            return self.word(self.dram, address & ~3, is_store, value, strobes)
        if SHARED_BASE <= address < shared_end:
            offset = (address - SHARED_BASE) & ~3
            return self.word(self.shared, offset, is_store, value, strobes)
        bases = unit_bases(len(self.config.matrices)).values()
        if any(0 <= address - shared_end - base < MATRIX_STRIDE for base in bases):
            if self.device is None or strobes != 15:
                return None
            return self.device(address - shared_end, is_store, value if is_store else 0)
        if not is_store:
            return None
        if 0 <= address - CONSOLE_BASE < CONSOLE_LANES:
            if strobes.bit_count() != 1:
                return None
            self.console.append(value >> 8 * (strobes.bit_length() - 1) & 0xFF)
            return 0
        forgotten = (
            0 <= address - shared_end < self.config.cores * PRINT_BYTES
            or 0 <= address - COUNTER_DUMP < self.config.cores * COUNTER_DUMP_BYTES
        )
        return 0 if forgotten else None

    def word(self, memory: SparseMemory, at: int, is_store: int, value: int, strobes: int) -> int:
        """Load a word, or store the strobed bytes of one."""
        if not is_store:
            return int.from_bytes(memory.read(at, 4), "little")
        if strobes:
            memory.write_masked(at, value, strobes, 4)
        return 0
