"""Multiply lane: pipelined integer products of one thread."""

from dataclasses import dataclass
from itertools import pairwise

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....config.checks import require_integer
from ....emit.shared_block import SharedBlock
from ....lib.carry_select import CarrySelectAddConfig, carry_select

__all__ = ["FactorsSignature", "MultiplyLane", "MultiplyLaneConfig"]

WIDTH = 32
HALF = WIDTH // 2
#: Names of the registered stages, by their number.
CUTS = {1: ("products",), 2: ("operands", "products"), 3: ("operands", "products", "words")}
#: Bits at which `b` is cut into factors: shorter factors if products start from unregistered
#: operands, which arrive late in their cycle.
SHORT_FACTORS = (0, 8, 16, 24, WIDTH)
LONG_FACTORS = (0, 11, 22, WIDTH)


@dataclass(frozen=True, kw_only=True)
class MultiplyLaneConfig:
    """Configuration of a multiplier's pipeline registers.

    Parameters
    ----------
    registers : int
        Register stages between the operands and the product, 1 to 3.

    """

    registers: int

    def __post_init__(self):
        require_integer("registers", self.registers, 1, 3)

    @property
    def cuts(self) -> tuple[str, ...]:
        """Stages with registered results."""
        return CUTS[self.registers]

    @property
    def factors(self) -> tuple[int, ...]:
        """Bits at which `b` is cut into factors, both ends included."""
        return LONG_FACTORS if "operands" in self.cuts else SHORT_FACTORS


class FactorsSignature(wiring.Signature):
    """Factors of a product.

    Members
    -------
    a, b : Out(32)
    a_signed, b_signed : Out(1)
    """

    def __init__(self):
        super().__init__({
            "a": Out(WIDTH),
            "b": Out(WIDTH),
            "a_signed": Out(1),
            "b_signed": Out(1),
        })


class MultiplyLane(SharedBlock):
    """Multiply lane: the lower or upper half of ``a * b``, each factor signed or unsigned.

    ``a`` is cut into two factors and ``b`` into three or four. Full adders reduce their 64-bit
    products to two words, which a fast adder sums. With two registers::

        cycle 0   operands
        cycle 1   products of the factors
        cycle 2   their sum

    Latency `config.registers` cycles, then `o` is combinational from the last register and from
    `high`. One product per cycle; no handshake. Each stage has its own enable and holds its
    value without it.

    Parameters
    ----------
    config : MultiplyLaneConfig

    Members
    -------
    enable : In(config.registers)
        Bit k loads the k-th register stage.
    factors : In(FactorsSignature())
    high : In(1)
        Selects the upper half for `o`; valid in the cycle of `o`.
    o : Out(32)

    """

    def __init__(self, config: MultiplyLaneConfig):
        self.config = config
        super().__init__({
            "enable": In(config.registers),
            "factors": In(FactorsSignature()),
            "high": In(1),
            "o": Out(WIDTH),
        })

    def build(self, platform):
        m = Module()
        i = self.factors
        a = Cat(i.a, i.a[-1] & i.a_signed).as_signed()
        b = Cat(i.b, i.b[-1] & i.b_signed).as_signed()
        a, b = self.cut(m, "operands", [a, b])
        words = self.words(m, a, b)
        while len(words) > 2:
            words = [*words[3:], *self.full_add(words[:3])]
        first, second = self.cut(m, "words", words)

        width = 2 * WIDTH
        augend, addend, product = Signal(width), Signal(width), Signal(width)
        carry_select(
            m,
            platform,
            CarrySelectAddConfig(width=width, blocks=(width // 4, width // 2, width * 3 // 4)),
            o=product,
            a=augend,
            b=addend,
        )
        m.d.comb += [
            augend.eq(first),
            addend.eq(second),
            self.o.eq(Mux(self.high, product[WIDTH:], product[:WIDTH])),
        ]
        return m

    def cut(self, m: Module, stage: str, values: list[Value]) -> list:
        """Return `values`, registered if this stage has registers."""
        cuts = self.config.cuts
        if stage not in cuts:
            return values
        enable = self.enable[cuts.index(stage)]
        signals = [
            Signal(value.shape(), name=f"{stage}_{number}", reset_less=True)
            for number, value in enumerate(values)
        ]
        with m.If(enable):
            m.d.sync += [signal.eq(value) for signal, value in zip(signals, values, strict=True)]
        return signals

    def words(self, m: Module, a: Value, b: Value) -> list:
        """Return words that sum to the product; products that do not overlap share a word."""
        places = self.config.factors
        # The uppermost factors carry the signs.
        low, high = a[:HALF], a[HALF:].as_signed()
        factors = [b[start:end] for start, end in pairwise(places[:-1])]
        factors.append(b[places[-2] :].as_signed())
        products = [part * factor for factor in factors for part in (low, high)]
        products = self.cut(m, "products", products)
        low_products, high_products = products[::2], products[1::2]
        # The product of `high` and a factor starts at the end of that of `low` and the next one.
        pairs = zip(places, low_products[:-1], high_products[1:], strict=False)
        placed = [Cat(C(0, place), *pair) for place, *pair in pairs]
        placed.append(Cat(C(0, places[-2]), low_products[-1]))
        placed.append(Cat(C(0, HALF), high_products[0]))
        words = [Signal(signed(2 * WIDTH), name=f"word_{k}") for k in range(len(placed))]
        m.d.comb += [word.eq(value.as_signed()) for word, value in zip(words, placed, strict=True)]
        return [word.as_unsigned() for word in words]

    def full_add(self, words: list[Value]) -> list:
        """Return two words that sum to the three `words`."""
        a, b, c = words
        half = a ^ b
        return [half ^ c, (((a & b) | (half & c)) << 1)[: 2 * WIDTH]]
