"""Sum or difference of two magnitudes, with a magnitude and a sign as its result."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...emit.component import Component
from ...lib.prefix_add import prefix_carries

__all__ = ["MagnitudeSum", "MagnitudeSumConfig"]


@dataclass(frozen=True, kw_only=True)
class MagnitudeSumConfig:
    """Width of a sum.

    Parameters
    ----------
    width : int
        Bits of both addends and of the sum.

    """

    width: int

    def __post_init__(self):
        require_integer("width", self.width, 2, 256)


class MagnitudeSum(Component):
    """Magnitude adder: ``o = a + b``, which must not overflow, or ``o = abs(a - ~b)``.

    The inputs are ``a ^ b`` and ``a & b``, so that a register can precede the adder. The
    subtrahend is complemented on input.

    Combinational: a parallel-prefix adder with end-around carry. The carry out of ``a + b`` is 1
    if a is greater than ``~b``. Then adding it gives the difference; otherwise the result is the
    complement of the sum.

    Parameters
    ----------
    config : MagnitudeSumConfig

    Members
    -------
    half_sum : In(config.width)
        ``a ^ b``
    generate : In(config.width)
        ``a & b``
    is_difference : In(1)
    o : Out(config.width)
    is_negative : Out(1)
        The operation is a difference and a is not greater than ``~b``.

    """

    def __init__(self, config: MagnitudeSumConfig):
        self.config = config
        width = config.width
        super().__init__({
            "half_sum": In(width),
            "generate": In(width),
            "is_difference": In(1),
            "o": Out(width),
            "is_negative": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        width = self.config.width
        generate, propagate = prefix_carries(m, self.generate, self.half_sum)
        carry = Signal()
        m.d.comb += [
            carry.eq(generate[-1] & self.is_difference),
            self.is_negative.eq(~generate[-1] & self.is_difference),
        ]
        carries = generate | (propagate & carry.replicate(width))
        total = self.half_sum ^ Cat(carry, carries[:-1])
        m.d.comb += self.o.eq(total ^ self.is_negative.replicate(width))
        return m
