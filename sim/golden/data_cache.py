"""What reads of a memory may return behind a cache: the order of acceptance, beat by beat."""

from dataclasses import dataclass

__all__ = ["OrderedMemory"]


@dataclass
class PendingRead:
    """A read that is under way: what each byte of its beat may be."""

    beat: int
    may_be: list[set[int]]


class OrderedMemory:
    """A memory in which requests take effect in the order in which they are accepted.

    What somebody else writes may be seen late, until `forget`; what a write that failed would
    have written may be seen until then too.

    Parameters
    ----------
    beat_bytes : int
    contents : callable
        Tells what a beat, by its number, holds at first.

    Attributes
    ----------
    beats : dict of int to bytearray
        All beats that were touched.
    pending : dict of int to PendingRead
        Reads under way, by their ids.

    """

    def __init__(self, beat_bytes: int, contents):
        self.beat_bytes, self.contents = beat_bytes, contents
        self.beats: dict[int, bytearray] = {}
        self.others: dict[int, list[set[int]]] = {}  # what else a byte may be taken for
        self.pending: dict[int, PendingRead] = {}

    def held(self, beat: int) -> bytearray:
        """Return what a beat holds."""
        if beat not in self.beats:
            self.beats[beat] = bytearray(self.contents(beat))
        return self.beats[beat]

    def doubts(self, beat: int) -> list[set[int]]:
        """Return what else each byte of a beat may be taken for."""
        return self.others.setdefault(beat, [set() for _ in range(self.beat_bytes)])

    def read(self, number: int, beat: int):
        """Accept a read."""
        held = self.held(beat)
        may_be = [{held[n], *doubt} for n, doubt in enumerate(self.doubts(beat))]
        self.pending[number] = PendingRead(beat, may_be)

    def answer(self, number: int, value: bytes | None):
        """Check an answer; None is one without a beat."""
        read = self.pending.pop(number)
        if value is not None:
            wrong = [n for n, may_be in enumerate(read.may_be) if value[n] not in may_be]
            assert not wrong, f"beat {read.beat:#x} has wrong bytes {wrong}"

    def write(self, beat: int, value: bytes, strobes: int, fails: bool = False):
        """Accept a write; one that fails changes nothing, but may be seen for a while."""
        held, doubts = self.held(beat), self.doubts(beat)
        for n in range(self.beat_bytes):
            if strobes >> n & 1 and fails:
                doubts[n].add(value[n])
            elif strobes >> n & 1:
                held[n] = value[n]
                doubts[n].clear()

    def change(self, beat: int, value: bytes):
        """Let somebody else write a whole beat."""
        for n, old in enumerate(self.held(beat)):
            self.doubts(beat)[n].add(old)
        self.beats[beat] = bytearray(value)
        for read in self.pending.values():
            if read.beat == beat:
                for n, may_be in enumerate(read.may_be):
                    may_be.add(value[n])

    def forget(self):
        """Let nothing be taken for what it was, in reads that come later."""
        self.others.clear()
