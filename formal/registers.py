"""Reference model of one register: uses by an instruction, and outstanding results."""

from amaranth import *

from spica.hw.lib.interfaces.execution_unit import OPERANDS

from .properties import Assert, Assume, ones

__all__ = ["Names", "Results"]


class Names:
    """Uses of one register by an instruction.

    Attributes
    ----------
    reads, writes : Value
    alone : Value
        The instruction uses no other register.

    """

    def __init__(self, needs, register):
        of_sources = [needs.sources[k] == register for k in range(OPERANDS)]
        self.reads = Cat(needs.reads[k] & of_sources[k] for k in range(OPERANDS)).any()
        self.writes = needs.writes & (needs.rd == register)
        others = [needs.reads[k] & ~of_sources[k] for k in range(OPERANDS)]
        self.alone = ~Cat(*others, needs.writes & (needs.rd != register)).any()


class Results:
    """Outstanding results of one register.

    Parameters
    ----------
    m : Module
    most : int
        Largest number of outstanding results.
    claims, writes : list of Value
        Claims of a result outstanding from the next cycle on, one per issue slot; writes of a
        result.

    Attributes
    ----------
    count : Signal
    claimed, written : Signal
        Any claim, and any write, in this cycle.

    """

    def __init__(self, m: Module, most: int, claims: list, writes: list):
        self.count, self.claimed, self.written = Signal(3), Signal(), Signal()
        m.d.sync += self.count.eq(self.count + self.claimed - self.written)
        m.d.comb += [
            self.claimed.eq(Cat(claims).any()),
            self.written.eq(Cat(writes).any()),
            Assert(ones(claims) <= 1),
            Assert(self.count <= most),
            # The older of two results is written first: the younger instruction reads it.
            Assume(ones(writes) <= 1),
            Assume(~self.written | (self.count != 0)),
        ]
