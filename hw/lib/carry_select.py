"""Carry-select adders: upper bits are summed before the carry into them is known."""

from dataclasses import dataclass
from itertools import pairwise

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..config.checks import require_integer
from ..emit.component import Component
from ..emit.shared_block import is_simulated

__all__ = ["CarrySelectAdd", "CarrySelectAddConfig", "add_in_halves", "carry_select"]


@dataclass(frozen=True, kw_only=True)
class CarrySelectAddConfig:
    """Width of a carry-select adder and its blocks.

    Parameters
    ----------
    width : int
        Bits of both addends and of the sum.
    blocks : tuple of int
        First bit of each block but the lowest, ascending.

    """

    width: int
    blocks: tuple[int, ...]

    def __post_init__(self):
        require_integer("width", self.width, 1, 1024)
        edges = (0, *self.blocks, self.width)
        if any(low >= high for low, high in pairwise(edges)):
            raise ValueError(
                f"blocks must ascend between 0 and width, {self.width}, not {self.blocks!r}"
            )


class CarrySelectAdd(Component):
    """Carry-select adder: ``o = a + b + carry`` modulo ``2**width``.

    Combinational. Its depth is that of the longest block plus one multiplexer per further block.
    A simulator computes it as a single addition.

    Parameters
    ----------
    config : CarrySelectAddConfig

    Members
    -------
    a, b : In(config.width)
    carry : In(1)
    o : Out(config.width)

    """

    def __init__(self, config: CarrySelectAddConfig):
        self.config = config
        width = config.width
        super().__init__({"a": In(width), "b": In(width), "carry": In(1), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        carry_select(m, platform, self.config, o=self.o, a=self.a, b=self.b, carry=self.carry)
        return m


def carry_select(
    m: Module,
    platform,
    config: CarrySelectAddConfig,
    *,
    o: Value,
    a: Value,
    b: Value,
    carry: Value | None = None,
):
    """Drive `o` with ``a + b + carry`` modulo ``2**config.width``, as `CarrySelectAdd` does.

    `a` and `b` are best signals: their parts are used several times.
    """
    carry = Const(0, 1) if carry is None else carry
    if is_simulated(platform):
        m.d.comb += o.eq(a + b + carry)
        return
    blocks = []
    for low, high in pairwise((0, *config.blocks, config.width)):
        a_block, b_block = a[low:high], b[low:high]
        total = Signal(high - low + 1, name=f"total_{low}")
        if low == 0:
            m.d.comb += total.eq((Cat(carry, a_block) + Cat(carry, b_block))[1:])
        else:
            # Area-driven synthesis would share the two sums and merge all blocks into one
            # ripple carry; `keep` prevents it.
            without = Signal(high - low + 1, name=f"without_{low}", attrs={"keep": 1})
            with_carry = Signal(high - low + 1, name=f"with_{low}", attrs={"keep": 1})
            m.d.comb += [
                without.eq(a_block + b_block),
                with_carry.eq((Cat(C(1, 1), a_block) + Cat(C(1, 1), b_block))[1:]),
                total.eq(Mux(carry, with_carry, without)),
            ]
        blocks.append(total[:-1])
        carry = total[-1]
    m.d.comb += o.eq(Cat(blocks))


def add_in_halves(a: Value, b: Value, width: int):
    """Return ``(a + b) mod 2**width`` with half the depth of a plain adder.

    For addresses: the upper half is computed without a carry in, in parallel with the lower half,
    and incremented. This is smaller than `CarrySelectAdd`, which is shallower. Operands are
    unsigned. A narrower operand is zero-extended to `width`.
    """
    low = width // 2
    a, b = Value.cast(a), Value.cast(b)
    lower = a[:low] + b[:low]
    upper = a[low:width] + b[low:width]
    return Cat(lower[:low], Mux(lower[low], upper + 1, upper)[: width - low])
