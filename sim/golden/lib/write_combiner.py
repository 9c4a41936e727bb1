"""Golden model of the write combiner: bursts and their beats."""

from collections import deque
from dataclasses import dataclass, field

from ....hw.lib.write_combiner import WriteCombinerConfig

__all__ = ["CombinedWrites"]


@dataclass(eq=False)
class Burst:
    """Writes to a line that form one burst."""

    number: int  # bursts begun before
    line: int
    beats: dict[int, tuple[bytes, int]] = field(default_factory=dict)  # value, strobes
    ticks: int = 0  # patience ticks since it began

    def write(self, place: int, value: bytes, strobes: int):
        """Write a beat over its previous contents."""
        before, held = self.beats.get(place, (value, 0))
        bytes_of = (
            new if strobes >> n & 1 else old
            for n, (new, old) in enumerate(zip(value, before, strict=True))
        )
        self.beats[place] = (bytes(bytes_of), held | strobes)


class CombinedWrites:
    """Bursts in the order in which they began; a write joins one that is not yet offered.

    Parameters
    ----------
    config : WriteCombinerConfig

    """

    def __init__(self, config: WriteCombinerConfig):
        self.config = config
        self.begun = 0
        self.waiting: deque[Burst] = deque()  # not accepted yet
        self.held: deque[Burst] = deque()  # beats not all read
        self.read = 0  # beats read of the first of `held`
        self.offers = False  # whether the oldest burst is offered in this cycle
        self.cycles = 0  # cycles with a waiting burst, modulo the patience

    def split(self, beat: int) -> tuple[int, int]:
        """Return the line of a beat, and its place in the line."""
        return divmod(beat, self.config.line_beats)

    def joined(self, beat: int) -> Burst | None:
        """Return the burst that a write would join."""
        line, _ = self.split(beat)
        return next((burst for burst in self.open if burst.line == line), None)

    @property
    def in_use(self) -> int:
        """Lines in use."""
        oldest = [bursts[0].number for bursts in (self.waiting, self.held) if bursts]
        return self.begun - min(oldest, default=self.begun)

    def must_go(self) -> bool:
        """Return whether the oldest burst is to be offered."""
        if not self.waiting:
            return False
        config, oldest = self.config, self.waiting[0]
        is_whole = len(oldest.beats) == config.line_beats
        is_scarce = self.in_use >= max(1, config.lines - 2 + (config.lines == 2))
        is_ripe = oldest.ticks >= 2
        return is_whole or is_scarce or is_ripe or not config.patience

    @property
    def open(self) -> list[Burst]:
        """Bursts that a write may join."""
        return list(self.waiting)[1 if self.offers else 0 :]

    def step(self, taken: bool, begun: Burst | None):
        """Advance one cycle: the oldest burst accepted or not, a new one begun or not."""
        patience = self.config.patience
        waiting = [burst for burst in self.waiting if burst is not begun]
        if patience and self.cycles == patience - 1:
            for burst in waiting:
                burst.ticks += 1
        self.cycles = (self.cycles + 1) % patience if patience and waiting else 0
        if taken:
            self.waiting.popleft()
        self.offers = (self.offers and not taken) or self.must_go()

    def accepts(self, beat: int) -> bool:
        """Return whether a write is accepted."""
        return self.joined(beat) is not None or self.in_use < self.config.lines

    def write(self, beat: int, value: bytes, strobes: int) -> Burst:
        """Accept a write; return its burst."""
        line, place = self.split(beat)
        burst = self.joined(beat)
        if burst is None:
            burst = Burst(self.begun, line)
            self.begun += 1
            self.waiting.append(burst)
            self.held.append(burst)
        burst.write(place, value, strobes)
        return burst

    def offered(self) -> dict | None:
        """Return the offered burst."""
        if not self.offers:
            return None
        burst = self.waiting[0]
        first, last = min(burst.beats), max(burst.beats)
        beat = burst.line * self.config.line_beats + first
        return {"beat": beat, "further": last - first}

    def next_beat(self) -> dict | None:
        """Read the next beat: value (None if never written), strobes, and whether it is last."""
        if not self.held or self.held[0] in self.open:
            return None  # a burst that is not offered may still grow
        burst = self.held[0]
        place, last = min(burst.beats) + self.read, max(burst.beats)
        value, strobes = burst.beats.get(place, (None, 0))
        self.read += 1
        if place == last:
            self.held.popleft()
            self.read = 0
        return {"value": value, "strobes": strobes, "last": int(place == last)}
