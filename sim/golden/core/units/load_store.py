"""Golden model of the load-store unit: accesses in sequence, byte by byte."""

from dataclasses import dataclass, field

from .....hw.config import PipelineConfig
from .....hw.isa.memory_map import DRAM_BASE
from .....hw.isa.operations import ATOMIC_OPERATION_BIT, AtomicOperation, MemoryOperation, Port
from .....hw.lib.interfaces.memory_fault import MemoryFault
from ...memory.atomic.atomic_unit import atomic_operation

__all__ = [
    "Access",
    "Fault",
    "Request",
    "SequentialMemory",
    "fault_of",
    "has_expected",
    "requests_of",
    "size_of",
]

WORD = 0xFFFF_FFFF
LOADS = {
    MemoryOperation.LB: (1, True),
    MemoryOperation.LH: (2, True),
    MemoryOperation.LW: (4, True),
    MemoryOperation.LBU: (1, False),
    MemoryOperation.LHU: (2, False),
}
STORES = {MemoryOperation.SB: 1, MemoryOperation.SH: 2, MemoryOperation.SW: 4}
ATOMICS = {
    MemoryOperation.ATOMIC_B: 1,
    MemoryOperation.ATOMIC_H: 2,
    MemoryOperation.ATOMIC_W: 4,
}


def has_expected(operation: AtomicOperation | None) -> bool:
    """Return whether an atomic operation, if any, has an expected value."""
    return operation == AtomicOperation.CAS


@dataclass(frozen=True, kw_only=True)
class Access:
    """An access of a warp: a base and a value for each thread, active or not.

    `expected` has a value for each thread of an atomic.
    """

    warp: int
    mask: int
    pc: int
    operation: MemoryOperation
    rd: int
    writes: bool
    immediate: int
    bases: tuple[int, ...]
    values: tuple[int, ...]
    expected: tuple[int, ...] = ()

    @property
    def atomic(self) -> AtomicOperation | None:
        """Operation of an atomic access, None for others."""
        if self.operation not in ATOMICS:
            return None
        return AtomicOperation(self.immediate >> ATOMIC_OPERATION_BIT & 31)

    @property
    def is_store(self) -> bool:
        """True if it is a store."""
        return self.operation in STORES

    @property
    def active(self) -> list[int]:
        """Active threads, ascending."""
        return [thread for thread in range(len(self.bases)) if self.mask >> thread & 1]

    def address(self, thread: int) -> int:
        """Return the address of a thread's access."""
        if self.atomic is not None:
            return self.bases[thread]
        return (self.bases[thread] + self.immediate) & WORD


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Threads with a faulty access, and the address of the lowest of them."""

    warp: int
    pc: int
    mask: int
    kind: MemoryFault
    address: int


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request of one cycle; addresses, words and strobes of the active lanes only.

    An atomic has an operation and an owner, and expected values if it compares.
    """

    is_store: bool
    mask: int
    addresses: tuple[int, ...]
    words: tuple[int, ...] = ()
    strobes: tuple[int, ...] = ()
    operation: AtomicOperation | None = None
    owner: int = 0
    expected: tuple[int, ...] = ()


def size_of(operation: MemoryOperation) -> int:
    """Return the bytes that one thread accesses."""
    if operation in LOADS:
        return LOADS[operation][0]
    return (STORES | ATOMICS)[operation]


def fault_of(access: Access) -> Fault | None:
    """Return the fault that keeps `access` from being requested, None if it is legal."""
    kinds = {}
    for thread in access.active:
        if access.address(thread) % size_of(access.operation):
            kinds[thread] = MemoryFault.MISALIGNED
        elif access.address(thread) < DRAM_BASE:
            kinds[thread] = MemoryFault.UNADDRESSABLE
    if not kinds:
        return None
    lowest = min(kinds)
    return Fault(
        warp=access.warp,
        pc=access.pc,
        mask=sum(1 << thread for thread, kind in kinds.items() if kind == kinds[lowest]),
        kind=kinds[lowest],
        address=access.address(lowest),
    )


