"""Golden model of the DMA: effect of a descriptor on DRAM and shared memory."""

from collections import defaultdict
from dataclasses import dataclass

from .....hw.config import ClusterConfig
from .....hw.isa.memory_map import DRAM_BASE, DRAM_END
from .....hw.lib.interfaces.shared_memory import Direction

__all__ = ["DmaJob", "SparseMemory", "drain_beats", "is_refused", "run_job"]

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
class DmaJob:
    """A DMA descriptor, with the fields of `dma_job`."""

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


def is_refused(config: ClusterConfig, job: DmaJob) -> bool:
    """Return whether a descriptor is empty or leaves memory on either side."""
    rows, width = job.rows, job.bytes
    if not rows or not width:
        return True
    dram_end = job.dram + (rows - 1) * job.dram_pitch + width
    if job.direction == Direction.LOAD:
        rows, width = max(rows, job.fill_rows), max(width, job.fill_bytes)
    local_end = job.local + (rows - 1) * job.local_pitch + width
    if job.direction in (Direction.DRAIN, Direction.SPILL) and not job.block:
        return True
    outside_dram = job.dram < DRAM_BASE or dram_end > DRAM_END
    outside_local = local_end > config.shared.size
    return (job.direction != Direction.SPILL and outside_dram) or (
        job.direction != Direction.DRAIN and outside_local
    )


def drain_beats(config: ClusterConfig, job: DmaJob) -> int:
    """Return the number of beats of the matrix unit that a descriptor consumes."""
    if not job.rows or not job.bytes or not job.block:
        return 0
    assert config.matrix is not None
    blocks = -(-job.bytes // job.block)
    return blocks * job.rows * -(-job.block // config.matrix.drain_bytes)


def run_job(config: ClusterConfig, job: DmaJob, dram, local, beats=()) -> bool:
    """Execute one descriptor on `dram` and `local`; return whether it was refused.

    `beats` are the results of the matrix unit for a DRAIN or SPILL, `drain_bytes` each.
    """
    if is_refused(config, job):
        return True
    if job.direction == Direction.LOAD:
        width, height = max(job.bytes, job.fill_bytes), max(job.rows, job.fill_rows)
        for i in range(height):
            row = b""
            if i < job.rows:
                row = dram.read(job.dram + i * job.dram_pitch, job.bytes)
            local.write(job.local + i * job.local_pitch, row.ljust(width, b"\0"))
    elif job.direction == Direction.STORE:
        for i in range(job.rows):
            row = local.read(job.local + i * job.local_pitch, job.bytes)
            dram.write(job.dram + i * job.dram_pitch, row)
    else:
        assert config.matrix is not None
        spills = job.direction == Direction.SPILL
        memory = local if spills else dram
        start, pitch = (job.local, job.local_pitch) if spills else (job.dram, job.dram_pitch)
        left = iter(beats)
        for column in range(0, job.bytes, job.block):
            for i in range(job.rows):
                size = -(-job.block // config.matrix.drain_bytes)
                row = b"".join(next(left) for _ in range(size))
                valid = min(job.block, job.bytes - column)
                memory.write(start + i * pitch + column, row[:valid])
    return False
