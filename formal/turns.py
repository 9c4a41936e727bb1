"""Turns: who was served last, and how often others were while one asked."""

from amaranth import *

from .properties import Assert, Assume

__all__ = ["Turns"]


class Turns:
    """Who was served last, and how often others were while one asked.

    Parameters
    ----------
    m : Module
    who : Signal
        The one, below `count`.
    count : int
    asks, served : ValueLike
        Whether he asks; who is served in this cycle, one-hot, or 0.
    first : int
        Who counts as the last one at reset.

    """

    def __init__(self, m: Module, who, count: int, asks, served, first: int):
        self.count = count
        last, passed = Signal(range(count), init=first), Signal(range(count + 1))
        distance = Signal(range(1, count + 1))  # from the last to him, in a circle
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
        with m.If(~asks | served.bit_select(who, 1)):
            m.d.sync += passed.eq(0)
        with m.Elif(served.any()):
            m.d.sync += passed.eq(passed + 1)
        self.due = Signal()  # all others had their turn
        m.d.comb += self.due.eq(asks & (passed >= count - 1))

    def relate(self, m: Module):
        """Each turn of another brings the last one nearer."""
        m.d.comb += [
            Assert(self.last < self.count),
            Assert((self.passed == 0) | (self.passed + self.distance <= self.count)),
        ]
