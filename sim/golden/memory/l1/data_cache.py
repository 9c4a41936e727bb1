"""Golden model of memory behind the L1 data cache: reads and writes in order of acceptance."""

from dataclasses import dataclass

__all__ = ["OrderedMemory"]


@dataclass
class PendingRead:
    """A read in flight, with the values allowed for each byte of its beat."""

    beat: int
    may_be: list[set[int]]


class OrderedMemory:
    """Memory in which requests take effect in the order of their acceptance.

    Writes of other masters, and the data of a failed write, may be visible or not until `drop_old`.

    Parameters
    ----------
    beat_bytes : int
    contents : callable
        Returns the initial contents of a beat, given its number.

    Attributes
    ----------
    beats : dict of int to bytearray
        All beats that were accessed.
    pending : dict of int to PendingRead
        Reads in flight, by id.

    """

    def __init__(self, beat_bytes: int, contents):
        self.beat_bytes, self.contents = beat_bytes, contents
        self.beats: dict[int, bytearray] = {}
        self.others: dict[int, list[set[int]]] = {}  # other allowed values of each byte
        self.pending: dict[int, PendingRead] = {}

    def held(self, beat: int) -> bytearray:
        """Return the contents of a beat."""
        if beat not in self.beats:
            self.beats[beat] = bytearray(self.contents(beat))
        return self.beats[beat]

    def doubts(self, beat: int) -> list[set[int]]:
        """Return the other allowed values of each byte of a beat."""
        return self.others.setdefault(beat, [set() for _ in range(self.beat_bytes)])

    def read(self, number: int, beat: int):
        """Accept a read."""
        held = self.held(beat)
        may_be = [{held[n], *doubt} for n, doubt in enumerate(self.doubts(beat))]
        self.pending[number] = PendingRead(beat, may_be)

    def answer(self, number: int, value: bytes | None):
        """Check an answer; None is an error response, without a beat."""
        read = self.pending.pop(number)
        if value is not None:
            wrong = [n for n, may_be in enumerate(read.may_be) if value[n] not in may_be]
            assert not wrong, f"beat {read.beat:#x} has wrong bytes {wrong}"

    def write(self, beat: int, value: bytes, strobes: int, fails: bool = False):
        """Accept a write. A failed one changes nothing, but its data may be visible for a while."""
        held, doubts = self.held(beat), self.doubts(beat)
        for n in range(self.beat_bytes):
            if strobes >> n & 1 and fails:
                doubts[n].add(value[n])
            elif strobes >> n & 1:
                held[n] = value[n]
                doubts[n].clear()

    def change(self, beat: int, value: bytes):
        """Write a whole beat as another master."""
        for n, old in enumerate(self.held(beat)):
            self.doubts(beat)[n].add(old)
        self.beats[beat] = bytearray(value)
        for read in self.pending.values():
            if read.beat == beat:
                for n, may_be in enumerate(read.may_be):
                    may_be.add(value[n])

    def drop_old(self):
        """Allow only current contents for later reads."""
        self.others.clear()
