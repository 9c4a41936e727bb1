"""Tests against dot products measured on GPUs, on golden models and RTL.

They need the folder that `SPICA_SILICON` names; see `spica.sim.golden.arith.dot_product.silicon`.
"""

import re
from dataclasses import replace

import pytest

from bench.units.bench import UnitBench
from bench.units.dot_product import dot_unit
from bench.units.operands.dot_product import dot_operands
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.sim.golden.arith.dot_product.dot_product import dot_product
from spica.sim.golden.arith.dot_product.silicon import VARIABLE, measured_folder, measured_sets
from support.vectors import require_equal

FOLDER = measured_folder()
SETS = {one.name: one for one in measured_sets(FOLDER)} if FOLDER else {}
pytestmark = pytest.mark.skipif(not SETS, reason=f"{VARIABLE} names no folder of measured data")


def arithmetic(config: DotProductConfig) -> DotProductConfig:
    """Return the config of the first set whose unit computes the same: names differ, bits do not.

    Ada's FP16 is Ampere's, for example.
    """

    def key(one: DotProductConfig):
        formats = (one.a, one.b, one.addend, one.result)
        return one.terms, formats, one.alignment_floor, one.fused

    return next(one.config for one in SETS.values() if key(one.config) == key(config))


def unit_name(config: DotProductConfig) -> str:
    """Return the name of a config's unit."""
    words = (config.numerics, config.a, config.result, config.terms)
    return re.sub(r"[\W_]+", "_", "_".join(map(str, words)))


@pytest.fixture(scope="module")
def bench():
    """Return one executable with a unit for every arithmetic of the sets."""
    configs = dict.fromkeys(arithmetic(one.config) for one in SETS.values())
    units = [
        dot_unit(unit_name(config), config, operands=dot_operands, oracle="measured")
        for config in configs
    ]
    with UnitBench(units) as bench:
        yield bench


def test_sets_are_complete():
    assert len(SETS) == 48
    assert all(len(one.results) == 2500 for one in SETS.values())
    assert {one.gpu for one in SETS.values()} == {
        *("V100", "A100", "A2", "Ada", "L40S", "H100", "H200", "B200")
    }


@pytest.mark.parametrize("name", SETS)
def test_golden_model_gives_what_the_gpu_gave(name):
    one = SETS[name]
    require_equal(dot_product(one.config, **one.inputs), one.results, **one.inputs)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.full
def test_unit_gives_what_the_gpu_gave(bench, name):
    one = SETS[name]
    results = bench.run(unit_name(arithmetic(one.config)), one.inputs)["o"]
    require_equal(results, one.results, **one.inputs)


#: Other numerics that take the same formats.
OTHERS = {
    "nvidia(volta)": "nvidia(ampere)",
    "nvidia(ampere)": "nvidia(hopper)",
    "nvidia(ada)": "nvidia(hopper)",
    "nvidia(hopper)": "nvidia(ampere)",
    "nvidia(hopper_mma_sync)": "nvidia(blackwell)",
    "nvidia(blackwell)": "nvidia(ampere)",
    "nvidia(b200_mma_sync)": "nvidia(blackwell)",
}


@pytest.mark.parametrize("name", [name for name in SETS if not name.endswith(" fp16 to fp16")])
def test_the_sets_distinguish_numerics(name):
    """Results of other numerics differ; only those of FP16 factors to FP16 hide the difference."""
    one = SETS[name]
    other = replace(one.config, numerics=OTHERS[one.config.numerics])
    assert (dot_product(other, **one.inputs) != one.results).any()
