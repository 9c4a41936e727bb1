"""Age matrix: orders requesters by arrival and selects the oldest."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..emit.shared_block import SharedBlock

__all__ = ["AgeMatrix", "oldest"]


def oldest(requests: Value, older: Sequence[Value]) -> Value:
    """Return the oldest of `requests`, one-hot.

    `older[n]` has the bits of the requesters older than n, as in `AgeMatrix.older`.
    """
    return Cat(
        requests[number] & ((requests & older[number]) == 0) for number in range(len(requests))
    )


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
