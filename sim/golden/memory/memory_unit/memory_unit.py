"""Golden model of a core's data requests to the memories of a cluster."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from .....hw.config import MemoryUnitConfig
from .....hw.isa.memory_map import (
    CLUSTER_WINDOW_BYTES,
    CLUSTER_WINDOWS,
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
from .....hw.isa.operations import AtomicOperation
from ..atomic.atomic_unit import atomic_word
from ..dma.dma import SparseMemory

__all__ = ["ClusterMemory"]


@dataclass
class ClusterMemory:
    """DRAM, shared memory, windows and console after requests in sequence.

    Writes of other masters to DRAM may become visible late, until `drop_old`.

    Attributes
    ----------
    broken : range
        DRAM addresses that answer with errors.
    refused : range
        DRAM addresses that answer stores with errors.
    device : callable or None
        ``device(offset, is_store, value)`` accesses an existing unit register at a byte offset
        in the window. It returns the loaded value (0 for a store), or None to refuse. Without
        it, all accesses are refused.
    dram : SparseMemory
    shared : SparseMemory
        By byte offset.
    windows : dict of int to SparseMemory
        Shared memory of each cluster that was accessed through its window, by byte offset.
    console : bytearray

    """

    config: MemoryUnitConfig
    broken: range = range(0)
    device: Callable[[int, int, int], int | None] | None = None
    dram: SparseMemory = field(default_factory=SparseMemory)
    shared: SparseMemory = field(default_factory=SparseMemory)
    windows: dict[int, SparseMemory] = field(default_factory=lambda: defaultdict(SparseMemory))
    console: bytearray = field(default_factory=bytearray)
    stale: dict[int, set[int]] = field(default_factory=dict)
    refused: range = range(0)

    def carry_out(self, request: dict) -> tuple[list[int], int]:
        """Execute a request, lowest lanes first; return the loaded words and the refused lanes."""
        words, refused = [0] * len(request["address"]), 0
        for lane, address in enumerate(request["address"]):
            if not request["mask"] >> lane & 1:
                continue
            values = request["data"][lane], request["strobes"][lane]
            if request.get("atomic"):
                operation = AtomicOperation(request["operation"])
                word = self.atomic(address, operation, *values, request["expected"][lane])
            else:
                word = self.access(address, request["is_store"], *values)
            if word is None:
                refused |= 1 << lane
            else:
                words[lane] = word
        return words, refused

    def suspect(self, address: int, values: bytes, strobes: int):
        """Allow bytes of DRAM to be read as a failed store would have left them."""
        for byte, value in enumerate(values):
            if strobes >> byte & 1:
                self.stale.setdefault(address + byte, set()).add(value)

    def change(self, address: int, values: bytes):
        """Write to DRAM as another master."""
        self.suspect(address, self.dram.read(address, len(values)), ~0)
        self.dram.write(address, values)

    def drop_old(self):
        """Exclude stale values from requests that are executed later."""
        self.stale.clear()

    def may_be(self, address: int) -> list[set[int]]:
        """Return the values that each byte of the word at an address may be loaded with."""
        at = address & ~3
        bytes_there = enumerate(self.dram.read(at, 4), at)
        return [{value, *self.stale.get(byte, ())} for byte, value in bytes_there]

    def access(self, address: int, is_store: int, value: int, strobes: int) -> int | None:
        """Execute one lane's access; return the loaded value, None if refused."""
        shared_end = SHARED_BASE + self.config.shared.size
        if address in self.broken:
            return None
        if is_store and address in self.refused:
            self.suspect(address & ~3, value.to_bytes(4, "little"), strobes)
            return None
        if DRAM_BASE <= address < DRAM_END:
            return self.word(self.dram, address & ~3, is_store, value, strobes)
        if SHARED_BASE <= address < shared_end:
            offset = (address - SHARED_BASE) & ~3
            return self.word(self.shared, offset, is_store, value, strobes)
        cluster, offset = divmod(address - CLUSTER_WINDOWS, CLUSTER_WINDOW_BYTES)
        is_window = 0 <= cluster < self.config.clusters and self.config.clusters > 1
        if is_window and offset < self.config.shared.size:
            return self.word(self.windows[cluster], offset & ~3, is_store, value, strobes)
        bases = unit_bases(self.config.matrices, has_dma=self.config.has_dma).values()
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

    def atomic(
        self, address: int, operation: AtomicOperation, operand: int, strobes: int, expected: int
    ) -> int | None:
        """Execute one lane's atomic, without reservations; return the old word, None if refused."""
        offset = address - SHARED_BASE
        if address in self.broken or address in self.refused:
            return None
        if DRAM_BASE <= address < DRAM_END:
            memory, at = self.dram, address & ~3
        elif 0 <= offset < self.config.shared.size:
            memory, at = self.shared, offset & ~3
        else:
            return None
        old = self.word(memory, at, 0, 0, 0)
        new = atomic_word(operation, strobes, old, operand, expected)
        if new is not None:
            self.word(memory, at, 1, new, strobes)
        return old

    def word(self, memory: SparseMemory, at: int, is_store: int, value: int, strobes: int) -> int:
        """Load a word, or store its strobed bytes."""
        if not is_store:
            return int.from_bytes(memory.read(at, 4), "little")
        if strobes:
            memory.write_masked(at, value, strobes, 4)
        if memory is self.dram:
            for byte in range(4):
                if strobes >> byte & 1:
                    self.stale.pop(at + byte, None)
        return 0
