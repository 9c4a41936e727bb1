"""Integer lane of one thread: sums, comparisons and shifts, without products."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....emit.shared_block import SharedBlock
from ....lib.carry_select import CarrySelectAdd, CarrySelectAddConfig

__all__ = ["IntegerLane"]


class IntegerLane(SharedBlock):
    """Integer lane: sum, comparison and shift of one thread, all computed for every operation.

    Combinational. Controls common to all threads of a warp are decoded once, outside.

    Parameters
    ----------
    config : int
        Bits of a register, a power of two.

    Members
    -------
    a, b : In(width)
    subtract : In(1)
        ``sum`` is ``a - b``; `less` is valid only then.
    is_signed : In(1)
        Signed comparison for `less`.
    shift_left, shift_arithmetic : In(1)
        Shift of ``a`` by the low bits of ``b``: left, or arithmetic right; default logical right.
        Not both.
    sum : Out(width)
    less : Out(1)
        ``a < b``.
    equal : Out(1)
        ``a == b``.
    shifted : Out(width)

    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({
            "a": In(config),
            "b": In(config),
            "subtract": In(1),
            "is_signed": In(1),
            "shift_left": In(1),
            "shift_arithmetic": In(1),
            "sum": Out(config),
            "less": Out(1),
            "equal": Out(1),
            "shifted": Out(config),
        })

    def build(self, platform):
        m = Module()
        width = self.config
        # One bit wider than a register, so that the difference has a sign for all operands.
        m.submodules.add = add = CarrySelectAdd(
            CarrySelectAddConfig(width=width + 1, blocks=(width // 3, width * 2 // 3))
        )
        m.d.comb += [
            add.a.eq(Cat(self.a, self.a[-1] & self.is_signed)),
            add.b.eq(Cat(self.b, self.b[-1] & self.is_signed) ^ self.subtract.replicate(width + 1)),
            add.carry.eq(self.subtract),
            Cat(self.sum, self.less).eq(add.o),
            self.equal.eq(self.a == self.b),
            self.shifted.eq(self.shift()),
        ]
        return m

    def shift(self):
        """Return ``a`` shifted: a window on a word of twice the width with ``a`` at one end.

        A left shift by n is a right shift by ``width - 1 - n``, which inverts all bits of n.
        """
        width = self.config
        places = self.b[: exact_log2(width)]
        fill = (self.a[-1] & self.shift_arithmetic).replicate(width - 1)
        word = Mux(self.shift_left, Cat(C(0, width - 1), self.a), Cat(self.a, fill))
        return word >> (places ^ self.shift_left.replicate(len(places)))
