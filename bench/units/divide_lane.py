"""Divide lane of a core: quotients, remainders and square roots of floats and integers."""

from functools import partial

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.arith.float.rounding import FLAGS_LAYOUT, Rounding
from spica.hw.core.units.divide.divide_lane import DivideLane, DivideLaneConfig
from spica.hw.isa.operations import DivideOperation
from spica.sim.golden.core.units.float_units import divide_operation

from .operands.division import divide_operands, integer_operands, square_root_operands
from .per_operation import per_operation
from .unit import Unit

__all__ = ["divide_by_qemu", "integer_by_definition", "units"]

FLOATS = (DivideOperation.FDIV, DivideOperation.FSQRT)
INTEGERS = tuple(operation for operation in DivideOperation if operation not in FLOATS)


class DivideLanePorts(wiring.Component):
    """A divide lane with its strobes, for operations that all take `cycles` cycles of digits.

    Parameters
    ----------
    config : DivideLaneConfig
    cycles : int
        Cycles of digits of the operations; one operation is accepted every ``cycles + 1`` cycles.

    Members
    -------
    valid : In(1)
    operation : In(DivideOperation)
    rounding : In(Rounding)
    a, b : In(32)
    o : Out(32)
        Valid ``cycles + 2`` cycles after `valid`, like `flags`.
    flags : Out(FLAGS_LAYOUT)

    """

    valid: Signal
    operation: Signal
    rounding: Signal
    a: Signal
    b: Signal
    o: Signal
    flags: Value

    def __init__(self, config: DivideLaneConfig, cycles: int):
        self.config = config
        self.cycles = cycles
        super().__init__({
            "valid": In(1),
            "operation": In(DivideOperation),
            "rounding": In(Rounding),
            "a": In(32),
            "b": In(32),
            "o": Out(32),
            "flags": Out(FLAGS_LAYOUT),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.lane = lane = DivideLane(self.config)
        steps = Signal(self.cycles + 1)
        m.d.sync += steps.eq(Cat(self.valid, steps))
        m.d.comb += [
            lane.a.eq(self.a),
            lane.b.eq(self.b),
            lane.control.operation.eq(self.operation),
            lane.control.rounding.eq(self.rounding),
            lane.control.begin.eq(self.valid),
            lane.control.iterate.eq(steps[:-1].any()),
            lane.control.finish.eq(steps[-1]),
            self.o.eq(lane.o.value),
            self.flags.eq(lane.o.flags),
        ]
        return m


def divide_by_qemu(operation: DivideOperation, a, b, rounding) -> tuple[np.ndarray, np.ndarray]:
    """Return QEMU's results and flags of an operation on floats."""
    from ..oracle.qemu import qemu

    operands = (a, b) if operation == DivideOperation.FDIV else (a,)
    return qemu(f"{operation.name.lower()}.s", *operands, rounding=rounding)


def integer_by_definition(operation: DivideOperation, a, b, _) -> tuple[np.ndarray, np.ndarray]:
    """Return integer results by the table of RISC-V M in Python's integers, and no flags."""
    is_signed = operation in (DivideOperation.DIV, DivideOperation.REM)
    is_quotient = operation in (DivideOperation.DIV, DivideOperation.DIVU)

    def result(dividend: int, divisor: int) -> int:
        if is_signed:
            dividend, divisor = (x - (x >> 31 << 32) for x in (dividend, divisor))
        if divisor == 0:
            return -1 if is_quotient else dividend
        quotient = abs(dividend) // abs(divisor)
        if (dividend < 0) != (divisor < 0):
            quotient = -quotient
        return quotient if is_quotient else dividend - quotient * divisor

    pairs = zip(np.asarray(a).tolist(), np.asarray(b).tolist(), strict=True)
    values = np.array([result(*pair) & 0xFFFF_FFFF for pair in pairs], np.uint32)
    return values, np.zeros(len(values), np.uint32)


def float_stimulus(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Return quotients and square roots of floats in random order."""
    operation = rng.choice(FLOATS, count)
    quotients, roots = divide_operands(rng, count), square_root_operands(rng, count)
    is_root = operation == DivideOperation.FSQRT
    chosen = {name: np.where(is_root, roots[name], quotients[name]) for name in roots}
    return {"operation": operation, **chosen, "b": quotients["b"]}


def integer_stimulus(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Return quotients and remainders of integers in random order."""
    a, b = integer_operands(rng, count)
    rounding = np.zeros(count, np.uint32)
    return {"operation": rng.choice(INTEGERS, count), "rounding": rounding, "a": a, "b": b}


def outputs(model, operation, rounding, a, b) -> dict[str, np.ndarray]:
    """Return the outputs by a model of single operations."""
    return per_operation(
        lambda one, *arrays: model(DivideOperation(one), *arrays), operation, a, b, rounding
    )


def units() -> list[Unit]:
    """Return the lane with floats, and with integers, which take more cycles."""
    config = DivideLaneConfig()
    kinds = {
        "divide_lane": (config.float_cycles, float_stimulus, divide_by_qemu, "QEMU"),
        "divide_lane_integer": (
            *(config.integer_cycles, integer_stimulus, integer_by_definition),
            "Python's integers",
        ),
    }
    return [
        Unit(
            name=name,
            group="Lanes of a core",
            component=partial(DivideLanePorts, config, cycles),
            latency=cycles + 2,
            interval=cycles + 1,
            operands=operands,
            golden=partial(outputs, divide_operation),
            oracle=oracle,
            reference=partial(outputs, reference),
        )
        for name, (cycles, operands, reference, oracle) in kinds.items()
    ]
