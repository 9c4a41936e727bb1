"""Fused multiply-add unit of a core, and the units that only add or multiply."""

from collections.abc import Callable

import numpy as np

from spica.hw.arith.float.add import Add, AddConfig
from spica.hw.arith.float.fma import Fma, FmaConfig, FmaOperation
from spica.hw.arith.float.multiply import Multiply, MultiplyConfig
from spica.hw.arith.float.rounding import Rounding
from spica.hw.config.formats import FP16, FP32, FloatFormat
from spica.sim.golden.arith.float import floats
from spica.sim.golden.arith.float.fma import fma

from .fma_definition import fma_by_definition
from .operands import floats as operands
from .operands.fma import fma_operands
from .per_operation import per_operation
from .unit import Unit

__all__ = ["fma_by_qemu", "units"]

INSTRUCTIONS = {operation: f"{operation.name.lower()}.s" for operation in FmaOperation}


def units() -> list[Unit]:
    """Return the units."""
    return [fma_unit(FP32), fma_unit(FP16), add_unit(), multiply_unit()]


def fma_unit(form: FloatFormat) -> Unit:
    """Return the multiply-add of one format, with all operations and rounding modes."""
    config = FmaConfig(form=form)

    def stimulus(rng: np.random.Generator, count: int):
        a, b, c = fma_operands(rng, count, form)
        operation = rng.integers(0, len(FmaOperation), count)
        rounding = rng.integers(0, len(Rounding), count)
        return {"a": a, "b": b, "c": c, "operation": operation, "rounding": rounding}

    def golden(a, b, c, operation, rounding) -> dict[str, np.ndarray]:
        stored, flags = fma(operation, a, b, c, rounding, form)
        return {"o": stored, "flags": flags}

    def by_definition(a, b, c, operation, rounding) -> dict[str, np.ndarray]:
        stored, flags = fma_by_definition(a, b, c, operation, rounding, form)
        return {"o": stored, "flags": flags}

    return Unit(
        name=f"fma_{form.name}",
        group=form.name.upper(),
        component=lambda: Fma(config),
        latency=config.latency,
        operands=stimulus,
        golden=golden,
        oracle="QEMU" if form == FP32 else "definition in integers",
        reference=fma_by_qemu if form == FP32 else by_definition,
    )


def fma_by_qemu(a, b, c, operation, rounding) -> dict[str, np.ndarray]:
    """Return QEMU's results, each operation for its own vectors."""
    from ..oracle.qemu import qemu

    def model(one, a, b, c, rounding):
        given = (a, b, c) if one < FmaOperation.FADD else (a, b)
        return qemu(INSTRUCTIONS[FmaOperation(one)], *given, rounding=rounding)

    return per_operation(model, operation, a, b, c, rounding)


def add_unit() -> Unit:
    """Return the FP32 adder."""
    config = AddConfig()
    return two_operand_unit(
        "add", lambda: Add(config), config.latency, operands.add_operands, floats.add
    )


def multiply_unit() -> Unit:
    """Return the FP32 multiplier."""
    config = MultiplyConfig()
    return two_operand_unit(
        "multiply",
        lambda: Multiply(config),
        config.latency,
        operands.multiply_operands,
        floats.multiply,
    )


def two_operand_unit(
    name: str, component: Callable, latency: int, stimulus: Callable, golden: Callable
) -> Unit:
    """Return an FP32 unit that rounds to nearest even and has no flags."""

    def reference(a, b):
        from ..oracle.qemu import qemu

        return {"o": qemu({"add": "fadd.s", "multiply": "fmul.s"}[name], a, b)[0]}

    return Unit(
        name=name,
        group="FP32",
        component=component,
        latency=latency,
        operands=lambda rng, count: dict(zip("ab", stimulus(rng, count), strict=True)),
        golden=lambda a, b: {"o": golden(a, b)},
        oracle="QEMU",
        reference=reference,
    )
