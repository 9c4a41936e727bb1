"""Golden model of the L1 instruction cache, cycle by cycle."""

from collections import deque
from dataclasses import dataclass, field

from .....hw.config import MemoryUnitConfig
from .....hw.isa.memory_map import DRAM_BASE, DRAM_END
from .....hw.memory.l1.cluster_layouts import PAIR_BYTES, instruction_mshr_config

__all__ = ["Beat", "CacheModel", "Cycle", "Look", "Pair"]


@dataclass(frozen=True)
class Pair:
    """A pair of instructions: requested (address) or answered (data); -1 for an error."""

    waiter: int
    value: int


@dataclass(frozen=True)
class Beat:
    """A refill beat for an MSHR."""

    entry: int
    data: int
    error: bool = False


@dataclass(frozen=True)
class Cycle:
    """Outputs of a cycle: ``read`` is the MSHR and the address of a line.

    ``events`` are the names of the events that occur.
    """

    ready: bool
    fetched: Pair | None
    read: tuple[int, int] | None
    busy: bool
    events: frozenset[str]


@dataclass
class Look:
    """A look-up: ``tags`` and ``words`` of its set, as they were read."""

    line: int
    place: int
    waiter: int | None  # None for a prefetch
    tags: list[int | None]
    words: list[int]


@dataclass
class Entry:
    """An MSHR, with the line it reads or read last."""

    line: int = -1
    way: int = 0
    pending: bool = False
    doomed: bool = False
    unused: bool = False
    beat: int = 0
    errors: set[int] = field(default_factory=set)
    waiting: dict[int, int] = field(default_factory=dict)  # places, by waiting request

    @property
    def busy(self) -> bool:
        """Whether the MSHR is in use."""
        return self.pending or bool(self.waiting)


