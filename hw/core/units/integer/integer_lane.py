"""Integer lane of one thread: sums, comparisons and shifts, without products."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....emit.shared_block import SharedBlock
from ....lib.carry_select import CarrySelectAddConfig, carry_select

__all__ = ["IntegerLane", "LaneControlSignature", "lane_result_layout"]


def lane_result_layout(width: int) -> data.StructLayout:
    """Return the layout of a lane's results; ``less`` and ``equal`` compare ``a`` with ``b``."""
    return data.StructLayout({"sum": width, "less": 1, "equal": 1, "shifted": width})


class LaneControlSignature(wiring.Signature):
    """Controls common to the lanes of a beat.

    Members
    -------
    subtract : Out(1)
        ``sum`` is ``a - b``; ``less`` is valid only then.
    is_signed : Out(1)
        Signed comparison for ``less``.
    shift_left, shift_arithmetic : Out(1)
        Shift of ``a`` by the low bits of ``b``: left, or arithmetic right; default logical right.
        Not both.
    """

    def __init__(self):
        names = ("subtract", "is_signed", "shift_left", "shift_arithmetic")
        super().__init__(dict.fromkeys(names, Out(1)))


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
    control : In(LaneControlSignature())
    o : Out(lane_result_layout(width))

    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({
            "a": In(config),
            "b": In(config),
            "control": In(LaneControlSignature()),
            "o": Out(lane_result_layout(config)),
        })

    def build(self, platform):
        m = Module()
        width = self.config
        # One bit wider than a register, so that the difference has a sign for all operands.
        augend, addend = Signal(width + 1), Signal(width + 1)
        b = Cat(self.b, self.b[-1] & self.control.is_signed)
        carry_select(
            m,
            platform,
            CarrySelectAddConfig(width=width + 1, blocks=(width // 3, width * 2 // 3)),
            o=Cat(self.o.sum, self.o.less),
            a=augend,
            b=addend,
            carry=self.control.subtract,
        )
        m.d.comb += [
            augend.eq(Cat(self.a, self.a[-1] & self.control.is_signed)),
            addend.eq(b ^ self.control.subtract.replicate(width + 1)),
            self.o.equal.eq(self.a == self.b),
            self.o.shifted.eq(self.shift()),
        ]
        return m

    def shift(self):
        """Return ``a`` shifted: a window on a word of twice the width with ``a`` at one end.

        A left shift by n is a right shift by ``width - 1 - n``, which inverts all bits of n.
        """
        width = self.config
        places = self.b[: exact_log2(width)]
        fill = (self.a[-1] & self.control.shift_arithmetic).replicate(width - 1)
        word = Mux(self.control.shift_left, Cat(C(0, width - 1), self.a), Cat(self.a, fill))
        return word >> (places ^ self.control.shift_left.replicate(len(places)))
