"""Adders of the accumulator of a systolic array, one for each column."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...arith.float.add import Add, AddConfig
from ...config import SystolicConfig
from ...config.formats import FloatFormat
from ...emit.shared_block import SharedBlock

__all__ = ["IntegerAdd", "IntegerAddConfig", "accumulator_adder", "neutral_element"]


@dataclass(frozen=True, kw_only=True)
class IntegerAddConfig:
    """An adder of integers.

    Parameters
    ----------
    width : int
        Bits of the operands and of the result.
    latency : int
        Cycles from the operands to the result.

    """

    width: int
    latency: int


class IntegerAdd(SharedBlock):
    """Integer adder: ``o = a + b`` modulo ``2**width``, `config.latency` cycles later.

    One sum per cycle, no back-pressure.

    Parameters
    ----------
    config : IntegerAddConfig

    Members
    -------
    a, b : In(config.width)
    o : Out(config.width)
    """

    def __init__(self, config: IntegerAddConfig):
        self.config = config
        super().__init__({"a": In(config.width), "b": In(config.width), "o": Out(config.width)})

    def build(self, platform):
        m = Module()
        width = self.config.width
        total = (self.a + self.b)[:width]
        for cycle in range(self.config.latency):
            stage = Signal(width, reset_less=True, name=f"total_{cycle}")
            m.d.sync += stage.eq(total)
            total = stage
        m.d.comb += self.o.eq(total)
        return m


def accumulator_adder(config: SystolicConfig) -> Add | IntegerAdd:
    """Return the adder of a column, with operands `a` and `b` and the sum `o`."""
    form, latency = config.accumulator_format, config.add_latency
    if isinstance(form, FloatFormat):
        return Add(AddConfig(form=form, latency=latency))
    return IntegerAdd(IntegerAddConfig(width=form.width, latency=latency))


def neutral_element(config: SystolicConfig) -> int:
    """Return the neutral element of the addition: -0, as +0 would change the sign of -0."""
    form = config.accumulator_format
    return 1 << (form.width - 1) if isinstance(form, FloatFormat) else 0