class CacheModel:
    """Cycle-accurate model of `InstructionCache`.

    Parameters
    ----------
    config : MemoryUnitConfig

    """

    def __init__(self, config: MemoryUnitConfig):
        self.mshr_config = instruction_mshr_config(config)
        self.cache = cache = self.mshr_config.cache
        self.per_line = cache.line_bytes // PAIR_BYTES
        self.per_beat = self.mshr_config.beat_bytes // PAIR_BYTES
        self.tags: list[list[int | None]] = [[None] * cache.ways for _ in range(cache.sets)]
        self.words: dict[tuple[int, int, int], int] = {}  # by set, way and place
        self.entries = [Entry() for _ in range(cache.mshrs)]
        self.last = -1  # the MSHR allocated last
        self.turn = 0
        self.sweep: int | None = 0  # the next set that is cleared
        self.look: Look | None = None
        self.reads: deque[tuple[int, int]] = deque()
        self.replayed: Pair | None = None
        self.following, self.left, self.is_new = 0, 0, False
        self.accepted = False  # whether a fetch was accepted in the last cycle

    def step(
        self, fetch: Pair | None, beat: Beat | None, read_ready: bool, invalidate: bool
    ) -> Cycle:
        """Advance one cycle with these inputs; return its outputs."""
        look = self.look
        place = self.answer_place()
        free = [n for n, entry in enumerate(self.entries) if not entry.busy]
        is_probe = look is not None and look.waiter is None
        proposes = self.left > 0 and not is_probe and any(free)
        busy = bool(
            fetch or beat or look or self.replayed or proposes or invalidate
            or self.sweep is not None or len(free) < len(self.entries)
        )  # fmt: skip
        shown = self.replayed
        served, trigger, begins = True, False, None
        joined: Entry | None = None
        if look is not None:
            hit = self.find(look)
            joined = self.joined(look)
            if not self.is_outside(look.line) and hit is None and joined is None:
                begins = self.begin(look, free)
                served = begins is not None
            trigger = self.uses_first(look) or begins is not None
            trigger &= look.waiter is not None
            if look.waiter is not None and (hit is not None or self.is_outside(look.line)):
                assert shown is None
                shown = Pair(look.waiter, -1 if hit is None else look.words[hit])
        idle = (look is None or served or is_probe) and beat is None and self.sweep is None
        ready = idle and place is None and not proposes
        events = {
            "fetches": fetch is not None and ready,
            "fetch_misses": self.accepted and shown is None,
            "lines_fetched": bool(self.reads) and read_ready,
            "entry_waits": not served and not is_probe,
            "bank_waits": fetch is not None and not ready and (served or is_probe),
        }
        self.accepted = events["fetches"]
        happened = frozenset(name for name, happens in events.items() if happens)
        cycle = Cycle(ready, shown, self.reads[0] if self.reads else None, busy, happened)
        asked = self.ask(fetch if ready else None, idle and proposes)

        self.update_look(look, joined, begins, served, read_ready, asked)
        self.update_prefetch(look, is_probe and served, trigger)
        self.replay(place)
        self.fill(beat)
        self.forget(invalidate, beat)
        return cycle

    def is_outside(self, line: int) -> bool:
        """Return whether a line is outside DRAM."""
        return not DRAM_BASE <= line * self.cache.line_bytes < DRAM_END

    def find(self, look: Look) -> int | None:
        """Return the way that holds the line, if any."""
        if self.is_outside(look.line):
            return None
        tag = look.line // self.cache.sets
        return look.tags.index(tag) if tag in look.tags else None

    def joined(self, look: Look) -> Entry | None:
        """Return the MSHR that already reads the line, if any."""
        if self.is_outside(look.line):
            return None
        same = (e for e in self.entries if e.pending and not e.doomed and e.line == look.line)
        return next(same, None)

    def uses_first(self, look: Look) -> bool:
        """Return whether this is the first request of a prefetched line, and clear its mark."""
        if look.waiter is None or self.is_outside(look.line):
            return False
        found = [e for e in self.entries if e.unused and e.line == look.line]
        for entry in found:
            entry.unused = False
        return bool(found)

    def begin(self, look: Look, free: list[int]) -> tuple[int, int] | None:
        """Return the MSHR and the way for a missing line, or None if either is not available."""
        cache, line = self.cache, look.line
        usable = free if look.waiter is not None else [n for n in free if n]
        taken = {e.way for e in self.entries if e.busy and (e.line - line) % cache.sets == 0}
        allowed = [way for way in range(cache.ways) if way not in taken]
        if not usable or not allowed:
            return None
        number = next((n for n in usable if n > self.last), usable[0])
        empty = [way for way in allowed if look.tags[way] is None]
        if empty:
            return number, empty[0]
        way = self.turn if self.turn in allowed else allowed[0]
        self.turn = (self.turn + 1) % cache.ways
        return number, way

    def answer_place(self) -> tuple[Entry, int] | None:
        """Return the complete MSHR and its waiting request that are answered next."""
        for entry in self.entries:
            if not entry.pending and entry.waiting:
                return entry, min(entry.waiting)
        return None

    def ask(self, fetch: Pair | None, probes: bool) -> Look | None:
        """Read the set of the next look-up."""
        if fetch is not None:
            line, place = divmod(fetch.value // PAIR_BYTES, self.per_line)
            waiter = fetch.waiter
        elif probes:
            line, place, waiter = self.following, 0, None
        else:
            return None
        number, ways = line % self.cache.sets, range(self.cache.ways)
        words = [self.words.get((number, way, place), 0) for way in ways]
        return Look(line, place, waiter, list(self.tags[number]), words)

    def update_look(self, look, joined, begins, served, read_ready, asked):
        """Complete the look-up, or let it wait for its line."""
        if self.reads and read_ready:
            self.reads.popleft()
        if begins is not None:
            number, way = begins
            self.last = number
            joined = self.entries[number] = Entry(
                line=look.line, way=way, pending=True, unused=look.waiter is None
            )
            self.reads.append((number, look.line * self.cache.line_bytes))
        if look is not None and look.waiter is not None and joined is not None:
            joined.waiting[look.waiter] = look.place
        if look is None or served or look.waiter is None:
            self.look = asked

    def update_prefetch(self, look, served: bool, trigger: bool):
        """Advance the prefetcher to the next line, or restart it behind another."""
        self.is_new, before = False, self.is_new
        if trigger:
            behind = (self.following - look.line - 1) % (1 << self.cache.line_width)
            self.is_new = behind > self.cache.prefetch
            if self.is_new:
                self.following, behind = look.line + 1, 0
            self.left = self.cache.prefetch - behind
        elif served and not before and self.left:
            self.following, self.left = self.following + 1, self.left - 1

    def replay(self, place: tuple[Entry, int] | None):
        """Read the word that is answered in the next cycle."""
        self.replayed = None
        if place is None:
            return
        entry, waiter = place
        at = entry.waiting.pop(waiter)
        is_broken = at // self.per_beat in entry.errors
        word = self.words[entry.line % self.cache.sets, entry.way, at]
        self.replayed = Pair(waiter, -1 if is_broken else word)

    def fill(self, beat: Beat | None):
        """Write a beat to its line."""
        if beat is None:
            return
        entry, cache = self.entries[beat.entry], self.cache
        number = entry.line % cache.sets
        for n in range(self.per_beat):
            word = beat.data >> 8 * PAIR_BYTES * n & (1 << 8 * PAIR_BYTES) - 1
            self.words[number, entry.way, entry.beat * self.per_beat + n] = word
        if beat.error:
            entry.errors.add(entry.beat)
        entry.beat += 1
        is_whole = entry.beat == self.mshr_config.beats
        entry.pending = not is_whole
        if not entry.doomed:
            keeps = is_whole and not entry.errors
            self.tags[number][entry.way] = entry.line // cache.sets if keeps else None

    def forget(self, invalidate: bool, beat: Beat | None):
        """Clear the next set of a sweep, and start a sweep on `invalidate`."""
        writes = beat is not None and not self.entries[beat.entry].doomed
        if self.sweep is not None and not writes:
            self.tags[self.sweep] = [None] * self.cache.ways
            self.sweep = self.sweep + 1 if self.sweep + 1 < self.cache.sets else None
        if invalidate:
            self.sweep = 0
            for entry in self.entries:
                entry.doomed, entry.unused = True, False
