"""Reference model of round robin: the requester served last, and turns passed while one waits."""

from amaranth import *

from .properties import Assert, Assume

__all__ = ["Turns"]


class Turns:
    """The requester served last, and the number of others served while one waits.

    Parameters
    ----------
    m : Module
    who : Signal
        The waiting requester, below `count`.
    count : int
    requests, served : ValueLike
        Whether `who` requests; the requester served in this cycle, one-hot, or 0.
    first : int
        Requester that counts as served last at reset.

    """

    def __init__(self, m: Module, who, count: int, requests, served, first: int):
        self.count = count
        last, passed = Signal(range(count), init=first), Signal(range(count + 1))
        distance = Signal(range(1, count + 1))  # from the last to `who`, in circular order
        distances = [
            [(one - other - 1) % count + 1 for one in range(count)] for other in range(count)
        ]
        self.last, self.passed, self.distance = last, passed, distance
        m.d.comb += [
            Assume(who < count),
            distance.eq(Array(map(Array, distances))[last][who]),
        ]
        for number in range(count):
            with m.If(served[number]):
                m.d.sync += last.eq(number)
        with m.If(~requests | served.bit_select(who, 1)):
            m.d.sync += passed.eq(0)
        with m.Elif(served.any()):
            m.d.sync += passed.eq(passed + 1)
        self.due = Signal()  # all others have been served
        m.d.comb += self.due.eq(requests & (passed >= count - 1))

    def relate(self, m: Module):
        """Assert that each turn of another requester reduces the distance."""
        m.d.comb += [
            Assert(self.last < self.count),
            Assert((self.passed == 0) | (self.passed + self.distance <= self.count)),
        ]
