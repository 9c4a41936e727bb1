"""Floating-point lanes of a core: a pipeline for several threads with a common operation."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.hdl import ValueLike
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from ....arith.float.fma import Fma, FmaConfig
from ....config.checks import require_integer
from ....emit.shared_block import SharedBlock
from ....isa.operations import FloatOperation
from ....lib.pipeline import cut, delayed
from .float_conversion import InputCast, OutputCast
from .float_lane_values import named, per_lane
from .narrow_cast import NarrowCast
from .non_computational import FloatNonComputational
from .signatures import FloatOperandsSignature, FloatResultsSignature

__all__ = ["FloatLanes", "FloatLanesConfig"]

#: Flags that can be raised, in bit order; nothing here divides by zero.
RAISED = ("inexact", "underflow", "overflow", "invalid")


@dataclass(frozen=True, kw_only=True)
class FloatLanesConfig:
    """Configuration of floating-point lanes.

    Parameters
    ----------
    lanes : int
        Threads processed per cycle.
    latency : int
        Cycles from operands to results, 3 to 6; with 3, results are not registered.

    """

    lanes: int = 1
    latency: int = 4

    def __post_init__(self):
        require_integer("lanes", self.lanes, 1, 32)
        require_integer("latency", self.latency, 3, 6)

    @property
    def is_registered(self) -> bool:
        """True if the stage after the multiply-add has its own cycle."""
        return self.latency > 3

    @property
    def fma(self) -> FmaConfig:
        """Configuration of a lane's multiply-add."""
        return FmaConfig(latency=self.latency - self.is_registered)


class FloatLanes(SharedBlock):
    """Floating-point lanes: ``o[lane] = operation(a[lane], b[lane], c[lane])``.

    Executes all of `FloatOperation`. Latency `config.latency`, one operation of all lanes per
    cycle, no handshake. Each lane has a multiply-add, which conversions to FP32 and to integers
    use as well, and two `Narrow`; all other logic is shared by the lanes. Operands not used by an
    operation have no effect.

    ====  ====================================================================================
    0     cast to multiply-add operands; `Fma` begins; conversions to FP16 and BF16 and
          non-computational operations complete
    L-1   conversions to FP32 and to integers: cast of the `Fma` result; selection of the result
    ====  ====================================================================================

    Parameters
    ----------
    config : FloatLanesConfig

    Members
    -------
    operands : In(FloatOperandsSignature(config.lanes))
    result : Out(FloatResultsSignature(config.lanes))

    """

    def __init__(self, config: FloatLanesConfig):
        self.config = config
        super().__init__({
            "operands": In(FloatOperandsSignature(config.lanes)),
            "result": Out(FloatResultsSignature(config.lanes)),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.input_cast = input_cast = InputCast(config.lanes)
        m.submodules.output_cast = output_cast = OutputCast(config.lanes)
        m.submodules.non_computational = exact = FloatNonComputational(config.lanes)
        m.submodules.narrow_cast = narrow = NarrowCast(config.lanes)
        connect(m, flipped(self.operands), input_cast.operands, exact.operands, narrow.operands)
        for lane in range(config.lanes):
            m.submodules[f"fma_{lane}"] = fma = Fma(config.fma)
            connect(m, input_cast.fma[lane], fma.operands)
            connect(m, fma.result, output_cast.i[lane])
        *early, conversion = delayed(
            m,
            config.fma.latency,
            **self.early(m, exact, narrow.result),
            conversion=input_cast.conversion,
        )
        m.d.comb += output_cast.conversion.eq(conversion)
        self.select(m, output_cast.result, *early)
        return m

    def early(self, m: Module, exact: FloatNonComputational, narrow: Any) -> dict[str, Value]:
        """Return whether the operation does without the multiply-add, its results and flags."""
        operation = Value.cast(self.operands.operation)
        is_exact = operation.matches("01---", FloatOperation.CLASS, FloatOperation.MOVE)
        # TO_FP16, TO_BF16, PACK_FP16, PACK_BF16.
        is_narrow = named(m, "is_narrow", operation.matches("1011-", "1100-"))
        exact_flags = Cat(C(0, self.config.lanes * (len(RAISED) - 1)), exact.invalid)
        return {
            "is_early": is_exact | is_narrow,
            "early_value": Mux(is_narrow, Value.cast(narrow.o), Value.cast(exact.o)),
            "early_flags": Mux(is_narrow, self.raised(narrow.flags), exact_flags),
        }

    def raised(self, flags: data.View) -> Value:
        """Return the flags that can be raised, each a word of all lanes."""
        return Cat(
            per_lane(self.config.lanes, lambda k, name=name: flags[k][name]) for name in RAISED
        )

    def select(
        self,
        m: Module,
        rounded: Any,
        is_early: ValueLike,
        early_value: ValueLike,
        early_flags: ValueLike,
    ):
        """Select between results of the multiply-add and early ones; drive the outputs."""
        lanes = self.config.lanes
        value, flags = cut(
            m,
            "result",
            registered=self.config.is_registered,
            value=Mux(is_early, early_value, Value.cast(rounded.o)),
            flags=Mux(is_early, early_flags, self.raised(rounded.flags)),
        )
        m.d.comb += self.result.o.eq(value)
        for number, name in enumerate(RAISED):
            for lane in range(lanes):
                m.d.comb += self.result.flags[lane][name].eq(flags[number * lanes + lane])
