"""Tests of the golden models of 16-bit conversions: NumPy, ml_dtypes and gfloat."""

import numpy as np
import pytest

from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import BF16, FP16, FP32
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.arith.float.narrow import narrow, narrowing_operands, widen

FORMS = {"fp16": FP16, "bf16": BF16}
CODES = np.arange(1 << 16, dtype=np.uint32)
NEAREST, ZERO, DOWN, UP, AWAY = Rounding
INEXACT, INVALID = FLAGS["inexact"], FLAGS["invalid"]
UNDERFLOW, OVERFLOW = INEXACT | FLAGS["underflow"], INEXACT | FLAGS["overflow"]


def operands(count: int) -> np.ndarray:
    """Return FP32 numbers near those of both formats, and corners."""
    return np.concatenate([narrowing_operands(np.random.default_rng(1), count), corners(FP32)])


def type_of(form) -> np.dtype:
    """Return the NumPy type of a format."""
    if form == FP16:
        return np.dtype(np.float16)
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)


@pytest.mark.parametrize("name", FORMS)
def test_values_agree_with_numpy_and_ml_dtypes(name):
    form = FORMS[name]
    i = operands(500_000)
    with np.errstate(all="ignore"):
        expected = i.view(np.float32).astype(type_of(form)).view(np.uint16)
        is_nan = np.isnan(i.view(np.float32))
        assert np.array_equal(narrow(i, form)[0], np.where(is_nan, form.nan, expected))
        wide = CODES.astype(np.uint16).view(type_of(form)).astype(np.float32)
    expected = np.where(np.isnan(wide), np.uint32(FP32.nan), wide.view(np.uint32))
    assert np.array_equal(widen(CODES, form)[0], expected)


@pytest.mark.parametrize("name", FORMS)
def test_values_and_flags_agree_with_gfloat(name):
    pytest.importorskip("gfloat")
    from spica.sim.oracle.narrow_formats import narrow_by_gfloat, widen_by_gfloat

    form, i = FORMS[name], operands(200_000)
    for mode in Rounding:
        got, expected = narrow(i, form, mode), narrow_by_gfloat(i, form, mode)
        assert all(map(np.array_equal, got, expected)), mode
    assert all(map(np.array_equal, widen(CODES, form), widen_by_gfloat(CODES, form)))


@pytest.mark.parametrize(
    ("value", "name", "rounding", "result", "flags"),
    [
        (1.0, "fp16", UP, 0x3C00, 0),
        (65504.0, "fp16", UP, 0x7BFF, 0),
        (65519.996, "fp16", NEAREST, 0x7BFF, INEXACT),
        (65520.0, "fp16", NEAREST, 0x7C00, OVERFLOW),
        (65520.0, "fp16", ZERO, 0x7BFF, INEXACT),
        (65536.0, "fp16", ZERO, 0x7BFF, OVERFLOW),
        (-65536.0, "fp16", UP, 0xFBFF, OVERFLOW),
        (-65536.0, "fp16", AWAY, 0xFC00, OVERFLOW),
        (2.0**-25, "fp16", NEAREST, 0x0000, UNDERFLOW),
        (2.0**-25, "fp16", AWAY, 0x0001, UNDERFLOW),
        (-(2.0**-149), "fp16", DOWN, 0x8001, UNDERFLOW),
        (2.0**-24, "fp16", UP, 0x0001, 0),
        # Tiny before rounding, but not after it; and tiny after it too.
        (2.0**-14 - 2.0**-37, "fp16", NEAREST, 0x0400, INEXACT),
        (2.0**-14 - 2.0**-25, "fp16", NEAREST, 0x0400, UNDERFLOW),
        (2.0**-126 - 2.0**-149, "bf16", NEAREST, 0x0080, INEXACT),
        (2.0**-126 - 2.0**-134, "bf16", NEAREST, 0x0080, UNDERFLOW),
        (2.0**-149, "bf16", UP, 0x0001, UNDERFLOW),
        (2.0**-133, "bf16", UP, 0x0001, 0),
        (3.4e38, "bf16", NEAREST, 0x7F80, OVERFLOW),
        (3.4e38, "bf16", ZERO, 0x7F7F, INEXACT),
        (-np.inf, "fp16", ZERO, 0xFC00, 0),
        (-np.nan, "fp16", ZERO, 0x7E00, 0),
        (-np.nan, "bf16", ZERO, 0x7FC0, 0),
    ],
)
def test_known_results(value, name, rounding, result, flags):
    stored = np.array([value], np.float32).view(np.uint32)
    found, raised = narrow(stored, FORMS[name], rounding)
    assert (found.tolist(), raised.tolist()) == ([result], [flags])


def test_a_signalling_nan_is_invalid():
    for form in FORMS.values():
        assert [x.tolist() for x in narrow([0x7F80_0001], form)] == [[form.nan], [INVALID]]
        signalling = form.infinity + 1
        assert [x.tolist() for x in widen([signalling], form)] == [[FP32.nan], [INVALID]]
        assert [x.tolist() for x in widen([form.nan + 1], form)] == [[FP32.nan], [0]]
