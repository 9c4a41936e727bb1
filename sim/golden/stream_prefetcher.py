"""Lines that are read ahead of streams, cycle by cycle."""

from dataclasses import dataclass

from ...hw.memory.stream_prefetcher import BEHIND, BEYOND, STREAMS, StreamConfig

__all__ = ["StreamModel"]


@dataclass
class Stream:
    """As `stream_layout`."""

    front: int = 0
    left: int = 0
    sure: bool = False
    used: bool = False


class StreamModel:
    """What `StreamPrefetcher` proposes: `proposed`, or None."""

    def __init__(self, config: StreamConfig):
        self.config = config
        self.forget()
        self.turn = 0  # of the stream that is given up next
        self.served = -1  # the stream that proposed last

    def forget(self):
        """Have no streams."""
        self.streams = [Stream() for _ in range(STREAMS)]
        self.proposed: int | None = None
        self.asked: tuple[int, bool] | None = None  # in the last cycle

    @property
    def is_busy(self) -> bool:
        """Whether something will be proposed; not what comes in."""
        waits = any(stream.left for stream in self.streams)
        return waits or self.proposed is not None or self.asked is not None

    def step(self, asked: tuple[int, bool] | None, taken: bool, forgets: bool):
        """Pass a cycle in which a line is asked for, missed or not; the proposal taken or not."""
        if taken or self.proposed is None:
            self.proposed = None if self.asked else self.propose()
        if self.asked:
            self.ask(*self.asked)
        self.asked = asked
        if forgets:
            self.forget()

    def propose(self) -> int | None:
        """Return the line of the stream whose turn it is, if any has one."""
        order = [(self.served + 1 + n) % STREAMS for n in range(STREAMS)]
        # The circle is not closed: beyond the last one the lowest is first.
        number = next((n for n in order if self.streams[n].left), None)
        if number is None:
            return None
        self.served = number
        stream = self.streams[number]
        stream.left -= 1
        stream.front += 1
        return stream.front - 1

    def ask(self, line: int, missed: bool):
        """Follow the stream that a line is of, alone, or begin one."""
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
        """Return whether a line is near a stream, or the next or last of one not sure."""
        if stream.sure:
            return stream.front - BEHIND - 1 < line < stream.front + BEYOND
        return line in (stream.front - 1, stream.front)