def requests_of(config: PipelineConfig, access: Access) -> list[Request]:
    """Return the requests of a legal access, in order."""
    lanes = config.lanes(Port.MEMORY)
    beat_width = (config.threads // lanes - 1).bit_length()
    requests = []
    for beat, first in enumerate(range(0, config.threads, lanes)):
        threads = [thread for thread in access.active if first <= thread < first + lanes]
        if not threads:
            continue
        has_words = access.is_store or access.atomic is not None
        stored = [_word_of(access, thread, access.values) for thread in threads] * has_words
        compared = threads if has_expected(access.atomic) else []
        requests.append(
            Request(
                is_store=access.is_store,
                mask=sum(1 << thread - first for thread in threads),
                addresses=tuple(access.address(thread) for thread in threads),
                words=tuple(word for word, _ in stored),
                strobes=tuple(strobes for _, strobes in stored),
                operation=access.atomic,
                owner=0 if access.atomic is None else access.warp << beat_width | beat,
                expected=tuple(_word_of(access, one, access.expected)[0] for one in compared),
            )
        )
    return requests


def _word_of(access: Access, thread: int, values: tuple[int, ...]) -> tuple[int, int]:
    """Return the word that a thread stores, zero in other bytes, and its strobes."""
    size = size_of(access.operation)
    place = access.address(thread) % 4
    value = values[thread] & ((1 << 8 * size) - 1)
    return value << 8 * place, ((1 << size) - 1) << place


@dataclass(kw_only=True)
class SequentialMemory:
    """Memory from `base` on, changed by accesses in sequence. Reservations last until a write.

    Parameters
    ----------
    base : int
        Address of the first byte.
    contents : bytearray
        Contents; there is no memory beyond them.

    """

    base: int
    contents: bytearray = field(repr=False)
    reserved: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    def has(self, address: int) -> bool:
        """Return True if there is memory at `address`."""
        return self.base <= address < self.base + len(self.contents)

    def carry_out(self, access: Access) -> tuple[dict[int, int], int]:
        """Execute a legal access; return loaded values by thread, and the refused threads.

        Among threads that store to one address the highest wins.
        """
        loaded, refused = {}, 0
        size = size_of(access.operation)
        for thread in access.active:
            at = access.address(thread) - self.base
            if not self.has(access.address(thread)):
                refused |= 1 << thread
            elif access.atomic is not None:
                loaded[thread] = self.atomic(access, thread)
            elif access.is_store:
                self.store(at, size, access.values[thread])
            else:
                signed = LOADS[access.operation][1]
                value = int.from_bytes(self.contents[at : at + size], "little", signed=signed)
                loaded[thread] = value & WORD
        return loaded, refused

    def store(self, at: int, size: int, value: int) -> None:
        """Store the lower bytes of a value; reservations of their word end."""
        self.contents[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        self.reserved = {
            thread: word for thread, word in self.reserved.items() if word != at - at % 4
        }

    def atomic(self, access: Access, thread: int) -> int:
        """Execute the atomic operation of a thread, and return its result."""
        operation, size = access.atomic, size_of(access.operation)
        assert operation is not None
        at, name = access.address(thread) - self.base, (access.warp, thread)
        if operation in (AtomicOperation.LR, AtomicOperation.SC):
            has_reserved = self.reserved.pop(name, None) == at
            if operation == AtomicOperation.SC and not has_reserved:
                return 1
        if operation == AtomicOperation.LR:
            self.reserved[name] = at
        old = int.from_bytes(self.contents[at : at + size], "little")
        expected = access.expected[thread]
        written, result = atomic_operation(
            operation, size.bit_length() - 1, old, access.values[thread], expected
        )
        if written is not None:
            self.store(at, size, written)
        return result
