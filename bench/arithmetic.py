"""Benchmark of every arithmetic unit: cost, vectors checked, and checking speed."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from spica.base.compiler import find_compiler
from spica.base.progress import Progress
from spica.cli.options import new_table
from spica.sim.engine.verilator_model import find_verilator
from spica.synth.budgets import DEPTH
from spica.synth.measure import measure as synthesise
from spica.synth.yosys import yosys_version

from .target import Target
from .units.bench import UnitBench
from .units.catalog import every_unit
from .units.check import Comparison
from .units.unit import Unit

__all__ = ["measure", "tables"]


#: Vectors per unit; a row of array elements counts as many.
VECTORS = {"numbers": 1_000_000, "arrays": 200_000}
QUICK_SHARE = 50
CHUNK = 100_000
SEED = 2026
#: Least speed of units with one result per cycle and no arrays, packing included; the slowest
#: counts.
VECTORS_PER_SECOND = 1_000_000


def costs(units: list[Unit], progress: Progress) -> dict[str, dict]:
    """Return the cost of each unit; two are synthesised at a time."""

    def cost(unit: Unit) -> dict:
        measured = synthesise(unit.component(), unit.name, workers=1)
        keys = ("cells", "nand2", "flip_flops", "depth")
        return {key: getattr(measured, key) for key in keys}

    results = {}
    with ThreadPoolExecutor(2) as pool:
        for unit, figures in zip(units, pool.map(cost, units), strict=True):
            results[unit.name] = figures
            progress("synthesising", len(results), len(units))
    return results


def is_wide(unit: Unit) -> bool:
    """Return whether the unit takes arrays."""
    operands = unit.operands(np.random.default_rng(0), 1)
    return any(array.ndim > 1 for array in operands.values())


def check(bench: UnitBench, unit: Unit, count: int) -> dict:
    """Return the number of vectors checked, the number of mismatches, and the speed."""
    rng = np.random.default_rng(SEED)
    checked = wrong = by_oracle = 0
    seconds = {"run": 0.0, "engine": 0.0, "golden": 0.0}
    first_wrong = ""
    while checked < count:
        inputs = unit.operands(rng, min(CHUNK, count - checked))
        started = time.process_time()
        got = bench.run(unit.name, inputs)
        seconds["run"] += time.process_time() - started
        words = bench.pack(unit.name, inputs)
        started = time.process_time()
        bench.drive(unit.name, words)
        seconds["engine"] += time.process_time() - started
        started = time.process_time()
        expected = unit.golden(**inputs)
        seconds["golden"] += time.process_time() - started
        comparisons = [Comparison(unit, inputs, got, expected)]
        if unit.reference is not None:
            oracle, sources = unit.reference(**inputs), ("the golden model", "the oracle")
            comparisons.append(Comparison(unit, inputs, expected, oracle, sources))
            by_oracle += comparisons[-1].compared
        checked += len(comparisons[0].wrong)
        wrong += sum(comparison.mismatches for comparison in comparisons)
        first_wrong = first_wrong or "".join(map(str, comparisons))
    return {
        "vectors": checked,
        "mismatches": wrong,
        "first_mismatches": first_wrong,
        "outputs_by_oracle": by_oracle,
        "vectors_per_second": checked / seconds["run"],
        "vectors_per_engine_second": checked / seconds["engine"],
        "vectors_per_golden_second": checked / seconds["golden"],
    }


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after every unit; times are processor times."""
    units = every_unit()
    started = time.perf_counter()
    with UnitBench.of_every_unit(progress) as bench:
        result: dict = {
            "compiler": find_compiler().version,
            "verilator": find_verilator().version,
            "yosys": yosys_version(),
            "build_seconds": time.perf_counter() - started,
            "units": {},
        }
        unit_costs = costs(units, progress)
        for number, unit in enumerate(units):
            progress("checking", number, len(units))
            wide = is_wide(unit)
            count = VECTORS["arrays" if wide else "numbers"] // (QUICK_SHARE if quick else 1)
            result["units"][unit.name] = {
                "group": unit.group,
                "latency": unit.latency,
                "interval": unit.interval,
                "arrays": wide,
                "oracle": unit.oracle,
                **unit_costs[unit.name],
                **check(bench, unit, count),
            }
            yield result | {"targets": targets(result)}


def targets(result: dict) -> list[dict]:
    """Return the targets; of depths, the greatest, or all that exceed the budget."""
    units = result["units"]
    deep = [name for name, unit in units.items() if unit["depth"] > DEPTH]
    deep = deep or [max(units, key=lambda name: units[name]["depth"])]
    cheap = [u for u in units.values() if not u["arrays"] and u["interval"] == 1]
    accounts = [
        Target(
            name="vectors on which unit, golden model and oracle disagree",
            value=sum(unit["mismatches"] for unit in units.values()),
            limit=0,
        ),
        *(
            Target(name=f"depth of {name}", value=units[name]["depth"], limit=DEPTH)
            for name in deep
        ),
    ]
    if cheap:
        slowest = min(unit["vectors_per_second"] for unit in cheap)
        accounts.append(
            Target(
                name="vectors per processor second, slowest pipeline without arrays",
                value=slowest,
                limit=VECTORS_PER_SECOND,
                at_least=True,
            )
        )
    return [target.as_dict() for target in accounts]


def tables(result: dict) -> Iterator:
    """Yield one table per group of units, and the first mismatches."""
    numbers = ["latency", "interval", "cells", "NAND2 eq", "flip-flops", "depth", "vectors"]
    numbers += ["wrong", "M vectors/s", "M/s engine"]
    groups = dict.fromkeys(unit["group"] for unit in result["units"].values())
    for group in groups:
        table = new_table(group, "unit", "oracle", numbers=numbers)
        for name, unit in result["units"].items():
            if unit["group"] != group:
                continue
            mark = " !" if unit["depth"] > DEPTH else ""
            counts = ("cells", "nand2", "flip_flops")
            table.add_row(
                name,
                unit["oracle"],
                str(unit["latency"]),
                str(unit["interval"]),
                *(f"{unit[key]:,.0f}" for key in counts),
                f"{unit['depth']}{mark}",
                f"{unit['vectors']:,}",
                f"{unit['mismatches']:,}",
                f"{unit['vectors_per_second'] / 1e6:.2f}",
                f"{unit['vectors_per_engine_second'] / 1e6:.2f}",
            )
        yield table
    checked = sum(unit["vectors"] for unit in result["units"].values())
    yield (
        f"{len(result['units'])} units, {checked:,} vectors. Latency and interval are in cycles; "
        f"depth is in gates between registers, ! marks more than {DEPTH}. A vector is wrong if "
        "unit and golden model, or golden model and oracle, differ. Speed is per processor second: "
        "with packing, and of the simulation only."
    )
    yield from (u["first_mismatches"] for u in result["units"].values() if u["mismatches"])
