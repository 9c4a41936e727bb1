"""Golden model of the load-store unit: accesses in sequence, byte by byte."""

from dataclasses import dataclass, field

from .....hw.config import PipelineConfig
from .....hw.isa.memory_map import DRAM_BASE
from .....hw.isa.operations import MemoryOperation, Port
from .....hw.lib.interfaces.memory_fault import MemoryFault

__all__ = ["Access", "Fault", "Request", "SequentialMemory", "fault_of", "requests_of", "size_of"]

WORD = 0xFFFF_FFFF
LOADS = {
    MemoryOperation.LB: (1, True),
    MemoryOperation.LH: (2, True),
    MemoryOperation.LW: (4, True),
    MemoryOperation.LBU: (1, False),
    MemoryOperation.LHU: (2, False),
}
STORES = {MemoryOperation.SB: 1, MemoryOperation.SH: 2, MemoryOperation.SW: 4}


@dataclass(frozen=True, kw_only=True)
class Access:
    """A load or store of a warp: a base and a value for each thread, active or not."""

    warp: int
    mask: int
    pc: int
    operation: MemoryOperation
    rd: int
    writes: bool
    immediate: int
    bases: tuple[int, ...]
    values: tuple[int, ...]

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
    """A request of one cycle; addresses, words and strobes of the active lanes only."""

    is_store: bool
    mask: int
    addresses: tuple[int, ...]
    words: tuple[int, ...] = ()
    strobes: tuple[int, ...] = ()


def size_of(operation: MemoryOperation) -> int:
    """Return the bytes that one thread accesses."""
    return STORES[operation] if operation in STORES else LOADS[operation][0]


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
    requests = []
    for first in range(0, config.threads, lanes):
        threads = [thread for thread in access.active if first <= thread < first + lanes]
        if not threads:
            continue
        stored = [_word_of(access, thread) for thread in threads] if access.is_store else []
        requests.append(
            Request(
                is_store=access.is_store,
                mask=sum(1 << thread - first for thread in threads),
                addresses=tuple(access.address(thread) for thread in threads),
                words=tuple(word for word, _ in stored),
                strobes=tuple(strobes for _, strobes in stored),
            )
        )
    return requests


def _word_of(access: Access, thread: int) -> tuple[int, int]:
    """Return the word that a thread stores, zero in other bytes, and its strobes."""
    size = size_of(access.operation)
    place = access.address(thread) % 4
    value = access.values[thread] & ((1 << 8 * size) - 1)
    return value << 8 * place, ((1 << size) - 1) << place


@dataclass(kw_only=True)
class SequentialMemory:
    """Memory from `base` on, changed by accesses in sequence.

    Parameters
    ----------
    base : int
        Address of the first byte.
    contents : bytearray
        Contents; there is no memory beyond them.

    """

    base: int
    contents: bytearray = field(repr=False)

    def has(self, address: int) -> bool:
        """Return True if there is memory at `address`."""
        return self.base <= address < self.base + len(self.contents)

    def carry_out(self, access: Access) -> tuple[dict[int, int], int]:
        """Execute a legal load or store; return loaded values by thread, and the refused threads.

        Among threads that store to one address the highest wins.
        """
        loaded, refused = {}, 0
        size = size_of(access.operation)
        for thread in access.active:
            at = access.address(thread) - self.base
            if not self.has(access.address(thread)):
                refused |= 1 << thread
            elif access.is_store:
                value = access.values[thread] & ((1 << 8 * size) - 1)
                self.contents[at : at + size] = value.to_bytes(size, "little")
            else:
                signed = LOADS[access.operation][1]
                value = int.from_bytes(self.contents[at : at + size], "little", signed=signed)
                loaded[thread] = value & WORD
        return loaded, refused
