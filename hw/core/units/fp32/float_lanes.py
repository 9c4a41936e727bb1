"""Floating-point lanes of a core: a pipeline for several threads with a common operation."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ....arith.float.fma import Fma, FmaConfig
from ....arith.float.rounding import FLAGS_LAYOUT, Rounding
from ....config.checks import require_integer
from ....config.formats import FP32
from ....emit.shared_block import SharedBlock
from ....isa.operations import FloatOperation
from ....lib.pipeline import cut, delayed
from .float_conversion import InputCast, OutputCast
from .float_lane_values import each, named
from .narrow_cast import NarrowCast
from .non_computational import FloatNonComputational

__all__ = ["FloatLanes", "FloatLanesConfig"]

WIDTH = FP32.width
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
    operation : In(FloatOperation)
    rounding : In(Rounding)
    a, b, c : In(data.ArrayLayout(32, config.lanes))
    o : Out(data.ArrayLayout(32, config.lanes))
    flags : Out(data.ArrayLayout(FLAGS_LAYOUT, config.lanes))

    """

    def __init__(self, config: FloatLanesConfig):
        self.config = config
        values = data.ArrayLayout(WIDTH, config.lanes)
        super().__init__({
            "operation": In(FloatOperation),
            "rounding": In(Rounding),
            **{name: In(values) for name in ("a", "b", "c")},
            "o": Out(values),
            "flags": Out(data.ArrayLayout(FLAGS_LAYOUT, config.lanes)),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.input_cast = input_cast = InputCast(config.lanes)
        m.submodules.output_cast = output_cast = OutputCast(config.lanes)
        m.d.comb += [
            input_cast.operation.eq(self.operation),
            *(getattr(input_cast, name).eq(getattr(self, name)) for name in ("a", "b", "c")),
        ]
        raised = self.multiply_add(m, input_cast, output_cast)
        *early, has_fraction, is_from, is_to, is_signed = delayed(
            m,
            config.fma.latency,
            **self.early(m),
            has_fraction=input_cast.has_fraction,
            **self.kinds(),
        )
        m.d.comb += [
            output_cast.has_fraction.eq(has_fraction),
            output_cast.is_from.eq(is_from),
            output_cast.is_to.eq(is_to),
            output_cast.is_signed.eq(is_signed),
            output_cast.inexact_i.eq(raised["inexact"]),
            output_cast.invalid_i.eq(raised["invalid"]),
        ]
        raised |= {"inexact": output_cast.inexact, "invalid": output_cast.invalid}
        self.select(m, raised, Value.cast(output_cast.o), *early)
        return m

    def early(self, m) -> dict[str, Value]:
        """Return whether the operation does without the multiply-add, its results and flags."""
        lanes = self.config.lanes
        m.submodules.non_computational = exact = FloatNonComputational(lanes)
        m.submodules.narrow_cast = narrow = NarrowCast(lanes)
        for unit in (exact, narrow):
            m.d.comb += [unit.operation.eq(self.operation), unit.a.eq(self.a), unit.b.eq(self.b)]
        m.d.comb += narrow.rounding.eq(self.rounding)

        operation = Value.cast(self.operation)
        is_exact = operation.matches("01---", FloatOperation.CLASS, FloatOperation.MOVE)
        # TO_FP16, TO_BF16, PACK_FP16, PACK_BF16.
        is_narrow = named(m, "is_narrow", operation.matches("1011-", "1100-"))
        exact_flags = Cat(C(0, lanes * (len(RAISED) - 1)), exact.invalid)
        narrow_flags = Cat(
            each(lanes, lambda k, name=name: narrow.flags[k][name]) for name in RAISED
        )
        return {
            "is_early": is_exact | is_narrow,
            "early_value": Mux(is_narrow, Value.cast(narrow.o), Value.cast(exact.o)),
            "early_flags": Mux(is_narrow, narrow_flags, exact_flags),
        }

    def kinds(self) -> dict[str, Value]:
        """Return the operation's properties for the cast stage after the multiply-add."""
        operation = Value.cast(self.operation)
        is_from = operation.matches(FloatOperation.FROM_SIGNED, FloatOperation.FROM_UNSIGNED)
        is_to_signed = self.operation == FloatOperation.TO_SIGNED
        is_to = is_to_signed | (self.operation == FloatOperation.TO_UNSIGNED)
        return {"is_from": is_from, "is_to": is_to, "is_signed": is_to_signed}

    def multiply_add(self, m, input_cast, output_cast) -> dict[str, Value]:
        """Instantiate a multiply-add in each lane; return each flag of all lanes."""
        units = []
        for lane in range(self.config.lanes):
            m.submodules[f"fma_{lane}"] = unit = Fma(self.config.fma)
            m.d.comb += [
                unit.operation.eq(input_cast.fma_operation),
                unit.rounding.eq(self.rounding),
                unit.a.eq(input_cast.fma_a[lane]),
                unit.b.eq(input_cast.fma_b[lane]),
                unit.c.eq(input_cast.fma_c[lane]),
                output_cast.i[lane].eq(unit.o),
            ]
            units.append(unit)
        return {
            name: each(len(units), lambda k, name=name: units[k].flags[name]) for name in RAISED
        }

    def select(self, m, raised, value, is_early, early_value, early_flags):
        """Select between results of the multiply-add and early ones; drive the outputs."""
        lanes = self.config.lanes
        flags = Cat(raised[name] for name in RAISED)
        value, flags = cut(
            m,
            "result",
            registered=self.config.is_registered,
            value=Mux(is_early, early_value, value),
            flags=Mux(is_early, early_flags, flags),
        )
        m.d.comb += self.o.eq(value)
        for number, name in enumerate(RAISED):
            for lane in range(lanes):
                m.d.comb += self.flags[lane][name].eq(flags[number * lanes + lane])
