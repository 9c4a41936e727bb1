"""Adder lane of the accumulator of a systolic array."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...arith.float.add import Add, AddConfig
from ...config.formats import FloatFormat, IntFormat
from ...emit.shared_block import SharedBlock

__all__ = ["AccumulatorLane", "LaneConfig"]


@dataclass(frozen=True, kw_only=True)
class LaneConfig:
    """Format and latency of one accumulator lane."""

    form: FloatFormat | IntFormat
    latency: int

    @property
    def identity(self) -> int:
        """Neutral element of the addition: -0, as +0 would change the sign of -0."""
        return 1 << (self.form.width - 1) if isinstance(self.form, FloatFormat) else 0


class AccumulatorLane(SharedBlock):
    """Adder lane of the accumulator: ``o = sum + addend``, `config.latency` cycles later.

    One sum per cycle, no back-pressure.

    Parameters
    ----------
    config : LaneConfig

    Members
    -------
    sum : In(config.form.width)
    addend : In(config.form.width)
    o : Out(config.form.width)

    """

    def __init__(self, config: LaneConfig):
        self.config = config
        width = config.form.width
        super().__init__({
            "sum": In(width),
            "addend": In(width),
            "o": Out(width),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        if isinstance(config.form, FloatFormat):
            m.submodules.add = add = Add(AddConfig(form=config.form, latency=config.latency))
            m.d.comb += [add.a.eq(self.sum), add.b.eq(self.addend), self.o.eq(add.o)]
            return m
        total = (self.sum + self.addend)[: config.form.width]
        for cycle in range(config.latency):
            stage = Signal(config.form.width, reset_less=True, name=f"total_{cycle}")
            m.d.sync += stage.eq(total)
            total = stage
        m.d.comb += self.o.eq(total)
        return m
