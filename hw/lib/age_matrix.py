"""Age matrix: orders requesters by arrival and selects the oldest."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..emit.shared_block import SharedBlock

__all__ = ["AgeMatrix", "oldest", "pick", "word_at"]


def oldest(requests: Value, older) -> Value:
    """Return the oldest of `requests`, one-hot.

    `older[n]` has the bits of the requesters older than n, as in `AgeMatrix.older`.
    """
    return Cat(
        requests[number] & ((requests & older[number]) == 0) for number in range(len(requests))
    )


def word_at(words, number: Value) -> Value:
    """Return the entry of `words`, all equally wide, at index `number`, or 0 if out of range.

    Each bit of `number` halves the candidates: wide words take one operator per index bit.
    """
    width = len(Value.cast(words[0]))
    left = Cat(words)
    for position in reversed(range(len(number))):
        half = width << position
        left = Mux(number[position], left[half:], left[:half])
    return left


def pick(grant: Value, values) -> Value:
    """Return the one of `values` whose bit of the one-hot `grant` is set.

    The index of the bit drives the selection. If no bit is set, the result is the first value.
    """
    number = Cat(
        Cat(bit for n, bit in enumerate(grant) if n >> position & 1).any()
        for position in range((len(grant) - 1).bit_length())
    )
    return word_at(values, number)


class AgeMatrix(SharedBlock):
    """Age matrix: orders requesters by arrival cycle, and by index within a cycle.

    `older` is a register. Its rows are valid in every cycle for the requesters active in it.

    Parameters
    ----------
    config : int
        Number of requesters, 1 or more.

    Members
    -------
    waiting : In(requesters)
        Requesters that are not served in this cycle and hold the same request in the next.
    older : Out(ArrayLayout(requesters, requesters))
        For each requester the mask of older ones; it may include idle requesters.
    """

    waiting: Signal
    older: data.View

    def __init__(self, config: int):
        self.config = config
        super().__init__({
            "waiting": In(config),
            "older": Out(
                data.ArrayLayout(config, config),
                init=[(1 << number) - 1 for number in range(config)],  # pyright: ignore[reportCallIssue]  # not in stubs
            ),
        })

    def build(self, platform):
        m = Module()
        for number in range(self.config):
            # A request of the next cycle is younger than all present ones.
            younger = self.waiting | (1 << number) - 1
            still = self.waiting & self.older[number]
            m.d.sync += self.older[number].eq(Mux(self.waiting[number], still, younger))
        return m
