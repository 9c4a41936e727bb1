"""Benchmark of the special functions: accuracy and cost."""

from collections.abc import Iterator
from math import log2

from spica.cli.options import new_table
from spica.hw.arith.special.functions import C0_WIDTH, C1_BITS, C2_BITS, TABLES
from spica.hw.arith.special.interpolate import Coefficients
from spica.hw.arith.special.special_function import SpecialFunction, SpecialFunctionConfig
from spica.hw.base.progress import Progress
from spica.hw.isa.operations import SpecialOperation
from spica.sim.golden.arith.special.errors import SWEEPS, Errors, Sweep, measured
from spica.synth.budgets import DEPTH
from spica.synth.measure import measure as synthesise

from .target import Target

__all__ = ["measure", "tables"]

#: Quick runs test one number in this many.
QUICK_STRIDE = 127
#: Largest error in ulp: both neighbours of the exact value are accepted.
FAITHFUL = 1.0
#: Largest absolute error of sine and cosine of large angles, near their zeros.
ABSOLUTE = 2.0**-24
CIRCULAR = ("SIN", "COS")


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after the synthesis and after every sweep."""
    result: dict = {"unit": {}, "tables": {}, "sweeps": [], "targets": []}
    tell("synthesising special_function", 0, 0)
    result["unit"] = cost_of_unit()
    result["tables"] = {name: cost_of_table(name) for name in TABLES}
    result["targets"].append(
        Target(
            name="depth of special_function", value=result["unit"]["depth"], limit=DEPTH
        ).as_dict()
    )
    yield result
    for number, sweep in enumerate(SWEEPS):
        tell("sweeping special functions", number, len(SWEEPS))
        errors = measured(sweep, QUICK_STRIDE if quick else 1)
        result["sweeps"].append(as_dict(sweep, errors))
        result["targets"] += [target.as_dict() for target in targets(sweep, errors)]
        yield result


def cost_of_unit() -> dict:
    """Return the cost of the whole unit."""
    config = SpecialFunctionConfig()
    cost = synthesise(SpecialFunction(config), "special_function")
    return {
        "latency": config.latency,
        "cells": cost.cells,
        "nand2": cost.nand2,
        "flip_flops": cost.flip_flops,
        "depth": cost.depth,
    }


def cost_of_table(name: str) -> dict:
    """Return the cost of a table as logic."""
    segments = TABLES[name].segments
    return {
        "segments": segments,
        "bits": segments * (C0_WIDTH + 1 + C1_BITS + C2_BITS),
        "nand2": synthesise(Coefficients(name), f"{name}_coefficients").nand2,
    }


def as_dict(sweep: Sweep, errors: Errors) -> dict:
    """Return a sweep's errors for JSON."""
    return {
        "operation": sweep.operation.name,
        "operands": sweep.text,
        "values": errors.values,
        "ulp": errors.ulp,
        "absolute": errors.absolute,
        "correct_share": errors.correct_share,
        "worst": errors.worst,
    }


def targets(sweep: Sweep, errors: Errors) -> Iterator[Target]:
    """Yield the error limits of a sweep."""
    name = f"{sweep.operation.name.lower()}, {sweep.text}"
    yield Target(name=name, value=errors.ulp, limit=FAITHFUL, unit="ulp")
    if sweep.operation in (SpecialOperation.SIN, SpecialOperation.COS):
        yield Target(name=f"{name}, absolute", value=errors.absolute, limit=ABSOLUTE)


def tables(result: dict) -> Iterator:
    """Yield the costs, and the errors of every sweep."""
    costs = new_table("Tables", "table", numbers=["segments", "bits", "NAND2"])
    for name, cost in result["tables"].items():
        costs.add_row(name, f"{cost['segments']}", f"{cost['bits']:,}", f"{cost['nand2']:,.0f}")
    unit = result["unit"]
    costs.add_row("whole unit", "", "", f"{unit['nand2']:,.0f}")
    yield costs
    errors = new_table(
        "Errors", "function", "operands", numbers=["values", "ulp", "absolute", "correct"]
    )
    for sweep in result["sweeps"]:
        errors.add_row(
            sweep["operation"].lower(),
            sweep["operands"],
            f"{sweep['values']:,}",
            f"{sweep['ulp']:.4f}",
            f"2^{log2(sweep['absolute']):.2f}" if sweep["operation"] in CIRCULAR else "",
            f"{sweep['correct_share']:.1%}",
        )
    yield errors
