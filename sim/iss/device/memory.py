"""What engines see of memory: DRAM by address, shared memory by offset, both as bytes."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ....hw.config import ClusterConfig
from ....hw.isa.memory_map import SHARED_BASE
from ....hw.lib.interfaces.shared_memory import Direction
from ...golden.memory.dma.dma import DmaJob, is_refused, run_job
from .region import Region
from .work_queue import DeviceFault

__all__ = ["DeviceMemory", "Memory"]


class Memory(Protocol):
    """DRAM and shared memory by address."""

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Change bytes."""
        ...


class View:
    """Memory from a base on, as `golden.dma` takes it."""

    def __init__(self, memory: Memory, base: int):
        self.memory = memory
        self.base = base

    def read(self, address: int, count: int) -> bytes:
        return self.memory.read(self.base + address, count).tobytes()

    def write(self, address: int, values: bytes):
        self.memory.write(self.base + address, values)


class DeviceMemory:
    """Carries out transfers, and tells what they touch.

    Parameters
    ----------
    config : ClusterConfig
    memory : Memory
    allowed : callable or None
        Whether DRAM from an address on, so many bytes, may be touched; None for all.

    """

    def __init__(
        self,
        config: ClusterConfig,
        memory: Memory,
        allowed: Callable[[int, int], bool] | None,
    ):
        self.config = config
        self.memory = memory
        self.allowed = allowed
        self.dram, self.local = View(memory, 0), View(memory, SHARED_BASE)

    def shared(self) -> np.ndarray:
        """Return the bytes of shared memory."""
        return np.asarray(self.memory.read(SHARED_BASE, self.config.shared.size), np.uint8)

    def run(self, job: DmaJob, beats=()) -> bool:
        """Carry out `job`; return whether it was refused."""
        return run_job(self.config, job, self.dram, self.local, beats)

    def regions(self, job: DmaJob, what: str) -> tuple[list[Region], list[Region]]:
        """Return what `job` reads and what it writes: nothing if it will be refused."""
        if is_refused(self.config, job):
            return [], []
        loads = job.direction == Direction.LOAD
        outer = Region(job.dram, job.dram_pitch, job.rows, job.bytes)
        rows, width = job.rows, job.bytes
        if loads:
            rows, width = max(rows, job.fill_rows), max(width, job.fill_bytes)
        inner = Region(SHARED_BASE + job.local, job.local_pitch, rows, width)
        if job.direction != Direction.SPILL:
            self.require_allowed(outer, what)
        return {
            Direction.LOAD: ([outer], [inner]),
            Direction.STORE: ([inner], [outer]),
            Direction.DRAIN: ([], [outer]),
            Direction.SPILL: ([], [inner]),
        }[job.direction]

    def require_allowed(self, region: Region, what: str):
        """Raise for DRAM that may not be touched."""
        if self.allowed is None or self.allowed(region.start, region.end - region.start):
            return
        for start in region.starts.tolist():
            if not self.allowed(start, region.width):
                raise DeviceFault(
                    f"{what} goes to 0x{start:08X} to 0x{start + region.width:08X}, "
                    f"outside everything that was placed"
                )
