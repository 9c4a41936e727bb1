"""Golden model of the stream prefetcher, cycle by cycle."""

from dataclasses import dataclass

from ....hw.lib.stream_prefetcher import BEHIND, BEYOND, STREAMS, StreamConfig

__all__ = ["StreamModel"]


@dataclass
class Stream:
    """State of a stream, as in `stream_layout`."""

    front: int = 0
    left: int = 0
    sure: bool = False
    used: bool = False


class StreamModel:
    """Model of `StreamPrefetcher`: `proposed` is the proposed line, or None."""

    def __init__(self, config: StreamConfig):
        self.config = config
        self.forget()
        self.turn = 0  # stream that is replaced next
        self.served = -1  # the stream that proposed last

    def forget(self):
        """Drop all streams."""
        self.streams = [Stream() for _ in range(STREAMS)]
        self.proposed: int | None = None
        self.asked: tuple[int, bool] | None = None  # in the last cycle

    @property
    def is_busy(self) -> bool:
        """Whether a line will be proposed, apart from inputs of this cycle."""
        waits = any(stream.left for stream in self.streams)
        return waits or self.proposed is not None or self.asked is not None

    def step(self, asked: tuple[int, bool] | None, taken: bool, forgets: bool):
        """Advance one cycle: a line read and missed or not; the proposal accepted or not."""
        if taken or self.proposed is None:
            self.proposed = None if self.asked else self.propose()
        if self.asked:
            self.ask(*self.asked)
        self.asked = asked
        if forgets:
            self.forget()

    def propose(self) -> int | None:
        """Return the next line of the next stream in round-robin order, if any."""
        order = [(self.served + 1 + n) % STREAMS for n in range(STREAMS)]
        # After the last stream the search continues with the first.
        number = next((n for n in order if self.streams[n].left), None)
        if number is None:
            return None
        self.served = number
        stream = self.streams[number]
        stream.left -= 1
        stream.front += 1
        return stream.front - 1

    def ask(self, line: int, missed: bool):
        """Advance the stream of a line and merge others into it, or begin a stream."""
        found = [n for n, stream in enumerate(self.streams) if self.is_of(line, stream)]
        for number in found[1:]:
            self.streams[number] = Stream()
        if found:
            stream = self.streams[found[0]]
            stream.used = True
            last = stream.front + stream.left - 1
            if line == stream.front:
                stream.front, stream.sure = line + 1, True
            if stream.sure:
                stream.left = max(last, line + self.config.ahead) - stream.front + 1
        if missed and not found:
            given_up = self.streams[self.turn]
            if given_up.used:
                given_up.used = False
            else:
                self.streams[self.turn] = Stream(front=line + 1)
            self.turn = (self.turn + 1) % STREAMS

    def is_of(self, line: int, stream: Stream) -> bool:
        """Return whether a stream has a line; an unconfirmed one has only its last and next."""
        if stream.sure:
            return stream.front - BEHIND - 1 < line < stream.front + BEYOND
        return line in (stream.front - 1, stream.front)
