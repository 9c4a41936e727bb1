"""Row of a weight-stationary array: its processing elements, one per column."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...arith.float.multiply_add import MultiplyAddConfig
from ...emit.shared_block import SharedBlock
from .processing_element import WeightStationaryProcessingElement, weight_stationary_word

__all__ = ["WeightStationaryRow", "WeightStationaryRowConfig"]


@dataclass(frozen=True)
class WeightStationaryRowConfig:
    """Config of one row of the array.

    Parameters
    ----------
    columns : int
        Elements of the row.
    element : MultiplyAddConfig
        Formats and latency of each multiply-add.

    """

    columns: int
    element: MultiplyAddConfig


class WeightStationaryRow(SharedBlock):
    """Elements of one array row: ``o[j] = a * b[j] + c[j]``, column j one cycle after j - 1.

    The word moves by one element per cycle, so `weights` and `c` of column j belong to the word
    of j cycles before. Element j has the latency of `WeightStationaryProcessingElement`; one word
    per cycle, no back-pressure. The rows of an array are equal, so emission converts one of them.

    Parameters
    ----------
    config : WeightStationaryRowConfig

    Members
    -------
    word : In(weight_stationary_word(config.element))
    weights : In(ArrayLayout(operand_layout, columns))
        Weight on each column.
    c : In(columns * accumulator width)
        Partial sums from the row above.
    o : Out(columns * accumulator width)
        Partial sums to the row below.

    """

    def __init__(self, config: WeightStationaryRowConfig):
        self.config = config
        element = config.element
        width = config.columns * element.accumulator_format.width
        super().__init__({
            "word": In(weight_stationary_word(element)),
            "weights": In(data.ArrayLayout(element.operand_layout, config.columns)),
            "c": In(width),
            "o": Out(width),
        })

    def build(self, platform):
        m = Module()
        config = self.config.element
        width = config.accumulator_format.width
        word = self.word
        for column in range(self.config.columns):
            element = WeightStationaryProcessingElement(config)
            m.submodules[f"pe_{column}"] = element
            m.d.comb += [
                element.word.eq(word),
                element.weight.eq(self.weights[column]),
                element.c.eq(self.c.word_select(column, width)),
                self.o.word_select(column, width).eq(element.o),
            ]
            word = element.next_word
        return m
