"""Tests of the conversion of FP32 to FP16 or BF16: golden model, extremes, cost."""

import numpy as np
import pytest
from amaranth import *

from bench.units.operands.narrow import narrowing_operands
from spica.hw.arith.float.narrow import Narrow, NarrowConfig
from spica.hw.arith.float.rounding import Rounding
from spica.hw.config.formats import BF16, FP16, FP32
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.arith.float.narrow import narrow, widen
from spica.synth.measure import measure
from support.vectors import evaluate, require_equal

CODES = np.arange(1 << 16, dtype=np.uint32)


def expected(i, is_bf16, rounding):
    """Return results and flags of the golden model."""
    pairs = (narrow(i, form, rounding) for form in (FP16, BF16))
    return (np.where(is_bf16, bf16, fp16) for fp16, bf16 in zip(*pairs, strict=True))


def check(i, is_bf16, rounding):
    """Compare the block with the golden model."""
    arrays = np.broadcast_arrays(i, is_bf16, rounding)
    inputs = dict(zip(("i", "is_bf16", "rounding"), arrays, strict=True))
    results = evaluate(Narrow(NarrowConfig()), inputs, ("o", "flags"))
    for name, values in zip(("o", "flags"), expected(*inputs.values()), strict=True):
        require_equal(results[name], values, **inputs)


def test_random_operands():
    rng, count = np.random.default_rng(1), 4000
    modes = rng.integers(0, len(Rounding), count)
    check(narrowing_operands(rng, count), rng.integers(0, 2, count), modes)


@pytest.mark.parametrize("mode", Rounding)
def test_extremes(mode):
    """Corners of both formats and of FP32, and the numbers beside them."""
    ends = [widen(corners(form), form)[0] for form in (FP16, BF16)]
    around = np.concatenate([*ends, corners(FP32)]).astype(np.int64)
    i = np.concatenate([around - 1, around, around + 1]) & 0xFFFF_FFFF
    for is_bf16 in (0, 1):
        check(i, is_bf16, int(mode))


def test_cost():
    measured = measure(Narrow(NarrowConfig()), "narrow")
    assert measured.cells <= 86
    assert measured.nand2 <= 450
    assert measured.depth <= 36
