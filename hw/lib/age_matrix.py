"""Age matrix: orders requesters by arrival and selects the oldest."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data

__all__ = ["ages", "oldest"]


def oldest(requests: Value, older: Sequence[Value] | data.View) -> Value:
    """Return the oldest of `requests`, one-hot.

    `older[n]` has the bits of the requesters older than n, as `ages` returns them.
    """
    return Cat(
        requests[number] & ((requests & older[number]) == 0) for number in range(len(requests))
    )


def ages(m: Module, waiting: Value, name: str = "older") -> data.View:
    """Return for each requester the mask of older ones; it may include idle requesters.

    Requesters are ordered by arrival cycle, and by index within a cycle. The masks are registers.
    They are valid in every cycle for the requesters active in it.

    Parameters
    ----------
    m : Module
        Module that holds the registers.
    waiting : Value
        Requesters that are not served in this cycle and hold the same request in the next.
    name : str
        Name of the registers.
    """
    count = len(waiting)
    older = Signal(
        data.ArrayLayout(count, count),
        name=name,
        init=[(1 << number) - 1 for number in range(count)],
    )
    for number in range(count):
        # A request of the next cycle is younger than all present ones.
        younger = waiting | (1 << number) - 1
        still = waiting & older[number]
        m.d.sync += older[number].eq(Mux(waiting[number], still, younger))
    return older
