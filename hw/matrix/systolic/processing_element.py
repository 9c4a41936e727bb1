"""Processing elements of a systolic array: operand registers and multiply-add, per dataflow."""

from typing import Any

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect

from ...arith.float.multiply_add import (
    MultiplyAdd,
    MultiplyAddConfig,
    MultiplyAddSignature,
)
from ...config import SystolicConfig
from ...emit.shared_block import SharedBlock

__all__ = [
    "NeighbourSignature",
    "OutputStationaryProcessingElement",
    "WeightStationaryProcessingElement",
    "multiply_add_config",
    "output_slots",
    "output_stationary_word",
    "weight_stationary_word",
]


class NeighbourSignature(wiring.Signature):
    """Value that one element of an array, or a row of them, hands to the next, seen from the first.

    Parameters
    ----------
    shape : ShapeLike

    Members
    -------
    payload : Out(shape)
    """

    def __init__(self, shape: ShapeLike):
        super().__init__({"payload": Out(shape)})


def multiply_add_config(config: SystolicConfig) -> MultiplyAddConfig:
    """Return the config of one element's multiply-add."""
    return MultiplyAddConfig(
        operand=config.operand_format.name,
        accumulator=config.accumulator_format.name,
        latency=config.element_latency,
    )


def weight_stationary_word(config: MultiplyAddConfig) -> data.StructLayout:
    """Layout of a word that moves along a row: an unpacked element of A and two flags.

    `load` makes the element latch the weight on its column; `swap` makes the weight latched last
    the active one from the next cycle on.
    """
    return data.StructLayout({"a": config.operand_layout, "load": 1, "swap": 1})


class WeightStationaryProcessingElement(SharedBlock):
    """Weight-stationary element: multiplies by a held weight and accumulates, ``o = a * b + c``.

    Latency `config.latency` cycles from `word` and `c` to `o`, 1 cycle from `word` to
    `next_word`; one of each per cycle, no back-pressure. The flags of a cycle take effect in the
    next cycle: a row that uses a new weight comes one cycle after its `swap`. All inputs of the
    multiplier are therefore registers::

        cycle      0      1      2      3
        word.load  1      0      0      0
        weight     w      .      .      .
        word.swap  0      1      0      0
        word.a     .      x      y      z
        multiplied .      x*old  y*w    z*w

    If `load` and `swap` coincide, `swap` activates the weight latched before.

    Parameters
    ----------
    config : MultiplyAddConfig
        Formats and latency of the multiply-add.

    Members
    -------
    word : In(NeighbourSignature(weight_stationary_word(config)))
        From the left neighbour.
    next_word : Out(NeighbourSignature(weight_stationary_word(config)))
        To the right neighbour.
    weight : In(config.operand_layout)
        Weight on the column, for all its elements.
    c : In(config.accumulator_format.width)
        Partial sum from above.
    o : Out(config.accumulator_format.width)
        Partial sum to the element below.

    """

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        word = NeighbourSignature(weight_stationary_word(config))
        super().__init__({
            "word": In(word),
            "next_word": Out(word),
            "weight": In(config.operand_layout),
            "c": In(config.accumulator_format.width),
            "o": Out(config.accumulator_format.width),
        })

    def build(self, platform):
        m = Module()
        shadow = Signal(self.config.operand_layout, reset_less=True)
        active = Signal(self.config.operand_layout, reset_less=True)
        passed_word = Signal(weight_stationary_word(self.config), reset_less=True)
        word = self.word.payload
        m.d.sync += passed_word.eq(word)
        m.d.comb += self.next_word.payload.eq(passed_word)
        with m.If(word.load):
            m.d.sync += shadow.eq(self.weight)
        with m.If(word.swap):
            m.d.sync += active.eq(shadow)

        multiply_add: Any = MultiplyAddSignature(self.config).create()
        m.submodules.multiply_add = arithmetic = MultiplyAdd(self.config)
        connect(m, multiply_add, arithmetic)
        m.d.comb += [
            multiply_add.a.eq(word.a),
            multiply_add.b.eq(active),
            multiply_add.c.eq(self.c),
            self.o.eq(multiply_add.o),
        ]
        return m


def output_stationary_word(config: MultiplyAddConfig) -> data.StructLayout:
    """Layout of a word that moves along a row: an unpacked element of A and two flags.

    `first` begins a sum with this product. `unload` takes the sum completed in this cycle, which
    ends with the product of ``config.latency`` cycles before.
    """
    return data.StructLayout({"a": config.operand_layout, "first": 1, "unload": 1})


def output_slots(config: MultiplyAddConfig) -> int:
    """Return the cycles between the sums of neighbouring elements as they shift out."""
    return max(2, config.latency)


class OutputStationaryProcessingElement(SharedBlock):
    """Output-stationary element: multiplies passing operands into a stationary sum.

    ``sum = a * b + sum``. Sums circulate through the multiply-add, so `config.latency` of them
    are interleaved: a product is added to the result of `config.latency` cycles before. Finished
    sums shift upwards, ``output_slots(config) - 1`` cycles per element. An unloaded sum never
    collides with another element's under two conditions: the flags move right and down by one
    element per cycle, and two `unload` of a column's top element at a distance divisible by
    ``output_slots(config)`` are at least that many cycles times the rows apart.

    Parameters
    ----------
    config : MultiplyAddConfig
        Formats and latency of the multiply-add.

    Members
    -------
    word : In(NeighbourSignature(output_stationary_word(config)))
        From the left neighbour.
    next_word : Out(NeighbourSignature(output_stationary_word(config)))
        To the right neighbour, one cycle later.
    b : In(NeighbourSignature(config.operand_layout))
        Unpacked element of B from above.
    next_b : Out(NeighbourSignature(config.operand_layout))
        To the element below, one cycle later.
    below : In(NeighbourSignature(config.accumulator_format.width))
        Finished sums of the elements below.
    o : Out(NeighbourSignature(config.accumulator_format.width))
        The finished sums of this element and of those below, upwards.

    """

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        word = NeighbourSignature(output_stationary_word(config))
        b = NeighbourSignature(config.operand_layout)
        sums = NeighbourSignature(config.accumulator_format.width)
        super().__init__({
            "word": In(word),
            "next_word": Out(word),
            "b": In(b),
            "next_b": Out(b),
            "below": In(sums),
            "o": Out(sums),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        width = config.accumulator_format.width
        passed_word = Signal(output_stationary_word(config), reset_less=True)
        passed_b = Signal(config.operand_layout, reset_less=True)
        word, b, below = self.word.payload, self.b.payload, self.below.payload
        m.d.sync += [passed_word.eq(word), passed_b.eq(b)]
        m.d.comb += [self.next_word.payload.eq(passed_word), self.next_b.payload.eq(passed_b)]

        multiply_add: Any = MultiplyAddSignature(config).create()
        m.submodules.multiply_add = arithmetic = MultiplyAdd(config)
        connect(m, multiply_add, arithmetic)
        m.d.comb += [
            multiply_add.a.eq(word.a),
            multiply_add.b.eq(b),
            multiply_add.c.eq(Mux(word.first, 0, multiply_add.o)),
        ]
        leaving = Signal((output_slots(config) - 1) * width, reset_less=True)
        m.d.sync += leaving.eq(Cat(Mux(word.unload, multiply_add.o, below), leaving))
        m.d.comb += self.o.payload.eq(leaving[-width:])
        return m
