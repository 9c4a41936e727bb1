"""Tests of the fused multiply-add unit: golden model, QEMU and the definition."""

import numpy as np
import pytest
from amaranth import *

from bench.units.check import Comparison
from bench.units.fma import fma_by_qemu, fma_unit
from bench.units.fma_definition import fma_by_definition
from bench.units.operands import floats as operands
from bench.units.operands.fma import fma_operands
from spica.hw.arith.float.fma import Fma, FmaConfig, FmaOperation
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import BF16, FP8_E4M3, FP8_E5M2, FP16, FP32
from spica.sim.golden.arith.float import floats
from spica.sim.golden.arith.float.fma import fma
from support.vectors import evaluate

PORTS = ("a", "b", "c", "operation", "rounding")
INVALID, INEXACT = FLAGS["invalid"], FLAGS["inexact"]
ONE, INFINITY, NAN, SIGNALLING = 0x3F80_0000, 0x7F80_0000, 0x7FC0_0000, 0x7F80_0001
NEGATIVE = 1 << 31


def run(config, inputs):
    """Return the unit's outputs for one vector per cycle."""
    vectors = {name: inputs[name] for name in PORTS}
    return evaluate(Fma(config), vectors, ("o", "flags"), config.latency)


@pytest.mark.parametrize(
    ("form", "latency"),
    [*((FP32, latency) for latency in range(1, 7)), (FP16, 3), (BF16, 4), (FP8_E5M2, 2)],
    ids=lambda value: getattr(value, "name", value),
)
@pytest.mark.quick(3)
def test_unit_matches_golden_model(form, latency):
    unit = fma_unit(form)
    inputs = unit.operands(np.random.default_rng(latency), 250)
    got = run(FmaConfig(form=form, latency=latency), inputs)
    comparison = Comparison(unit, inputs, got, unit.golden(**inputs))
    assert not comparison.mismatches, str(comparison)


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("operation", FmaOperation)
@pytest.mark.quick(12)
def test_golden_model_agrees_with_qemu(operation, rounding):
    pytest.importorskip("unicorn")
    rng = np.random.default_rng(10 * operation + rounding)
    random = fma_operands(rng, 25_000)
    corners = operands.crossed(*[floats.corners(FP32)] * 3)
    a, b, c = (np.concatenate(pair) for pair in zip(random, corners, strict=True))
    inputs = {"a": a, "b": b, "c": c}
    inputs |= {"operation": np.full(len(a), operation), "rounding": np.full(len(a), rounding)}
    unit = fma_unit(FP32)
    sources = ("the golden model", "QEMU")
    comparison = Comparison(unit, inputs, unit.golden(**inputs), fma_by_qemu(**inputs), sources)
    assert not comparison.mismatches, str(comparison)


@pytest.mark.parametrize("form", [FP32, FP16, BF16, FP8_E5M2], ids=lambda form: form.name)
def test_golden_model_agrees_with_the_definition(form):
    unit = fma_unit(form)
    inputs = unit.operands(np.random.default_rng(1), 8000)
    expected = dict(zip(("o", "flags"), fma_by_definition(**inputs, form=form), strict=True))
    sources = ("the golden model", "the definition")
    comparison = Comparison(unit, inputs, unit.golden(**inputs), expected, sources)
    assert not comparison.mismatches, str(comparison)


def test_operands_reach_every_flag_and_class():
    rng = np.random.default_rng(0)
    stored, flags = fma(FmaOperation.FMADD, *fma_operands(rng, 20_000))
    magnitude = stored & FP32.magnitude_mask
    counts = np.bincount(flags, minlength=32)
    underflow, overflow = INEXACT | FLAGS["underflow"], INEXACT | FLAGS["overflow"]
    assert all(counts[[0, INEXACT, underflow, overflow, INVALID]] > 100)
    is_subnormal = (magnitude > 0) & (magnitude < 1 << FP32.fraction_width)
    for reached in (magnitude == 0, is_subnormal, magnitude == INFINITY, magnitude == NAN):
        assert reached.sum() > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latency": 0}, "latency must be between 1 and 6, not 0"),
        ({"latency": 7}, "latency must be between 1 and 6, not 7"),
        (
            {"form": FP8_E4M3},
            "form must have signs, infinities and subnormals, unlike fp8_e4m3",
        ),
    ],
)
def test_bad_config_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        FmaConfig(**options)
