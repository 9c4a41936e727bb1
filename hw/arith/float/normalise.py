"""Normalisation: shift the leading one to the top bit."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config.checks import require_integer
from ...emit.component import Component

__all__ = ["Normalise", "NormaliseConfig"]


@dataclass(frozen=True, kw_only=True)
class NormaliseConfig:
    """Shift range of a normaliser.

    Parameters
    ----------
    width : int
        Bits of the word.
    leading_zeros : int
        The most zeros that can precede the leading one; 0 makes the block a wire.
    limited : bool
        Whether `limit` can end the shift early, as the smallest exponent does for subnormals.

    """

    width: int
    leading_zeros: int
    limited: bool = False

    def __post_init__(self):
        require_integer("width", self.width, 1, 256)
        require_integer("leading_zeros", self.leading_zeros, 0, self.width - 1)

    @property
    def shift_width(self) -> int:
        """Bits of the number of places shifted."""
        return ceil_log2(self.leading_zeros + 1)


class Normalise(Component):
    """Normaliser: ``o = i << shift`` with the largest `shift` that loses no set bit.

    Combinational: one step per bit of `shift`, largest first, each a zero test and a
    multiplexer. The tests form the count of leading zeros. A word of zeros gives a `shift` of
    all ones.

    Parameters
    ----------
    config : NormaliseConfig

    Members
    -------
    i : In(config.width)
    limit : In(config.width)
        Present if `config.limited`. At most one bit is set; the shift stops once that bit is at
        the top.
    o : Out(config.width)
    shift : Out(config.shift_width)

    """

    def __init__(self, config: NormaliseConfig):
        self.config = config
        limit = {"limit": In(config.width)} if config.limited else {}
        super().__init__({
            "i": In(config.width),
            **limit,
            "o": Out(config.width),
            "shift": Out(config.shift_width),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        word = self.i
        tested = self.i | self.limit if config.limited else self.i
        zeros = []
        for step in reversed(range(config.shift_width)):
            places = 1 << step
            is_zero = Signal(name=f"top_{places}_zero")
            shifted = Signal(config.width, name=f"shifted_{places}")
            m.d.comb += is_zero.eq(tested[-places:] == 0)
            m.d.comb += shifted.eq(Mux(is_zero, Cat(C(0, places), word[:-places]), word))
            if config.limited:
                following = Signal(config.width, name=f"tested_{places}")
                m.d.comb += following.eq(Mux(is_zero, Cat(C(0, places), tested[:-places]), tested))
                tested = following
            else:
                tested = shifted
            word = shifted
            zeros.insert(0, is_zero)
        m.d.comb += [self.o.eq(word), self.shift.eq(Cat(zeros))]
        return m
