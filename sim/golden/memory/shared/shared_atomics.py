"""Golden model of atomics at shared memory: results, and reservations cycle by cycle."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from .....hw.config import WORD_BYTES
from .....hw.isa.operations import AtomicOperation
from .....hw.memory.shared.bank_atomics import reservation_config
from .....hw.memory.shared.ports import SharedMemoryPorts
from ..atomic.atomic_unit import atomic_word
from ..atomic.reservation_table import ReservationModel

__all__ = ["Atomic", "SharedAtomics"]

#: Cycles from the acceptance of an atomic to its write.
WRITE_LATENCY = 2


@dataclass(frozen=True, kw_only=True)
class Atomic:
    """Atomic of a lane, with its values at the bytes of `mask`; `owner` is a thread of its port."""

    address: int
    operation: AtomicOperation
    mask: int
    data: int
    expected: int = 0
    owner: int = 0


class SharedAtomics:
    """Atomics of all banks, of which each does one per cycle.

    An atomic takes effect when it is accepted. It ends the reservations of its word when it writes.

    Parameters
    ----------
    config : SharedMemoryPorts
    read : function of int
        Returns the word at an address.
    write : function of (int, int, int)
        Writes the bytes of a mask at an address: address, word, mask.

    """

    def __init__(
        self,
        config: SharedMemoryPorts,
        read: Callable[[int], int],
        write: Callable[[int, int, int], None],
    ):
        self.memory, self.read, self.write = config.memory, read, write
        table = reservation_config(config)
        self.reservations = [ReservationModel(table) for _ in range(self.memory.banks)]
        self.requests: dict[int, tuple[bool, int, tuple[int, int]] | None] = {}
        self.written: set[int] = set()
        # Address of each atomic of this cycle and the last ones, and whether it writes.
        self.flights: list[list[tuple[int, bool]]] = [[] for _ in range(WRITE_LATENCY + 1)]

    def place(self, address: int) -> tuple[int, tuple[int, int]]:
        """Return bank, and column and line, of a word."""
        bank, offset = divmod(address, self.memory.size // self.memory.banks)
        line, place = divmod(offset, self.memory.line_bytes)
        return bank, (place // WORD_BYTES, line)

    def execute(self, port: int, atomic: Atomic) -> int | None:
        """Execute an atomic of a narrow port; return its result, None if it has no meaning."""
        bank, word = self.place(atomic.address)
        if bank in self.requests:
            raise ValueError(f"a bank must do one atomic per cycle, not two: {atomic}")
        assert self.memory.atomics is not None
        owner = port << self.memory.atomics.owner_width | atomic.owner
        operation, old = atomic.operation, self.read(atomic.address)
        is_conditional = operation == AtomicOperation.SC
        reserves = operation == AtomicOperation.LR
        self.requests[bank] = (reserves, owner, word) if is_conditional or reserves else None
        holds = self.reservations[bank].holds(owner, word)
        new = atomic_word(operation, atomic.mask, old, atomic.data, atomic.expected)
        writes = new is not None and (holds or not is_conditional)
        if writes:
            assert new is not None
            self.write(atomic.address, new, atomic.mask)
        self.flights[0].append((atomic.address, writes))
        if is_conditional:
            return int(not holds)
        return None if operation == AtomicOperation.STORE else old

    @property
    def busy(self) -> bool:
        """Whether an atomic is in progress, or there is a reservation."""
        _, read, written = self.flights
        return (
            bool(read)
            or any(writes for _, writes in written)
            or any(reservations.reserved for reservations in self.reservations)
        )

    def locked(self, address: int) -> bool:
        """Return whether others must not access a word in this cycle."""
        _, read, written = self.flights
        return (address, True) in [*read, *written] or (address, False) in read

    def writes(self) -> set[int]:
        """Return the words that atomics write in this cycle."""
        return {address for address, writes in self.flights[-1] if writes}

    def end_cycle(self) -> None:
        """End a cycle: age and end reservations."""
        lines: dict[int, dict[int, int]] = defaultdict(dict)
        for address in self.written | self.writes():
            bank, (column, line) = self.place(address)
            lines[bank][column] = line
        for bank, reservations in enumerate(self.reservations):
            reservations.step(self.requests.get(bank), lines[bank])
        self.requests, self.written = {}, set()
        self.flights = [[], *self.flights[:-1]]
