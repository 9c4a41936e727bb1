"""Tests of every arithmetic unit on Verilator, its golden model and an oracle.

One executable holds all units; see `bench.units`.
"""

import numpy as np
import pytest

from bench.units.bench import UnitBench
from bench.units.catalog import every_unit
from bench.units.check import Comparison
from bench.units.fp32_lane import HALVES, INSTRUCTIONS
from spica.hw.arith.float.fma import FmaOperation
from spica.hw.isa.operations import SpecialOperation

UNITS = {unit.name: unit for unit in every_unit()}
#: Vectors per unit in the fast tests; a row of array elements counts as many.
VECTORS = {"numbers": 100_000, "arrays": 20_000}
AT_LENGTH, PART, SEEDS = 1_000_000, 100_000, 2
#: Units with several operations: each operation gets an equal share of the vectors.
OPERATIONS = {
    "fma_fp32": len(FmaOperation),
    "fp32_lane": len(INSTRUCTIONS) + len(HALVES),
    "special_function": len(SpecialOperation),
}


@pytest.fixture(scope="module")
def bench():
    with UnitBench.of_every_unit() as bench:
        yield bench


def vectors(unit, rng):
    """Return the operands of the fast tests."""
    has_arrays = any(
        array.ndim > 1 for array in unit.operands(np.random.default_rng(0), 1).values()
    )
    count = VECTORS["arrays" if has_arrays else "numbers"]
    return unit.operands(rng, max(count, 25_000 * OPERATIONS.get(unit.name, 1)))


def check(unit, inputs, got, expected):
    """Fail with the first wrong vectors; return the number of compared outputs."""
    comparison = Comparison(unit, inputs, got, expected)
    assert not comparison.mismatches, str(comparison)
    return comparison.compared


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.full
def test_unit_gives_what_its_golden_model_gives(bench, name):
    unit = UNITS[name]
    inputs = vectors(unit, np.random.default_rng(1))
    check(unit, inputs, bench.run(name, inputs), unit.golden(**inputs))


@pytest.mark.parametrize("name", [name for name, unit in UNITS.items() if unit.reference])
@pytest.mark.quick(4)
def test_golden_model_gives_what_the_oracle_gives(name):
    unit = UNITS[name]
    inputs = vectors(unit, np.random.default_rng(2))
    expected = unit.reference(**inputs)
    compared = check(unit, inputs, unit.golden(**inputs), expected)
    # An oracle masks results it does not define, but must cover nearly all.
    assert compared > 0.8 * sum(len(values) for values in expected.values())


@pytest.mark.parametrize("name", [name for name, unit in UNITS.items() if unit.exhaustive])
@pytest.mark.full
def test_unit_gives_what_its_golden_model_gives_for_every_input(bench, name):
    unit = UNITS[name]
    inputs = unit.exhaustive()
    expected = unit.golden(**inputs)
    check(unit, inputs, bench.run(name, inputs), expected)
    if unit.reference:
        check(unit, inputs, expected, unit.reference(**inputs))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", UNITS)
def test_unit_at_length(bench, name, seed):
    unit, rng = UNITS[name], np.random.default_rng(100 + seed)
    for _ in range(0, AT_LENGTH * OPERATIONS.get(name, 1) // SEEDS, PART):
        inputs = unit.operands(rng, PART)
        expected = unit.golden(**inputs)
        check(unit, inputs, bench.run(name, inputs), expected)
        if unit.reference:
            check(unit, inputs, expected, unit.reference(**inputs))
