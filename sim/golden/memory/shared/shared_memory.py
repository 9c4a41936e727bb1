"""Golden model of shared memory: contents, and the cycles that banking allows."""

from collections import Counter

from .....hw.memory.shared.shared_memory import SharedMemoryPorts

__all__ = ["SharedMemoryModel", "cycles_of_wide_accesses"]


class SharedMemoryModel:
    """Contents of shared memory, with the sequential semantics of accepted accesses.

    Accesses are applied in the order of acceptance. In one cycle reads are applied first; the
    hardware accepts no accesses that could tell the difference.

    Parameters
    ----------
    config : SharedMemoryPorts
        The modelled memory and its ports.
    fill : int
        Initial value of every byte.

    """

    def __init__(self, config: SharedMemoryPorts, fill: int = 0):
        self.config = config
        self.contents = bytearray([fill]) * config.memory.size

    def read(self, address: int, size: int) -> int:
        """Return `size` bytes at `address`, a multiple of `size`, as a little-endian number."""
        if address % size or not 0 <= address <= len(self.contents) - size:
            raise ValueError(f"address must be a multiple of {size} in memory, not {address:#x}")
        return int.from_bytes(self.contents[address : address + size], "little")

    def write(self, address: int, size: int, value: int, mask: int) -> None:
        """Write the bytes of `value` that have their bit set in `mask`."""
        self.read(address, size)
        for byte in range(size):
            if mask >> byte & 1:
                self.contents[address + byte] = value >> 8 * byte & 0xFF

    def bank(self, address: int) -> int:
        """Return the bank that holds `address`."""
        return address // (self.config.memory.size // self.config.memory.banks)


def cycles_of_wide_accesses(config: SharedMemoryPorts, streams) -> int:
    """Return the minimum cycles in which the wide ports of one path complete all accesses.

    `streams` holds the addresses of each port. A port and a bank each do one access per cycle,
    so the busiest of them is a lower bound. If each port stays in one bank, round-robin
    arbitration reaches that bound.
    """
    model = SharedMemoryModel(config)
    banks = Counter(model.bank(address) for stream in streams for address in stream)
    return max([0, *map(len, streams), *banks.values()])
