"""Narrowing cast: conversions of FP32 to FP16 and BF16, for several lanes."""

from typing import Any

from amaranth import *
from amaranth.lib.wiring import In, Out, connect

from ....arith.float.narrow import Narrow, NarrowConfig, NarrowControlSignature
from ....arith.float.rounding import FLAGS_LAYOUT
from ....config.formats import FP16
from ....emit.component import Component
from .signatures import FloatOperandsSignature, FloatResultsSignature

__all__ = ["NarrowCast"]


class NarrowCast(Component):
    """Narrowing cast: ``a`` rounded in the low half of ``o``; ``b`` or ones in the high half.

    Combinational. Each lane has two `Narrow`.

    Parameters
    ----------
    lanes : int

    Members
    -------
    operands : In(FloatOperandsSignature(lanes))
        Results are undefined for other operations than ``TO_`` and ``PACK_``.
    result : Out(FloatResultsSignature(lanes))

    """

    def __init__(self, lanes: int):
        self.lanes = lanes
        super().__init__({
            "operands": In(FloatOperandsSignature(lanes)),
            "result": Out(FloatResultsSignature(lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        operands, result = self.operands, self.result
        operation = Value.cast(operands.operation)
        is_pair = operation[3]
        control: Any = NarrowControlSignature().create(path=("control",))
        m.d.comb += [control.is_bf16.eq(operation[0]), control.rounding.eq(operands.rounding)]
        for lane in range(self.lanes):
            halves = []
            for name, operand in (("low", operands.a[lane]), ("high", operands.b[lane])):
                m.submodules[f"{name}_{lane}"] = half = Narrow(NarrowConfig())
                connect(m, control, half.control)
                m.d.comb += half.i.eq(operand)
                halves.append(half)
            low, high = halves
            high_flags = Value.cast(high.flags) & is_pair.replicate(FLAGS_LAYOUT.size)
            m.d.comb += [
                result.o[lane].eq(Cat(low.o, high.o | ~is_pair.replicate(FP16.width))),
                result.flags[lane].eq(Value.cast(low.flags) | high_flags),
            ]
        return m
