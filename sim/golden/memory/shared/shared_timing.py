"""Golden model of the arbitration in shared memory, cycle by cycle, and cost of conflicts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .....hw.config import WORD_BYTES, SharedMemoryConfig
from .....hw.memory.shared.shared_memory import SharedMemoryPorts

__all__ = ["Access", "SharedTiming", "Turns", "conflict_degree", "cycles_of_lanes"]


def conflict_degree(config: SharedMemoryConfig, addresses: Iterable[int]) -> int:
    """Return the maximum number of these words in one subbank of one bank.

    Bank ``address / (lines * line_bytes)``, subbank ``address / 4 mod subbanks``. A subbank reads
    one word and writes one word per cycle. Lanes of one path, each at its own port, thus take
    exactly this number of cycles without wide accesses. Equal words count separately, as there is
    no broadcast.
    """
    bank_bytes = config.lines * config.line_bytes
    places = Counter(
        (address // bank_bytes, address // WORD_BYTES % config.subbanks) for address in addresses
    )
    return max(places.values(), default=0)


class Turns:
    """Round-robin arbiter: the next requester after the one taken last; see `Arbiter`."""

    def __init__(self):
        self.last = -1

    def choose(self, requesters: list[int]) -> int:
        """Return the granted one of these requesters, in ascending order; -1 if there is none."""
        for requester in requesters:
            if requester > self.last:
                return requester
        return requesters[0] if requesters else -1


@dataclass(slots=True)
class Access:
    """Access of a port: `data` little-endian, `mask` one bit per byte, both for writes only."""

    address: int
    write: bool = False
    data: int = 0
    mask: int = 0


#: Paths of a bank, and the line of no access.
READ, WRITE = PATHS = (0, 1)
NONE = -1


class SliceTiming:
    """Arbiter state of one row slice and its subbanks; see `RowArbiter` and `Subbank`.

    Pairs belong to the read path and the write path.
    """

    def __init__(self, words: int):
        self.rows = (Turns(), Turns())
        self.read_first = False
        self.lanes_turn = [False, False]
        self.lanes_first = False
        self.lanes = [(Turns(), Turns()) for _ in range(words)]
        self.lane_read_first = [False] * words


class BankTiming:
    """Arbiter state of one bank; see `Bank`."""

    def __init__(self, config: SharedMemoryPorts):
        self.reads, self.writes = Turns(), Turns()
        self.read_first = False
        self.slices = [SliceTiming(config.slice_words) for _ in range(config.slices)]


#: Requests for one path: by the number of the port, those of a slice.
Requests = dict[int, Access]


class SharedTiming:
    """Model of the accesses that `SharedMemory` accepts in each cycle.

    Parameters
    ----------
    config : SharedMemoryPorts

    Attributes
    ----------
    sizes : dict of str to int
        Bytes of each port's accesses, by the port names of `SharedMemory`.

    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        self.bank_bytes = memory.lines * memory.line_bytes
        self.banks = [BankTiming(config) for _ in range(memory.banks)]
        self.sizes = {f"read_{i}": size for i, size in enumerate(config.read_sizes)}
        self.sizes |= {f"write_{i}": size for i, size in enumerate(config.write_sizes)}
        self.sizes |= {f"narrow_{n}": WORD_BYTES for n in range(memory.narrow_ports)}
        self.sizes |= {f"row_{n}": config.slice_bytes for n in range(config.row_ports)}
        self.ports = {name: name.partition("_") for name in self.sizes}

    def step(self, offered: Mapping[str, Access]) -> list[str]:
        """Return the ports whose accesses are accepted, and advance one cycle."""
        by_bank: dict[int, dict[str, Requests]] = {}
        for name, access in offered.items():
            kind, _, number = self.ports[name]
            here = by_bank.setdefault(access.address // self.bank_bytes, {})
            here.setdefault(kind, {})[int(number)] = access
        accepted: list[str] = []
        for number, here in by_bank.items():
            bank = self.banks[number]
            reads, writes = here.get("read", {}), here.get("write", {})
            read, write = self.choose_wide(bank, reads, writes)
            accepted += [f"read_{read}"] if read >= 0 else []
            accepted += [f"write_{write}"] if write >= 0 else []
            used = (
                self.words(reads[read], f"read_{read}") if read >= 0 else (NONE, range(0)),
                self.words(writes[write], f"write_{write}") if write >= 0 else (NONE, range(0)),
            )
            for place, part in enumerate(bank.slices):
                rows = self.in_slice(here.get("row", {}), place)
                lanes = self.in_slice(here.get("narrow", {}), place)
                if rows or lanes:
                    wide = [self.within(*each, place) for each in used]
                    accepted += self.choose_in_slice(part, rows, lanes, wide)
        return accepted

    def line(self, access: Access) -> int:
        """Return the line of an access, unique within a bank."""
        return access.address // self.config.memory.line_bytes

    def words(self, access: Access, name: str) -> tuple[int, range]:
        """Return the line and the subbanks of a wide access."""
        first = access.address % self.config.memory.line_bytes // WORD_BYTES
        return self.line(access), range(first, first + self.sizes[name] // WORD_BYTES)

    def in_slice(self, requests: Requests, place: int) -> Requests:
        """Return the requests of a bank that are of slice `place`, in the order of their ports."""
        size, slices = self.config.slice_bytes, self.config.slices
        return {
            number: requests[number]
            for number in sorted(requests)
            if requests[number].address // size % slices == place
        }

    def within(self, line: int, words: range, place: int) -> tuple[int, range]:
        """Return the line and words, in slice `place`, of a wide access; no words if elsewhere."""
        size = self.config.slice_words
        first, last = max(words.start - place * size, 0), min(words.stop - place * size, size)
        return (line, range(first, last)) if first < last else (NONE, range(0))

    def choose_wide(self, bank: BankTiming, reads: dict, writes: dict) -> tuple[int, int]:
        """Return the ports of the granted wide read and wide write, -1 for none."""
        read, write = bank.reads.choose(sorted(reads)), bank.writes.choose(sorted(writes))
        if read >= 0 and write >= 0 and self.line(reads[read]) == self.line(writes[write]):
            if bank.read_first:
                write = -1
            else:
                read = -1
            bank.read_first = not bank.read_first
        bank.reads.last = read if read >= 0 else bank.reads.last
        bank.writes.last = write if write >= 0 else bank.writes.last
        return read, write

    def choose_in_slice(
        self, part: SliceTiming, rows: Requests, lanes: Requests, wide: list
    ) -> list[str]:
        """Return the row and narrow ports granted beside the two wide accesses of a slice."""
        asked: dict[int, tuple[list[int], list[int]]] = {}
        for lane, access in lanes.items():
            subbank = access.address // WORD_BYTES % self.config.slice_words
            asked.setdefault(subbank, ([], []))[access.write].append(lane)
        waiting = [[n for n, access in rows.items() if access.write == path] for path in PATHS]
        owned = [
            bool(waiting[path])
            and not part.lanes_first
            and not (part.lanes_turn[path] and any(own[path] for own in asked.values()))
            for path in PATHS
        ]
        chosen = self.choose_rows(part, rows, waiting, owned, wide)
        #: Line and subbanks of the wide or row access on each path.
        taken = [
            wide[path]
            if chosen[path] < 0
            else (self.line(rows[chosen[path]]), range(self.config.slice_words))
            for path in PATHS
        ]
        served: tuple[list[int], list[int]] = ([], [])
        stalls = False
        for subbank, own in asked.items():
            free = [
                -1
                if owned[path] or subbank in wide[path][1]
                else part.lanes[subbank][path].choose(own[path])
                for path in PATHS
            ]
            granted = self.choose_lanes(part, subbank, lanes, free, taken)
            for path in PATHS:
                if granted[path] >= 0:
                    part.lanes[subbank][path].last = granted[path]
                    served[path].append(granted[path])
                elif free[path] >= 0 and chosen[not path] >= 0:
                    stalls = True
        for path in PATHS:
            if served[path]:
                part.lanes_turn[path] = False
            elif chosen[path] >= 0:
                part.lanes_turn[path] = True
        part.lanes_first = stalls or (part.lanes_first and not any(served))
        return [f"row_{row}" for row in chosen if row >= 0] + [
            f"narrow_{lane}" for lane in (*served[READ], *served[WRITE])
        ]

    def choose_rows(
        self, part: SliceTiming, rows: Requests, waiting: list, owned: list, wide: list
    ) -> list[int]:
        """Return the row granted on each path, -1 for none."""
        chosen = [
            part.rows[path].choose(waiting[path]) if owned[path] and not wide[path][1] else -1
            for path in PATHS
        ]
        lines = [self.line(rows[row]) if row >= 0 else NONE for row in chosen]
        if min(chosen) >= 0 and lines[READ] == lines[WRITE]:
            chosen[WRITE if part.read_first else READ] = -1
            part.read_first = not part.read_first
        for path in PATHS:
            if chosen[path] >= 0 and lines[path] == wide[not path][0]:
                chosen[path] = -1
            if chosen[path] >= 0:
                part.rows[path].last = chosen[path]
        return chosen

    def choose_lanes(
        self, part: SliceTiming, subbank: int, lanes: Requests, free: list, taken: list
    ) -> list[int]:
        """Return the lane that a subbank grants on each path, of those whose path is `free`."""
        granted = list(free)
        lines = [self.line(lanes[lane]) if lane >= 0 else NONE for lane in free]
        if min(free) >= 0 and lines[READ] == lines[WRITE]:
            granted[WRITE if part.lane_read_first[subbank] else READ] = -1
            part.lane_read_first[subbank] = not part.lane_read_first[subbank]
        for path in PATHS:
            line, words = taken[not path]
            if granted[path] >= 0 and subbank in words and lines[path] == line:
                granted[path] = -1
        return granted


def cycles_of_lanes(config: SharedMemoryPorts, addresses: list[int], write: bool = False) -> int:
    """Return the cycles of lane accesses, lane n at port ``n mod narrow_ports``, in order.

    With a port for every lane this is `conflict_degree`. If lanes share ports, it is the maximum
    of that and of the lanes per port, as long as the lanes stay in one bank at one stride.
    Otherwise it may be more, as a stalled lane delays those after it.
    """
    timing, ports = SharedTiming(config), config.memory.narrow_ports
    waiting = {f"narrow_{port}": addresses[port::ports] for port in range(ports)}
    cycles = 0
    while offered := {name: Access(left[0], write) for name, left in waiting.items() if left}:
        for name in timing.step(offered):
            del waiting[name][0]
        cycles += 1
    return cycles
