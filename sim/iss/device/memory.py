"""Memory accesses of the unit models: DRAM by address, shared memory by offset."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ....hw.config import DmaBlockConfig
from ....hw.isa.memory_map import SHARED_BASE
from ....hw.lib.interfaces.shared_memory import Direction
from ...golden.memory.dma.dma import DmaDescriptor, is_refused, run_descriptor
from .region import Region
from .work_queue import DeviceFault

__all__ = ["DeviceMemory", "Memory"]


class Memory(Protocol):
    """DRAM and shared memory by address."""

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Read bytes."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Write bytes."""
        ...


class View:
    """View of memory from a base address on, in the interface of `golden.dma`."""

    def __init__(self, memory: Memory, base: int):
        self.memory = memory
        self.base = base

    def read(self, address: int, count: int) -> bytes:
        return self.memory.read(self.base + address, count).tobytes()

    def write(self, address: int, values: bytes):
        self.memory.write(self.base + address, values)


class DeviceMemory:
    """Execution of DMA transfers, and the regions that they access.

    Parameters
    ----------
    config : DmaBlockConfig
    memory : Memory
    allowed : callable or None
        ``allowed(address, nbytes)``: whether this DRAM may be accessed; None allows all of it.
    unit : int
        Number of the matrix unit whose results DRAIN and SPILL move.
    shared_base : int
        Address in `memory` of the cluster's shared memory.

    """

    def __init__(
        self,
        config: DmaBlockConfig,
        memory: Memory,
        allowed: Callable[[int, int], bool] | None,
        unit: int = 0,
        shared_base: int = SHARED_BASE,
    ):
        self.unit, self.shared_base = unit, shared_base
        self.config = config
        self.memory = memory
        self.allowed = allowed
        self.dram, self.local = View(memory, 0), View(memory, shared_base)

    def shared(self) -> np.ndarray:
        """Return the contents of shared memory."""
        return np.asarray(self.memory.read(self.shared_base, self.config.shared.size), np.uint8)

    def run(self, descriptor: DmaDescriptor, beats=(), accumulator=None) -> bool:
        """Execute `descriptor`; return whether it was rejected as out of range.

        Results to move are `beats`; D is written to `accumulator`.
        """
        return run_descriptor(
            self.config,
            descriptor,
            self.dram,
            self.local,
            beats,
            unit=self.unit,
            accumulator=accumulator,
        )

    def regions(self, descriptor: DmaDescriptor, what: str) -> tuple[list[Region], list[Region]]:
        """Return the regions that `descriptor` reads and writes; none if it will be rejected."""
        if is_refused(self.config, descriptor):
            return [], []
        loads = descriptor.direction == Direction.LOAD
        outer = Region(descriptor.dram, descriptor.dram_pitch, descriptor.rows, descriptor.bytes)
        rows, width = descriptor.rows, descriptor.bytes
        if loads:
            rows, width = max(rows, descriptor.fill_rows), max(width, descriptor.fill_bytes)
        inner = Region(self.shared_base + descriptor.local, descriptor.local_pitch, rows, width)
        if descriptor.direction not in (Direction.SPILL, Direction.REFILL):
            self.require_allowed(outer, what)
        return {
            Direction.LOAD: ([outer], [inner]),
            Direction.STORE: ([inner], [outer]),
            Direction.DRAIN: ([], [outer]),
            Direction.SPILL: ([], [inner]),
            Direction.FILL: ([outer], []),
            Direction.REFILL: ([inner], []),
        }[descriptor.direction]

    def require_allowed(self, region: Region, what: str):
        """Raise `DeviceFault` for DRAM that may not be accessed."""
        if self.allowed is None or self.allowed(region.start, region.end - region.start):
            return
        for start in region.starts.tolist():
            if not self.allowed(start, region.width):
                raise DeviceFault(
                    f"{what} accesses 0x{start:08X} to 0x{start + region.width:08X}, "
                    f"outside all placed regions"
                )
