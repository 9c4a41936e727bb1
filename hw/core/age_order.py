"""Who has waited longest, and choices by it."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..shared_block import SharedBlock

__all__ = ["AgeOrder", "oldest", "pick", "word_at"]


def oldest(requests: Value, older) -> Value:
    """Return the request, one-hot, that no other request is older than.

    `older[n]` has the bits of those that are older than n, as `AgeOrder` tells them.
    """
    return Cat(
        requests[number] & ((requests & older[number]) == 0) for number in range(len(requests))
    )


def word_at(words, number: Value) -> Value:
    """Return the one of `words`, all equally wide, that `number` names, 0 if there is none.

    Each bit of the number halves what is left: wide words cost as many operators as it has bits.
    """
    width = len(Value.cast(words[0]))
    left = Cat(words)
    for position in reversed(range(len(number))):
        half = width << position
        left = Mux(number[position], left[half:], left[:half])
    return left


def pick(grant: Value, values) -> Value:
    """Return the one of `values` whose bit of the one-hot `grant` is set.

    The number of the bit selects it. Without a bit it is the first.
    """
    number = Cat(
        Cat(bit for n, bit in enumerate(grant) if n >> position & 1).any()
        for position in range((len(grant) - 1).bit_length())
    )
    return word_at(values, number)


class AgeOrder(SharedBlock):
    """Order of requesters by the cycle in which their requests came, and by number among equals.

    `older` is a register, right in every cycle for those that request in it.

    Parameters
    ----------
    config : int
        Number of requesters, 1 or more.

    Members
    -------
    waiting : In(requesters)
        Who requests and is not served in this cycle, so that the same request stands in the next.
    older : Out(ArrayLayout(requesters, requesters))
        For each requester those whose requests are older, among them some that request nothing.
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
            # A request of the next cycle is younger than all that stand now.
            younger = self.waiting | (1 << number) - 1
            still = self.waiting & self.older[number]
            m.d.sync += self.older[number].eq(Mux(self.waiting[number], still, younger))
        return m
