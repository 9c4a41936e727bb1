"""Booth-recoded partial products, and carry-save trees that sum rows."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...emit.component import Component
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig

__all__ = ["CarrySave", "CarrySaveConfig", "product_rows", "total"]


def product_rows(
    m: Module,
    name: str,
    x: Value,
    y: Value,
    *,
    digits: int,
    dropped: int,
    width: int,
    carry=0,
    negative=0,
) -> tuple[list[Value], int]:
    """Return rows whose sum, plus the constant also returned, is about ``x * (y + carry)``.

    `y`, in two's complement, is recoded to radix-4 digits from -2 to 2 (Booth's). Each digit
    gives a row: its multiple of `x`, unsigned, without the `dropped` lowest bits of the product.
    A negative digit complements its row, and so does a positive one if `negative` is 1; the
    missing unit is ignored. The sum is modulo ``2**width``.
    """
    bits = Signal(2 * digits + 1, name=f"{name}_recoded")
    multiplicand = Signal(len(x), name=f"{name}_multiplicand")
    m.d.comb += bits.eq(Cat(carry, y, y[-1].replicate(2 * digits)))
    m.d.comb += multiplicand.eq(x)
    rows = []
    constant = 0
    for digit in range(digits):
        last, first, sign = (bits[2 * digit + k] for k in range(3))
        is_one = Signal(name=f"{name}_{digit}_is_one")
        is_two = Signal(name=f"{name}_{digit}_is_two")
        is_negative = Signal(name=f"{name}_{digit}_is_negative")
        multiple = Signal(len(x) + 1, name=f"{name}_{digit}_multiple")
        m.d.comb += [
            is_one.eq(first ^ last),
            is_two.eq((sign ^ first) & ~is_one),
            is_negative.eq(sign ^ negative),
            multiple.eq(
                (multiplicand & is_one.replicate(len(x)))
                | (multiplicand & is_two.replicate(len(x))).shift_left(1)
            ),
        ]
        places = 2 * digit - dropped
        row_bits = Cat(C(0, places), multiple) if places >= 0 else multiple[-places:]
        row_bits = row_bits[:width]
        row = Signal(width, name=f"{name}_{digit}_row")
        # Instead of a sign extension, the inverted sign adds 2**n, which `constant` subtracts.
        m.d.comb += row.eq(Cat(row_bits ^ is_negative.replicate(len(row_bits)), ~is_negative))
        if len(row_bits) < width:
            constant -= 1 << len(row_bits)
        rows.append(row)
    return rows, constant % (1 << width)


@dataclass(frozen=True, kw_only=True)
class CarrySaveConfig:
    """Number and width of the rows.

    Parameters
    ----------
    rows, width : int

    """

    rows: int
    width: int

    def __post_init__(self):
        require_integer("rows", self.rows, 3, 64)
        require_integer("width", self.width, 1, 256)


class CarrySave(Component):
    """Carry-save tree: ``a + b`` is the sum of all rows modulo ``2**width``.

    Combinational: levels of full adders without carry propagation; each level reduces three rows
    to two.

    Parameters
    ----------
    config : CarrySaveConfig

    Members
    -------
    rows : In(data.ArrayLayout(config.width, config.rows))
    a, b : Out(config.width)

    """

    def __init__(self, config: CarrySaveConfig):
        self.config = config
        width = config.width
        super().__init__({
            "rows": In(data.ArrayLayout(width, config.rows)),
            "a": Out(width),
            "b": Out(width),
        })

    def elaborate(self, platform):
        m = Module()
        width = self.config.width
        rows = [self.rows[k] for k in range(self.config.rows)]
        level = 0
        while len(rows) > 2:
            whole = len(rows) // 3 * 3
            following = []
            for k in range(0, whole, 3):
                x, y, z = rows[k : k + 3]
                total = Signal(width, name=f"sum_{level}_{k}")
                carry = Signal(width, name=f"carry_{level}_{k}")
                half = x ^ y
                m.d.comb += total.eq(half ^ z)
                m.d.comb += carry.eq(((x & y) | (z & half)).shift_left(1))
                following += [total, carry]
            rows = following + rows[whole:]
            level += 1
        m.d.comb += [self.a.eq(rows[0]), self.b.eq(rows[1])]
        return m


def total(m: Module, name: str, rows: list[Value], width: int, blocks: tuple[int, ...]) -> Value:
    """Return the sum of `rows` modulo ``2**width``: a carry-save tree and a carry-select adder."""
    tree = CarrySave(CarrySaveConfig(rows=len(rows), width=width))
    adder = CarrySelectAdd(CarrySelectAddConfig(width=width, blocks=blocks))
    m.submodules[f"{name}_tree"] = tree
    m.submodules[f"{name}_adder"] = adder
    m.d.comb += [tree.rows[k].eq(row) for k, row in enumerate(rows)]
    m.d.comb += [adder.a.eq(tree.a), adder.b.eq(tree.b)]
    return adder.o
