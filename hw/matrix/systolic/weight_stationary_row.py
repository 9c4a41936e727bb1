"""Row of a weight-stationary array: its processing elements, one per column."""

from dataclasses import dataclass
from itertools import pairwise

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from ...arith.float.multiply_add import MultiplyAddConfig
from ...emit.shared_block import SharedBlock
from .processing_element import (
    NeighbourSignature,
    WeightStationaryProcessingElement,
    weight_stationary_word,
)

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
    word : In(NeighbourSignature(weight_stationary_word(config.element)))
    weights : In(ArrayLayout(operand_layout, columns))
        Weight on each column.
    c : In(NeighbourSignature(columns * accumulator width))
        Partial sums from the row above.
    o : Out(NeighbourSignature(columns * accumulator width))
        Partial sums to the row below.

    """

    def __init__(self, config: WeightStationaryRowConfig):
        self.config = config
        element = config.element
        width = config.columns * element.accumulator_format.width
        super().__init__({
            "word": In(NeighbourSignature(weight_stationary_word(element))),
            "weights": In(data.ArrayLayout(element.operand_layout, config.columns)),
            "c": In(NeighbourSignature(width)),
            "o": Out(NeighbourSignature(width)),
        })

    def build(self, platform):
        m = Module()
        config, columns = self.config.element, range(self.config.columns)
        width = config.accumulator_format.width
        elements = [WeightStationaryProcessingElement(config) for _ in columns]
        connect(m, flipped(self.word), elements[0].word)
        for left, right in pairwise(elements):
            connect(m, left.next_word, right.word)
        for column, element in enumerate(elements):
            m.submodules[f"pe_{column}"] = element
            m.d.comb += [
                element.weight.eq(self.weights[column]),
                element.c.eq(self.c.payload.word_select(column, width)),
                self.o.payload.word_select(column, width).eq(element.o),
            ]
        return m
