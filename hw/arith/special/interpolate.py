"""Interpolator: evaluates a quadratic in the table segment of the argument."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...emit.component import Component
from ...lib.pipeline import cut
from . import functions as special
from .carry_save import product_rows, total
from .coefficients import COEFFICIENTS
from .functions import TABLES

__all__ = ["SELECT_WIDTH", "Coefficients", "Interpolate", "Square", "selection"]

#: Tables by number; the last one is the constant 1.
SELECTIONS = (*TABLES, "one")
SELECT_WIDTH = (len(SELECTIONS) - 1).bit_length()

#: Shape of a row of a table.
COEFFICIENTS_LAYOUT = data.StructLayout({
    "c0": special.C0_WIDTH + 1,
    "c1": signed(special.C1_BITS),
    "c2": signed(special.C2_BITS),
})


def selection(name: str) -> Const:
    """Return the number of a table, or of ``one``."""
    return C(SELECTIONS.index(name), SELECT_WIDTH)


class Coefficients(Component):
    """Coefficient table: outputs the argument's segment coefficients and its position there.

    Combinational.

    Parameters
    ----------
    name : str
        Of `TABLES`.

    Members
    -------
    argument : In(ARGUMENT_WIDTH)
    coefficients : Out(COEFFICIENTS_LAYOUT)
    offset : Out(OFFSET_WIDTH)

    """

    def __init__(self, name: str):
        self.name = name
        super().__init__({
            "argument": In(special.ARGUMENT_WIDTH),
            "coefficients": Out(COEFFICIENTS_LAYOUT),
            "offset": Out(special.OFFSET_WIDTH),
        })

    def elaborate(self, platform):
        m = Module()
        rows = [
            COEFFICIENTS_LAYOUT.const({"c0": c0, "c1": c1, "c2": c2}).as_bits()
            for c0, c1, c2 in COEFFICIENTS[self.name]
        ]
        m.submodules.memory = memory = Memory(
            shape=COEFFICIENTS_LAYOUT.size, depth=len(rows), init=rows
        )
        read = memory.read_port(domain="comb")
        m.d.comb += self.coefficients.as_value().eq(read.data)
        before = 0
        is_later = C(1, 1)
        for piece in TABLES[self.name].pieces:
            index = self.argument[-piece.index_width :]
            unused = piece.index_width - special.LEAST_INDEX_WIDTH
            with m.If(is_later):
                m.d.comb += read.addr.eq(index + (before - piece.first))
                m.d.comb += self.offset.eq(self.argument[: special.OFFSET_WIDTH] << unused)
            is_later = self.argument >= piece.end
            before += piece.last - piece.first + 1
        return m


class Square(Component):
    """Truncated squarer: ``o`` is about ``i**2`` of the upper bits of `i`.

    Combinational. Each bit is multiplied by itself once and by each higher bit twice, which is
    half the bits of a product. The lower bits of each row are dropped.

    Members
    -------
    i : In(OFFSET_WIDTH)
    o : Out(SQUARE_WIDTH)

    """

    def __init__(self):
        super().__init__({"i": In(special.OFFSET_WIDTH), "o": Out(special.SQUARE_WIDTH)})

    def elaborate(self, platform):
        m = Module()
        x = self.i[-special.SQUARED_WIDTH :]
        dropped = 2 * special.SQUARED_WIDTH - special.SQUARE_WIDTH
        rows = []
        for bit in range(special.SQUARED_WIDTH):
            row = Cat(C(0, 2 * bit), C(1, 2), x[bit + 1 :]) >> dropped
            row = row & x[bit].replicate(len(row))
            if len(row):
                rows.append(row)
        width = special.SQUARE_WIDTH
        m.d.comb += self.o.eq(total(m, "rows", rows, width, (width // 2,)))
        return m


class Interpolate(Component):
    """Interpolator: ``o = c0 + c1 * x + c2 * x**2`` of the selected table, `x` from the argument.

    A pipeline without back-pressure: one value per cycle, one cycle per stage in `cuts`. Stage
    `coefficients` reads them and squares the position; stage `value` is a single sum of all rows
    of both products. Oberman and Siu, "A High-Performance Area-Efficient Multifunction
    Interpolator", ARITH 2005.

    Parameters
    ----------
    cuts : tuple of str
        Stages whose results are registered.

    Members
    -------
    select : In(SELECT_WIDTH)
        A `selection`.
    argument : In(ARGUMENT_WIDTH)
    o : Out(VALUE_WIDTH + 1)
        From 1/2 to 1.

    """

    def __init__(self, cuts: tuple[str, ...]):
        self.cuts = cuts
        super().__init__({
            "select": In(SELECT_WIDTH),
            "argument": In(special.ARGUMENT_WIDTH),
            "o": Out(special.VALUE_WIDTH + 1),
        })

    def elaborate(self, platform):
        m = Module()
        selected = Signal(COEFFICIENTS_LAYOUT)
        offset = Signal(special.OFFSET_WIDTH)
        with m.Switch(self.select):
            for name in TABLES:
                m.submodules[name] = table = Coefficients(name)
                m.d.comb += table.argument.eq(self.argument)
                with m.Case(selection(name)):
                    m.d.comb += [selected.eq(table.coefficients), offset.eq(table.offset)]
            with m.Default():
                m.d.comb += selected.c0.eq(1 << special.C0_WIDTH)
        m.submodules.square = square = Square()
        m.d.comb += square.i.eq(offset)

        c0, c1, c2, x, x_square = cut(
            m,
            "coefficients",
            registered="coefficients" in self.cuts,
            c0=selected.c0,
            c1=selected.c1,
            c2=selected.c2,
            x=offset,
            x_square=square.o,
        )
        (value,) = cut(
            m,
            "value",
            registered="value" in self.cuts,
            o=self.quadratic(m, (c0, c1, c2), x, x_square),
        )
        m.d.comb += self.o.eq(value)
        return m

    def quadratic(self, m, coefficients, x, square):
        """Return the quadratic's value, rounded down."""
        c0, c1, c2 = coefficients
        width = special.SUM_WIDTH + 1
        linear, linear_constant = product_rows(
            m,
            "linear",
            x,
            c1,
            digits=special.C1_DIGITS,
            dropped=special.C1_WIDTH + special.OFFSET_WIDTH - special.SUM_WIDTH,
            width=width,
        )
        quadratic, quadratic_constant = product_rows(
            m,
            "quadratic",
            square,
            c2,
            digits=special.C2_DIGITS,
            dropped=special.C2_WIDTH + special.SQUARE_WIDTH - special.SUM_WIDTH,
            width=width,
        )
        rows = [
            C(linear_constant + quadratic_constant, width),
            Cat(C(0, special.SUM_WIDTH - special.C0_WIDTH), c0),
            *quadratic,
            *linear,
        ]
        blocks = (width // 3, width * 2 // 3)
        return total(m, "quadratic", rows, width, blocks)[special.SUM_WIDTH - special.VALUE_WIDTH :]
