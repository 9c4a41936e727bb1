"""Parallel-prefix adder: the shallowest sum of wide words, in a few word-level cells."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..config.checks import require_integer
from ..emit.component import Component

__all__ = ["PrefixAdd", "PrefixAddConfig", "prefix_carries"]


@dataclass(frozen=True, kw_only=True)
class PrefixAddConfig:
    """Width of a parallel-prefix adder.

    Parameters
    ----------
    width : int
        Bits of both addends and of the sum.

    """

    width: int

    def __post_init__(self):
        require_integer("width", self.width, 1, 256)


class PrefixAdd(Component):
    """Parallel-prefix adder: ``o = a + b`` modulo ``2**width``.

    Combinational, about ``2 * log2(width) + 4`` gates deep: Kogge and Stone, "A parallel
    algorithm for the efficient solution of a general class of recurrence equations" (1973), with
    all bits of a level in one word. It has more gates than `CarrySelectAdd` and half the depth.

    Parameters
    ----------
    config : PrefixAddConfig

    Members
    -------
    a, b : In(config.width)
    o : Out(config.width)

    """

    def __init__(self, config: PrefixAddConfig):
        self.config = config
        width = config.width
        super().__init__({"a": In(width), "b": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        half_sum = self.a ^ self.b
        carries, _ = prefix_carries(m, self.a & self.b, half_sum)
        m.d.comb += self.o.eq(half_sum ^ (carries << 1))
        return m


def prefix_carries(m: Module, generate: Value, propagate: Value):
    """Return the carries out of each bit, and the bits that pass a carry from below bit 0.

    `generate` and `propagate` are the bits that generate a carry and those that propagate one.
    """
    width = len(generate)
    for level in range(ceil_log2(width)):
        reach = 1 << level
        # Area-driven synthesis would turn the tree into a ripple carry; `keep` prevents it.
        generated = Signal(width, name=f"generate_{2 * reach}", attrs={"keep": 1})
        propagated = Signal(width, name=f"propagate_{2 * reach}", attrs={"keep": 1})
        m.d.comb += [
            generated.eq(generate | (propagate & (generate << reach)[:width])),
            # Bits below `reach` have no lower word to combine with.
            propagated.eq(propagate & ((propagate << reach)[:width] | ((1 << reach) - 1))),
        ]
        generate, propagate = generated, propagated
    return generate, propagate
