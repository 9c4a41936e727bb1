"""Narrowing cast: conversions of FP32 to FP16 and BF16, for several lanes."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ....arith.float.narrow import Narrow, NarrowConfig
from ....arith.float.rounding import FLAGS_LAYOUT, Rounding
from ....config.formats import FP16, FP32
from ....emit.component import Component
from ....isa.operations import FloatOperation

__all__ = ["NarrowCast"]


class NarrowCast(Component):
    """Narrowing cast: `a` rounded in the low half of ``o``; `b` rounded, or ones, in the high half.

    Combinational. Each lane has two `Narrow`.

    Parameters
    ----------
    lanes : int

    Members
    -------
    operation : In(FloatOperation)
        Results are undefined for other operations than ``TO_`` and ``PACK_``.
    rounding : In(Rounding)
    a, b : In(data.ArrayLayout(32, lanes))
    o : Out(data.ArrayLayout(32, lanes))
    flags : Out(data.ArrayLayout(FLAGS_LAYOUT, lanes))

    """

    def __init__(self, lanes: int):
        self.lanes = lanes
        values = data.ArrayLayout(FP32.width, lanes)
        super().__init__({
            "operation": In(FloatOperation),
            "rounding": In(Rounding),
            "a": In(values),
            "b": In(values),
            "o": Out(values),
            "flags": Out(data.ArrayLayout(FLAGS_LAYOUT, lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        operation = Value.cast(self.operation)
        is_pair = operation[3]
        for lane in range(self.lanes):
            halves = []
            for name, operand in (("low", self.a[lane]), ("high", self.b[lane])):
                m.submodules[f"{name}_{lane}"] = half = Narrow(NarrowConfig())
                m.d.comb += [
                    half.i.eq(operand),
                    half.is_bf16.eq(operation[0]),
                    half.rounding.eq(self.rounding),
                ]
                halves.append(half)
            low, high = halves
            high_flags = Value.cast(high.flags) & is_pair.replicate(FLAGS_LAYOUT.size)
            m.d.comb += [
                self.o[lane].eq(Cat(low.o, high.o | ~is_pair.replicate(FP16.width))),
                self.flags[lane].eq(Value.cast(low.flags) | high_flags),
            ]
        return m
