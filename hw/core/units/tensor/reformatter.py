"""Operand reformatter of the tensor unit: rows of A and columns of B for each dot product."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....config.formats import FORMATS
from ....config.tensor import TensorConfig
from .layouts import LANES, row_shape, step_layout

__all__ = ["Reformatter", "column_of", "row_of"]


def row_of(lane: int, register: Value) -> list[Value]:
    """Return the bits of the row of the accumulator `register` in `lane`, lowest first."""
    return [Const(lane & 1), register[1], Const(lane >> 2 & 1)]


def column_of(lane: int, register: Value) -> list[Value]:
    """Return the bits of the column of the accumulator `register` in `lane`, lowest first."""
    return [register[0], Const(lane >> 1 & 1), register[2]]


class Reformatter(wiring.Component):
    """Operand reformatter: selects the row of A and the column of B of each dot product.

    Lane l holds row l of A and column l of B. Dot product u of a step computes the accumulator of
    one lane, see `row_of` and `column_of`: a fixed permutation of lanes, and multiplexers of two
    to eight lanes. Latency 1 cycle.

    Parameters
    ----------
    config : TensorConfig

    Members
    -------
    step : In(step_layout(sets))
    a, b : In(ArrayLayout(row_shape(), step_words))
        Words of the step's set, of all lanes.
    rows, columns : Out(ArrayLayout(ArrayLayout(width, terms), dot_products))
        Operands of each dot product, one cycle later.
    """

    step: data.View
    a: data.View
    b: data.View
    rows: data.View
    columns: data.View

    def __init__(self, config: TensorConfig):
        self.config = config
        words = data.ArrayLayout(row_shape(), config.step_words)
        operand = data.ArrayLayout(FORMATS[config.operand].width, config.terms)
        operands = data.ArrayLayout(operand, config.dot_products)
        super().__init__({
            "step": In(step_layout(config.sets)),
            "a": In(words),
            "b": In(words),
            "rows": Out(operands),
            "columns": Out(operands),
        })

    def elaborate(self, platform):
        m = Module()
        units = self.config.dot_products
        register, part = self.step.register, Value.cast(self.step.part)
        for name, words, place_of in (("rows", self.a, row_of), ("columns", self.b, column_of)):
            by_lane = [
                self.numbers([words[word][lane] for word in range(self.config.step_words)])
                for lane in range(LANES)
            ]
            for unit in range(units):
                by_part = [
                    selected(by_lane, place_of(units * number + unit, register))
                    for number in range(LANES // units)
                ]
                operand = Signal(len(by_lane[0]), name=f"{name}_{unit}", reset_less=True)
                m.d.sync += operand.eq(selected(by_part, list(part)))
                m.d.comb += getattr(self, name)[unit].eq(operand)
        return m

    def numbers(self, words: list) -> Value:
        """Return the numbers in the words of a lane; TF32 is the upper bits of a word."""
        width = self.config.operand_width
        return Cat(
            word[low + width - FORMATS[self.config.operand].width : low + width]
            for word in words
            for low in range(0, 32, width)
        )


def selected(choices: list, index: list) -> Value:
    """Return the one of `choices` with the number whose bits are `index`, lowest first."""
    for bit in index:
        low, high = choices[0::2], choices[1::2]
        if isinstance(bit, Const):
            choices = high if bit.value else low
        else:
            choices = [Mux(bit, one, zero) for zero, one in zip(low, high, strict=True)]
    (found,) = choices
    return found
