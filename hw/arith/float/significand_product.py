"""Multiplier of two significands, in one piece or in halves."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...emit.component import Component
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ...lib.pipeline import cut

__all__ = ["SignificandProduct", "SignificandProductConfig"]

#: Bits of the longest factors multiplied in one piece.
LONGEST = 12


@dataclass(frozen=True, kw_only=True)
class SignificandProductConfig:
    """Width of the factors and an optional register.

    Parameters
    ----------
    width : int
        Bits of each factor.
    registered : bool
        Whether the product is registered; in halves, as two words added after the register.

    """

    width: int
    registered: bool = False

    def __post_init__(self):
        require_integer("width", self.width, 1, 128)

    @property
    def in_halves(self) -> bool:
        """Whether factors are multiplied in halves: four short products replace a long one."""
        return self.width > LONGEST


class SignificandProduct(Component):
    """Significand multiplier: ``o = a * b``.

    Combinational, or one cycle later if `config.registered`.

    Parameters
    ----------
    config : SignificandProductConfig

    Members
    -------
    a, b : In(config.width)
    o : Out(2 * config.width)

    """

    def __init__(self, config: SignificandProductConfig):
        self.config = config
        width = config.width
        super().__init__({"a": In(width), "b": In(width), "o": Out(2 * width)})

    def elaborate(self, platform):
        m = Module()
        if self.config.in_halves:
            product = self.product_of_halves(m)
        else:
            (product,) = self.cut(m, product=self.a * self.b)
        m.d.comb += self.o.eq(product)
        return m

    def cut(self, m, **values):
        """Return `values`, registered if the config says so."""
        return cut(m, "factors", registered=self.config.registered, **values)

    def product_of_halves(self, m):
        """Return the product as the sum of the products of halves."""
        a, b = self.a, self.b
        width = self.config.width
        half = width // 2
        low, high = a[:half] * b[:half], a[half:] * b[half:]
        low_high, high_low = a[:half] * b[half:], a[half:] * b[:half]
        # Full adders reduce three words to two.
        upper = Cat(low[half:], high)
        halves = low_high ^ high_low
        lowest, partial, carries = self.cut(
            m,
            lowest=low[:half],
            partial=(upper ^ halves)[: len(upper)],
            carries=(low_high & high_low) | (upper[: len(halves)] & halves),
        )
        m.submodules.sum = total = CarrySelectAdd(
            CarrySelectAddConfig(width=len(upper), blocks=(len(upper) // 3, len(upper) * 2 // 3))
        )
        m.d.comb += [total.a.eq(partial), total.b.eq(carries << 1)]
        return Cat(lowest, total.o)
