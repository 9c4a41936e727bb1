"""Normalisation: shift the leading one to the top."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..config.checks import require_integer

__all__ = ["Normalise", "NormaliseConfig"]


@dataclass(frozen=True, kw_only=True)
class NormaliseConfig:
    """What a normaliser must shift.

    Parameters
    ----------
    width : int
        Bits of the word.
    leading_zeros : int
        The most zeros that can stand before the leading one; 0 makes the block a wire.
    limited : bool
        Whether a `limit` can stop the shift early, as the least exponent does to subnormals.

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


class Normalise(wiring.Component):
    """``o = i << shift`` with the largest `shift` that loses no one.

    Combinational: one step per bit of `shift`, the largest first, each a test for zeros and a
    multiplexer; the tests are the count of leading zeros. A word of zeros shifts by all ones.

    Parameters
    ----------
    config : NormaliseConfig

    Members
    -------
    i : In(config.width)
    limit : In(config.width)
        Present if `config.limited`. One bit of it is set, or none: it shifts no further than to
        the top.
    o : Out(config.width)
    shift : Out(config.shift_width)

    """

    i: Signal
    limit: Signal
    o: Signal
    shift: Signal

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
