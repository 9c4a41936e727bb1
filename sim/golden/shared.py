"""Golden model of shared memory: bytes, and how many cycles banking allows."""

from collections import Counter

from ...hw.memory.shared import SharedMemoryPorts

__all__ = ["SharedMemoryModel", "cycles_of_wide_accesses"]


class SharedMemoryModel:
    """Bytes with the sequential semantics of accepted accesses.

    Accesses are applied in the order in which they were accepted. Of those accepted in one cycle
    the reads come first, though the hardware accepts none that would see the difference.

    Parameters
    ----------
    config : SharedMemoryPorts
        What is modelled.
    fill : int
        The byte everywhere at the start.

    """

    def __init__(self, config: SharedMemoryPorts, fill: int = 0):
        self.config = config
        self.contents = bytearray([fill]) * config.memory.size

    def read(self, address: int, size: int) -> int:
        """Return `size` bytes at `address`, little-endian; `address` must be a multiple of it."""
        if address % size or not 0 <= address <= len(self.contents) - size:
            raise ValueError(f"address must be a multiple of {size} in memory, not {address:#x}")
        return int.from_bytes(self.contents[address : address + size], "little")

    def write(self, address: int, size: int, value: int, mask: int) -> None:
        """Write the bytes of `value` whose bit of `mask` is set."""
        self.read(address, size)
        for byte in range(size):
            if mask >> byte & 1:
                self.contents[address + byte] = value >> 8 * byte & 0xFF

    def bank(self, address: int) -> int:
        """Return the bank that holds `address`."""
        return address // (self.config.memory.size // self.config.memory.banks)


def cycles_of_wide_accesses(config: SharedMemoryPorts, streams) -> int:
    """Return the fewest cycles in which wide ports of one path do all their accesses.

    `streams` holds for each port its addresses. A port does one access per cycle and a bank does
    one per cycle, so no schedule beats the busiest of them; where each port stays in one bank,
    round-robin reaches it.
    """
    model = SharedMemoryModel(config)
    banks = Counter(model.bank(address) for stream in streams for address in stream)
    return max([0, *map(len, streams), *banks.values()])
