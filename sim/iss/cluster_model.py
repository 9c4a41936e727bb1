"""Golden model of a host-driven cluster: executes a command list without a clock.

A random generator selects the times and orders of loads and stores that the machine leaves
undefined. Every memory access that could conflict with one in flight is an error. A command
list that passes with many seeds therefore waits for everything it depends on.
"""

import numpy as np

from ...hw.config import MachineConfig
from ...hw.isa.memory_map import DMA_BASE, SHARED_BASE
from ...kernels.commands import Operation
from .devices import Devices

__all__ = ["ClusterModel"]


class ClusterModel:
    """Executes command lists on NumPy arrays.

    Parameters
    ----------
    config : MachineConfig
    image : list of (address, bytes)
        Initial contents of DRAM; no other DRAM may be accessed.
    seed : int
        Seed for the order of unordered operations.
    schedule : str
        ``random``, or ``round_robin`` for the order in which operations were issued.

    """

    def __init__(self, config: MachineConfig, image, seed: int, schedule: str = "random"):
        self.dram = [(address, np.array(data, dtype=np.uint8)) for address, data in image]
        self.shared = np.full(config.shared.size, 0xFF, dtype=np.uint8)
        self.devices = Devices(config, self, schedule=schedule, seed=seed, allowed=self.is_placed)
        self.most_in_flight = 0

    def run(self, commands: np.ndarray) -> list[int]:
        """Execute `commands`; return the values read. Raise `RuntimeError` on an endless wait.

        There are no clock and no event counters: they read as 0.
        """
        reads = []
        for operation, address, data, mask in commands.tolist():
            if operation == Operation.WRITE:
                self.devices.write(address, data)
                assert not self.devices.error, self.devices.describe()
                self.most_in_flight = max(self.most_in_flight, self.devices.computes)
                continue
            while not self.satisfied(operation, value := self.register(address), data, mask):
                if self.devices.idle and value == self.register(address):
                    raise RuntimeError(f"register {address:#x} never becomes {data:#x}")
            if operation == Operation.READ:
                reads.append(value)
        assert not self.devices.error, self.devices.describe()
        return reads

    @staticmethod
    def satisfied(operation: int, value: int, data: int, mask: int) -> bool:
        """Return whether the value read completes a wait."""
        if operation == Operation.WAIT_EQUAL:
            return value & mask == data
        return operation == Operation.READ or (value - data) & 0x8000_0000 == 0

    def register(self, address: int) -> int:
        """Return the value that the host reads at `address`."""
        return self.devices.read(address) if address >= DMA_BASE else 0

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return bytes of DRAM or shared memory."""
        return self.region(address, nbytes).copy()

    def write(self, address: int, data: bytes):
        """Write bytes of DRAM or shared memory."""
        self.region(address, len(data))[:] = np.frombuffer(data, np.uint8)

    def region(self, address: int, size: int) -> np.ndarray:
        """Return a writable view of the bytes from `address`."""
        for base, data in [*self.dram, (SHARED_BASE, self.shared)]:
            if base <= address and address + size <= base + len(data):
                return data[address - base : address - base + size]
        raise IndexError(f"{address:#x} to {address + size:#x} is outside the placed memory")

    def is_placed(self, address: int, size: int) -> bool:
        """Return whether the bytes are within placed DRAM."""
        return any(
            base <= address and address + size <= base + len(data) for base, data in self.dram
        )
