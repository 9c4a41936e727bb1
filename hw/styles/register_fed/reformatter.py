"""Operand reformatter of the tensor unit: rows of A and columns of B for each dot product."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.formats import FORMATS
from ...emit.component import Component
from .config import RegisterFedConfig
from .fragment_map import column_of, row_of, words_of
from .layouts import step_layout
from .signatures import DotOperandsSignature, FragmentsSignature

__all__ = ["Reformatter"]


class Reformatter(Component):
    """Operand reformatter: selects the row of A and the column of B of each dot product.

    Dot product u of a step computes the accumulator of one lane (`fragment_map`): a fixed
    permutation of lanes, and multiplexers of two to eight lanes. Latency 1 cycle.

    Parameters
    ----------
    config : RegisterFedConfig

    Members
    -------
    step : In(step_layout(config))
    fragments : In(FragmentsSignature(config))
    operands : Out(DotOperandsSignature(config))
        One cycle later.
    """

    def __init__(self, config: RegisterFedConfig):
        self.config = config
        super().__init__({
            "step": In(step_layout(config)),
            "fragments": In(FragmentsSignature(config)),
            "operands": Out(DotOperandsSignature(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config, units = self.config, self.config.dot_products
        register, part = self.step.register, Value.cast(self.step.part)
        a, b = self.fragments.a, self.fragments.b
        sides = (("rows", a, config.rows, row_of), ("columns", b, 8, column_of))
        for name, registers, count, place_of in sides:
            vectors = [
                self.numbers(words_of(config, registers, vector, self.step.set))
                for vector in range(count)
            ]
            for unit in range(units):
                by_part = [
                    selected(vectors, place_of(config, units * number + unit, register))
                    for number in range(config.parts)
                ]
                operand = Signal(len(vectors[0]), name=f"{name}_{unit}", reset_less=True)
                m.d.sync += operand.eq(selected(by_part, list(part)))
                m.d.comb += getattr(self.operands, name)[unit].eq(operand)
        return m

    def numbers(self, words: list) -> Value:
        """Return the numbers in words of a row or column; TF32 is the upper bits of a word."""
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
    (choice,) = choices
    return choice
