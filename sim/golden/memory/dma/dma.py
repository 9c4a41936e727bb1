"""Golden model of the DMA: effect of a descriptor on DRAM and shared memory."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from .....hw.config import DmaBlockConfig
from .....hw.isa.memory_map import DRAM_BASE, DRAM_END
from .....hw.lib.interfaces.shared_memory import Direction

__all__ = ["DmaDescriptor", "SparseMemory", "drain_beats", "is_refused", "run_descriptor"]

PAGE = 4096


class SparseMemory:
    """Sparse memory in pages, which are allocated when written; other bytes read as 0."""

    def __init__(self):
        self.pages = defaultdict(lambda: bytearray(PAGE))

    def read(self, address: int, count: int) -> bytes:
        """Return `count` bytes from `address`."""
        parts = []
        while count:
            page, offset = divmod(address, PAGE)
            size = min(count, PAGE - offset)
            parts.append(bytes(self.pages[page][offset : offset + size]))
            address, count = address + size, count - size
        return b"".join(parts)

    def write(self, address: int, values: bytes):
        """Write `values` from `address`."""
        done = 0
        while done < len(values):
            page, offset = divmod(address + done, PAGE)
            size = min(len(values) - done, PAGE - offset)
            self.pages[page][offset : offset + size] = values[done : done + size]
            done += size

    def write_masked(self, address: int, value: int, mask: int, size: int):
        """Write the bytes of `value`, `size` bytes long, that have their bit set in `mask`."""
        new = value.to_bytes(size, "little")
        if mask != (1 << size) - 1:
            old = self.read(address, size)
            new = bytes(new[k] if mask >> k & 1 else old[k] for k in range(size))
        self.write(address, new)

    def __eq__(self, other):
        empty = bytes(PAGE)
        return isinstance(other, SparseMemory) and all(
            self.pages.get(page, empty) == other.pages.get(page, empty)
            for page in self.pages.keys() | other.pages.keys()
        )


@dataclass(frozen=True, kw_only=True)
class DmaDescriptor:
    """A DMA descriptor, with the fields of `dma_descriptor`."""

    direction: Direction
    dram: int = DRAM_BASE
    dram_pitch: int = 0
    local: int = 0
    local_pitch: int = 0
    rows: int = 1
    bytes: int = 1
    fill_rows: int = 0
    fill_bytes: int = 0
    block: int = 0
    tag: int = 0


def is_refused(config: DmaBlockConfig, descriptor: DmaDescriptor) -> bool:
    """Return whether a descriptor is empty or leaves memory on either side."""
    rows, width = descriptor.rows, descriptor.bytes
    if not rows or not width:
        return True
    dram_end = descriptor.dram + (rows - 1) * descriptor.dram_pitch + width
    if descriptor.direction == Direction.LOAD:
        rows, width = max(rows, descriptor.fill_rows), max(width, descriptor.fill_bytes)
    local_end = descriptor.local + (rows - 1) * descriptor.local_pitch + width
    if descriptor.direction in (Direction.DRAIN, Direction.SPILL) and not descriptor.block:
        return True
    outside_dram = descriptor.dram < DRAM_BASE or dram_end > DRAM_END
    outside_local = local_end > config.shared.size
    uses_dram = descriptor.direction not in (Direction.SPILL, Direction.REFILL)
    uses_local = descriptor.direction not in (Direction.DRAIN, Direction.FILL)
    return (uses_dram and outside_dram) or (uses_local and outside_local)


def drain_beats(config: DmaBlockConfig, descriptor: DmaDescriptor, unit: int = 0) -> int:
    """Return the number of beats of matrix unit `unit` that a descriptor consumes."""
    if not descriptor.rows or not descriptor.bytes or not descriptor.block:
        return 0
    blocks = -(-descriptor.bytes // descriptor.block)
    return blocks * descriptor.rows * -(-descriptor.block // config.drain_bytes[unit])


def run_descriptor(
    config: DmaBlockConfig,
    descriptor: DmaDescriptor,
    dram,
    local,
    beats=(),
    unit: int = 0,
    accumulator: Any = None,
) -> bool:
    """Execute one descriptor on `dram` and `local`; return whether it was refused.

    `beats` are the results of matrix unit `unit` for a DRAIN or SPILL, its `drain_bytes` each.
    A FILL or REFILL writes to its `accumulator`.
    """
    if is_refused(config, descriptor):
        return True
    if descriptor.direction == Direction.LOAD:
        width, height = (
            max(descriptor.bytes, descriptor.fill_bytes),
            max(descriptor.rows, descriptor.fill_rows),
        )
        for i in range(height):
            row = b""
            if i < descriptor.rows:
                row = dram.read(descriptor.dram + i * descriptor.dram_pitch, descriptor.bytes)
            local.write(descriptor.local + i * descriptor.local_pitch, row.ljust(width, b"\0"))
    elif descriptor.direction == Direction.FILL:
        for i in range(descriptor.rows):
            row = dram.read(descriptor.dram + i * descriptor.dram_pitch, descriptor.bytes)
            accumulator.write(descriptor.local + i * descriptor.local_pitch, row)
    elif descriptor.direction == Direction.REFILL:
        for i in range(descriptor.rows):
            row = local.read(descriptor.local + i * descriptor.local_pitch, descriptor.bytes)
            accumulator.write(descriptor.dram + i * descriptor.dram_pitch, row)
    elif descriptor.direction == Direction.STORE:
        for i in range(descriptor.rows):
            row = local.read(descriptor.local + i * descriptor.local_pitch, descriptor.bytes)
            dram.write(descriptor.dram + i * descriptor.dram_pitch, row)
    else:
        spills = descriptor.direction == Direction.SPILL
        memory = local if spills else dram
        start, pitch = (
            (descriptor.local, descriptor.local_pitch)
            if spills
            else (descriptor.dram, descriptor.dram_pitch)
        )
        left = iter(beats)
        for column in range(0, descriptor.bytes, descriptor.block):
            for i in range(descriptor.rows):
                size = -(-descriptor.block // config.drain_bytes[unit])
                row = b"".join(next(left) for _ in range(size))
                valid = min(descriptor.block, descriptor.bytes - column)
                memory.write(start + i * pitch + column, row[:valid])
    return False
