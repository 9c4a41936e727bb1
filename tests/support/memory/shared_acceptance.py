"""Rules of the accesses that shared memory accepts in a cycle."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from spica.hw.config import WORD_BYTES
from spica.hw.memory.shared.shared_memory import SharedMemoryPorts
from spica.sim.golden.memory.shared.shared_atomics import Atomic, SharedAtomics
from spica.sim.golden.memory.shared.shared_memory import port_sizes
from support.memory.shared_turns import AtomicTurns

__all__ = ["Acceptance", "Access"]


@dataclass(slots=True)
class Access:
    """Access of a port: `data` little-endian, `mask` one bit per byte, both for writes only.

    An atomic is a read with `atomic`.
    """

    address: int
    write: bool = False
    data: int = 0
    mask: int = 0
    atomic: Atomic | None = None


@dataclass(slots=True)
class Request:
    """An access on a path, reads False: its line and its subbanks, both over all banks.

    Requests of one `queue` wait for each other: kind, path and place.
    """

    name: str
    number: int
    path: bool
    line: int
    words: range
    queue: tuple


#: Subbanks used in a cycle by path, with the line accessed.
Used = dict[tuple[bool, int], int]


class Acceptance:
    """Rules of the accesses that `SharedMemory` accepts in each cycle.

    A subbank does one read and one write, of different lines. Wide accesses go first, one for each
    path of a bank. Rows use the paths of a slice that are free, and lanes those of a subbank; where
    both request a slice it is not idle. A request yields only to the other path, if that accesses
    its line; two of a kind yield in turn. The requests of a queue are served round-robin. Nobody
    accesses a word that atomics have locked, or writes where they write. Of the atomics of a bank
    only the one that has the turn takes part.

    Parameters
    ----------
    config : SharedMemoryPorts
    atomics : SharedAtomics or None
        Model of atomics, whose last cycles decide about locks.

    """

    def __init__(self, config: SharedMemoryPorts, atomics: SharedAtomics | None = None):
        self.config = config
        self.turns = None if atomics is None else AtomicTurns(config, atomics)
        self.bank_bytes = config.memory.size // config.memory.banks
        self.sizes = port_sizes(config)
        self.last: dict[tuple, int] = defaultdict(lambda: -1)  # port served last, by queue
        self.rivals: set[tuple] = set()  # queues of this cycle, with all atomics
        self.lost: dict[tuple, bool] = {}  # path that yielded to its like last, by kind and place

    def check(self, offered: Mapping[str, Access], accepted: Collection[str]) -> None:
        """Check the ports whose accesses are accepted; raise `AssertionError`."""
        requests = [self.request(name, access) for name, access in offered.items()]
        self.rivals = {request.queue for request in requests}
        if self.turns is not None:
            requests = self.turns.allowed(requests, offered)
            assert set(accepted) <= {request.name for request in requests}, "not its turn"
        done = [request for request in requests if request.name in accepted]
        used: Used = {} if self.turns is None else self.turns.written()
        for request in done:
            for word in request.words:
                assert (request.path, word) not in used, f"two accesses: {request}"
                used[request.path, word] = request.line
            assert not self.is_locked(request), f"a word is locked: {request}"
        for (path, word), line in used.items():
            assert used.get((not path, word)) != line, f"line {line:#x} is read and written"
        queues: dict[tuple, list[Request]] = defaultdict(list)
        for request in requests:
            queues[request.queue].append(request)
        served = {request.queue: request for request in done}
        for queue, waiting in queues.items():
            first = self.first(waiting)
            if queue in served:
                assert served[queue] is first, f"{served[queue]} before {first}"
                self.last[queue] = first.number
            else:
                other = served.get((queue[0], not queue[1], queue[2]))
                assert self.yields(first, other, queues, used), f"waits without reason: {first}"
        if self.turns is not None:
            self.turns.pass_on(requests, offered, accepted)

    def is_locked(self, request: Request) -> bool:
        """Return whether atomics have locked a word of a request."""
        return self.turns is not None and self.turns.is_locked(request.line, request.words)

    def waits_for_atomics(self, first: Request, other: Request | None, queues: Mapping) -> bool:
        """Return whether a request waits for atomics, itself or behind the other path."""
        if self.turns is None:
            return False
        kind, path, place = first.queue
        if self.is_locked(first) or (kind == "wide" and self.turns.is_writing(path, first.words)):
            self.lost.pop((kind, place), None)
            return True
        waiting = queues.get((kind, not path, place))
        if other is None and waiting is not None:
            # Both access one line, and the one that has the turn waits for atomics.
            rival = self.first(waiting)
            return rival.line == first.line and (
                self.is_locked(rival) or self.turns.is_writing(not path, rival.words)
            )
        return False

    def request(self, name: str, access: Access) -> Request:
        """Return the request of a port."""
        (kind, _, number), size = name.partition("_"), self.sizes[name]
        path = kind == "write" or access.write
        first = self.word(access.address)
        words = range(first, first + size // WORD_BYTES)
        bank = access.address // self.bank_bytes
        place = {"narrow": first, "row": first // self.config.slice_words}.get(kind, bank)
        kind = kind if kind in ("narrow", "row") else "wide"
        line = access.address // self.config.memory.line_bytes
        return Request(name, int(number), path, line, words, (kind, path, place))

    def word(self, address: int) -> int:
        """Return the subbank of an address, over all banks."""
        subbanks = self.config.memory.subbanks
        return address // self.bank_bytes * subbanks + address // WORD_BYTES % subbanks

    def first(self, waiting: list[Request]) -> Request:
        """Return the request after the one served last, in circular order."""
        last, ports = self.last[waiting[0].queue], len(self.sizes)
        return min(waiting, key=lambda request: (request.number - last - 1) % ports)

    def yields(self, first: Request, other: Request | None, queues: Mapping, used: Used) -> bool:
        """Return whether a request that is not served yields, to `other` of its kind or any."""
        (kind, path, place), words = first.queue, first.words
        if kind != "wide" and any((path, word) in used for word in words):
            return True
        if self.waits_for_atomics(first, other, queues):
            return True
        size = self.config.slice_words
        part = words.start // size
        subbanks, paths = range(part * size, part * size + size), (False, True)
        rivals = {"row": [("narrow", n) for n in subbanks], "narrow": [("row", part)]}
        takes_turns = any(
            (name, any_path, n) in queues for name, n in rivals.get(kind, ()) for any_path in paths
        )
        is_idle = False
        if self.turns is not None and self.turns.is_active(first.words):
            # Rivals wait for a locked word, or are atomics that lose their turn for a cycle.
            hidden = {(name, False, n) for name, n in rivals.get(kind, ())} & self.rivals
            is_idle = takes_turns or bool(hidden)
        if other is not None and other.line == first.line:
            lost = self.lost.pop((kind, place), None)
            if takes_turns or is_idle:
                return True
            self.lost[kind, place] = path
            return lost != path
        if is_idle:
            return True
        if takes_turns:
            return any((any_path, n) in used for any_path in paths for n in subbanks)
        return kind != "wide" and first.line in {used.get((not path, word)) for word in words}
