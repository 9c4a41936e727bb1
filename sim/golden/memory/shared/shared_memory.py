"""Golden model of shared memory: contents, and the cycles that banking allows."""

from collections import Counter
from collections.abc import Iterable

from .....hw.config import WORD_BYTES, SharedMemoryConfig
from .....hw.memory.shared.shared_memory import SharedMemoryPorts
from .shared_atomics import SharedAtomics

__all__ = ["SharedMemoryModel", "conflict_degree", "cycles_of_wide_accesses", "port_sizes"]


def port_sizes(config: SharedMemoryPorts) -> dict[str, int]:
    """Return the bytes of each port's accesses, by the port names of `SharedMemory`."""
    sizes = {f"read_{i}": size for i, size in enumerate(config.read_sizes)}
    sizes |= {f"write_{i}": size for i, size in enumerate(config.write_sizes)}
    sizes |= {f"narrow_{n}": WORD_BYTES for n in range(config.memory.narrow_ports)}
    return sizes | {f"row_{n}": config.slice_bytes for n in range(config.row_ports)}


def conflict_degree(config: SharedMemoryConfig, addresses: Iterable[int]) -> int:
    """Return the maximum number of these words in one subbank of one bank.

    Bank ``address / (lines * line_bytes)``, subbank ``address / 4 mod subbanks``. A subbank reads
    one word and writes one word per cycle. Lanes of one path, each at its own port, thus take
    exactly this number of cycles without wide accesses. Equal words count separately, as there is
    no broadcast. Lanes that share ports take at least the number of lanes at a port, and exactly
    the maximum of both if they stay in one bank at one stride.
    """
    bank_bytes = config.lines * config.line_bytes
    places = Counter(
        (address // bank_bytes, address // WORD_BYTES % config.subbanks) for address in addresses
    )
    return max(places.values(), default=0)


class SharedMemoryModel:
    """Contents of shared memory, with the sequential semantics of accepted accesses.

    Accesses are applied in the order of acceptance. In one cycle reads are applied first; the
    hardware accepts no accesses whose results would differ. Reservations depend on cycles: with
    atomics each one ends with `end_cycle`.

    Parameters
    ----------
    config : SharedMemoryPorts
        The modelled memory and its ports.
    fill : int
        Initial value of every byte.

    Attributes
    ----------
    atomics : SharedAtomics or None
        Execution of atomics, if there are any.

    """

    def __init__(self, config: SharedMemoryPorts, fill: int = 0):
        self.config = config
        self.contents = bytearray([fill]) * config.memory.size
        self.atomics = None
        if config.memory.atomics is not None:
            self.atomics = SharedAtomics(config, self.read_word, self.store_word)

    def read(self, address: int, size: int) -> int:
        """Return `size` bytes at `address`, a multiple of `size`, as a little-endian number."""
        if address % size or not 0 <= address <= len(self.contents) - size:
            raise ValueError(f"address must be a multiple of {size} in memory, not {address:#x}")
        return int.from_bytes(self.contents[address : address + size], "little")

    def write(self, address: int, size: int, value: int, mask: int) -> None:
        """Write the bytes of `value` that have their bit set in `mask`."""
        self.store(address, size, value, mask)
        if self.atomics is not None:
            self.atomics.written |= {
                address + byte // WORD_BYTES * WORD_BYTES
                for byte in range(size)
                if mask >> byte & 1
            }

    def store(self, address: int, size: int, value: int, mask: int) -> None:
        """Change the contents."""
        self.read(address, size)
        for byte in range(size):
            if mask >> byte & 1:
                self.contents[address + byte] = value >> 8 * byte & 0xFF

    def read_word(self, address: int) -> int:
        """Return the word at an address."""
        return self.read(address, WORD_BYTES)

    def store_word(self, address: int, value: int, mask: int) -> None:
        """Change a word by an atomic, which ends reservations later."""
        self.store(address, WORD_BYTES, value, mask)

    @property
    def busy(self) -> bool:
        """Whether an atomic is in progress, or there is a reservation."""
        return self.atomics is not None and self.atomics.busy

    def end_cycle(self) -> None:
        """End a cycle."""
        if self.atomics is not None:
            self.atomics.end_cycle()

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
