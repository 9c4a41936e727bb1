"""One register of a warp: what an instruction names of it, and which results are to come."""

from amaranth import *

from spica.hw.core.layouts import OPERANDS

from .properties import Assert, Assume, ones

__all__ = ["Names", "Results"]


class Names:
    """What an instruction names of one register.

    Attributes
    ----------
    reads, writes : Value
    alone : Value
        It names no other.

    """

    def __init__(self, needs, register):
        of_sources = [needs.sources[k] == register for k in range(OPERANDS)]
        self.reads = Cat(needs.reads[k] & of_sources[k] for k in range(OPERANDS)).any()
        self.writes = needs.writes & (needs.rd == register)
        others = [needs.reads[k] & ~of_sources[k] for k in range(OPERANDS)]
        self.alone = ~Cat(*others, needs.writes & (needs.rd != register)).any()


class Results:
    """The results of one register that are to come.

    Parameters
    ----------
    m : Module
    most : int
        Results that may be to come.
    claims, writes : list of Value
        By whom a result is to come from the next cycle on; where one is written.

    Attributes
    ----------
    count : Signal
    claimed, written : Signal
        Any of those.

    """

    def __init__(self, m: Module, most: int, claims: list, writes: list):
        self.count, self.claimed, self.written = Signal(3), Signal(), Signal()
        m.d.sync += self.count.eq(self.count + self.claimed - self.written)
        m.d.comb += [
            self.claimed.eq(Cat(claims).any()),
            self.written.eq(Cat(writes).any()),
            Assert(ones(claims) <= 1),
            Assert(self.count <= most),
            # The older of two is written first, as who writes the younger reads it.
            Assume(ones(writes) <= 1),
            Assume(~self.written | (self.count != 0)),
        ]
