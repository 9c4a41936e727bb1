"""Tests of classification, comparison and sign injection: golden models and oracles."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth import *

from spica.hw.arith.float.classify import CLASS_LAYOUT, Classify, ClassifyConfig
from spica.hw.arith.float.compare import Compare, CompareConfig, Comparison
from spica.hw.arith.float.rounding import FLAGS
from spica.hw.arith.float.sign_inject import SignInject, SignInjectConfig, SignOperation
from spica.hw.config.formats import (
    BF16,
    E8M0,
    FORMATS,
    FP4_E2M1,
    FP6_E3M2,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    UE4M3,
    FloatFormat,
)
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float import conversions
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.arith.float.operands import crossed
from spica.sim.units.arith.comparisons import (
    COMPARISONS,
    SIGNS,
    class_operands,
    class_reference,
    compare_reference,
    comparison_operands,
    sign_operands,
    sign_reference,
)
from spica.synth.measure import measure

FORMS = [form for form in FORMATS.values() if isinstance(form, FloatFormat)]
PLUS_ZERO, MINUS_ZERO, ONE, TWO = 0, 1 << 31, 0x3F800000, 0x40000000
QUIET, SIGNALLING, CANONICAL = 0xFFC12345, 0x7F800001, 0x7FC00000
INVALID = FLAGS["invalid"]


def evaluate(dut, vectors):
    """Return each output of a combinational component for each vector, a dict of arrays."""
    require_no_loop(dut)
    inputs = [(name, Value.cast(getattr(dut, name))) for name in vectors]
    names = [name for name in dut.signature.members if name not in vectors]
    outputs = [Value.cast(getattr(dut, name)) for name in names]
    rows = []

    async def testbench(ctx):
        for row in zip(*vectors.values(), strict=True):
            packed = shift = 0
            for (_, port), value in zip(inputs, row, strict=True):
                packed |= int(value) << shift
                shift += len(port)
            ctx.set(Cat(port for _, port in inputs), packed)
            rows.append([ctx.get(port) for port in outputs])

    simulate(dut, testbench, domains=())
    return dict(zip(names, np.array(rows, np.uint32).T, strict=True))


def check(results, expected):
    for name, values in expected.items():
        wrong = np.nonzero(results[name] != values)[0]
        assert not len(wrong), f"{name} of vectors {wrong[:5]} and {len(wrong)} in all"


def comparison_vectors(rng, form):
    """Return random pairs, and every pair in every operation of a narrow format."""
    if form.width <= 4:
        codes = np.arange(1 << form.width)
        return dict(zip(("operation", "a", "b"), crossed(Comparison, codes, codes), strict=True))
    return comparison_operands(rng, 600, form)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_compare(form):
    vectors = comparison_vectors(np.random.default_rng(1), form)
    o, flags = conversions.compare(**vectors, form=form)
    check(evaluate(Compare(CompareConfig(form=form)), vectors), {"o": o, "flags": flags})
    assert len(set(np.asarray(o)[vectors["operation"] <= Comparison.LESS_EQUAL])) == 2


@pytest.mark.parametrize("form", [f for f in FORMS if f.signed], ids=lambda form: form.name)
def test_sign_inject(form):
    vectors = sign_operands(np.random.default_rng(2), 100, form)
    expected = conversions.sign_inject(**vectors, form=form)
    check(evaluate(SignInject(SignInjectConfig(form=form)), vectors), {"o": expected})


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_classify(form):
    vectors = class_operands(np.random.default_rng(3), 400, form)
    expected = conversions.classify(vectors["i"], form)
    check(evaluate(Classify(ClassifyConfig(form=form)), vectors), {"o": expected})
    assert np.all(np.bitwise_count(expected) == 1)


@pytest.mark.parametrize(
    ("form", "code", "name"),
    [
        (FP32, 0xFF800000, "negative_infinity"),
        (FP32, 0x80800000, "negative_normal"),
        (FP32, 0x807FFFFF, "negative_subnormal"),
        (FP32, 0x80000000, "negative_zero"),
        (FP32, 0x00000000, "positive_zero"),
        (FP32, 0x00000001, "positive_subnormal"),
        (FP32, 0x7F7FFFFF, "positive_normal"),
        (FP32, 0x7F800000, "positive_infinity"),
        (FP32, 0xFFBFFFFF, "signalling_nan"),
        (FP32, 0x7FC00000, "quiet_nan"),
        (FP8_E5M2, 0x7D, "signalling_nan"),
        (FP8_E4M3, 0xFF, "quiet_nan"),
        (FP8_E4M3, 0x7E, "positive_normal"),
        (FP6_E3M2, 0x3F, "negative_normal"),
        (E8M0, 0x00, "positive_normal"),
        (E8M0, 0xFF, "quiet_nan"),
        (UE4M3, 0x07, "positive_subnormal"),
    ],
)
def test_class_by_name(form, code, name):
    expected = 1 << CLASS_LAYOUT[name].offset
    assert conversions.classify(np.array([code]), form).tolist() == [expected]


def test_classes_are_numbered_as_in_risc_v():
    assert [field.offset for _, field in CLASS_LAYOUT] == list(range(10))
    assert CLASS_LAYOUT["negative_infinity"].offset == 0
    assert CLASS_LAYOUT["quiet_nan"].offset == 9


STANDARD = [
    (Comparison.EQUAL, PLUS_ZERO, MINUS_ZERO, 1, 0),
    (Comparison.EQUAL, QUIET, QUIET, 0, 0),
    (Comparison.EQUAL, ONE, SIGNALLING, 0, INVALID),
    (Comparison.LESS, MINUS_ZERO, PLUS_ZERO, 0, 0),
    (Comparison.LESS, QUIET, ONE, 0, INVALID),
    (Comparison.LESS_EQUAL, PLUS_ZERO, MINUS_ZERO, 1, 0),
    (Comparison.LESS_EQUAL, ONE, QUIET, 0, INVALID),
    (Comparison.MINIMUM, PLUS_ZERO, MINUS_ZERO, MINUS_ZERO, 0),
    (Comparison.MAXIMUM, MINUS_ZERO, PLUS_ZERO, PLUS_ZERO, 0),
    (Comparison.MINIMUM, QUIET, ONE, ONE, 0),
    (Comparison.MINIMUM, SIGNALLING, ONE, ONE, INVALID),
    (Comparison.MAXIMUM, TWO, SIGNALLING, TWO, INVALID),
    (Comparison.MAXIMUM, QUIET, SIGNALLING, CANONICAL, INVALID),
    (Comparison.MINIMUM, QUIET, QUIET, CANONICAL, 0),
]


def test_comparison_by_the_standard():
    operation, a, b, o, flags = map(np.array, zip(*STANDARD, strict=True))
    vectors = {"operation": operation, "a": a, "b": b}
    expected = {"o": o, "flags": flags}
    check(dict(zip(("o", "flags"), conversions.compare(**vectors), strict=True)), expected)
    check(evaluate(Compare(CompareConfig()), vectors), expected)


def with_corners(operations, random):
    """Return random vectors, and every pair of corners in every operation."""
    corner = corners(FP32)
    every = crossed(np.array(list(operations), np.uint32), corner, corner)
    return {
        name: np.concatenate([random[name], column])
        for name, column in zip(("operation", "a", "b"), every, strict=True)
    }


def test_comparison_agrees_with_qemu():
    pytest.importorskip("unicorn")
    random = comparison_operands(np.random.default_rng(4), 200_000)
    vectors = with_corners(COMPARISONS, random)
    o, flags = conversions.compare(**vectors)
    check(compare_reference(**vectors), {"o": o, "flags": flags})


def test_qemu_has_an_older_minimum_of_signalling_nan_alone():
    qemu = pytest.importorskip("spica.sim.oracle.qemu").qemu
    pytest.importorskip("unicorn")
    a, b = crossed(corners(FP32), corners(FP32))
    for operation in (Comparison.MINIMUM, Comparison.MAXIMUM):
        o, flags = conversions.compare(operation, a, b)
        raw, raw_flags = qemu(COMPARISONS[operation], a, b, raw=True)
        classes = [conversions.classify(x) for x in (a, b)]
        signalling, quiet = (
            1 << CLASS_LAYOUT[f"{kind}_nan"].offset for kind in ("signalling", "quiet")
        )
        is_signalling = [c == signalling for c in classes]
        is_nan = [(c == signalling) | (c == quiet) for c in classes]
        differs = is_signalling[0] & ~is_nan[1] | is_signalling[1] & ~is_nan[0]
        assert np.array_equal(raw != o, differs)
        assert np.all(raw[differs] == FP32.nan)
        assert np.array_equal(flags, raw_flags)


def test_sign_injection_agrees_with_qemu():
    pytest.importorskip("unicorn")
    vectors = with_corners(SIGNS, sign_operands(np.random.default_rng(5), 50_000))
    check(sign_reference(**vectors), {"o": conversions.sign_inject(**vectors)})


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_classes_agree_with_the_oracle(form):
    pytest.importorskip("unicorn" if form == FP32 else "gfloat")
    i = np.concatenate([class_operands(np.random.default_rng(6), 50_000, form)["i"], corners(form)])
    check(class_reference(form, i), {"o": conversions.classify(i, form)})


@pytest.mark.parametrize("form", [FP16, FP32], ids=lambda form: form.name)
def test_comparison_agrees_with_numpy(form):
    vectors = comparison_operands(np.random.default_rng(7), 50_000, form)
    dtype = {FP16: (np.uint16, np.float16), FP32: (np.uint32, np.float32)}[form]
    a, b = (vectors[name].astype(dtype[0]).view(dtype[1]) for name in "ab")
    for operation, compared in (
        (Comparison.EQUAL, a == b),
        (Comparison.LESS, a < b),
        (Comparison.LESS_EQUAL, a <= b),
    ):
        o, _ = conversions.compare(operation, vectors["a"], vectors["b"], form)
        assert np.array_equal(o, compared)


@pytest.mark.parametrize(
    ("make", "cells", "depth"),
    [
        (lambda: Classify(ClassifyConfig()), 25, 8),
        (lambda: Classify(ClassifyConfig(form=E8M0)), 4, 5),
        (lambda: Compare(CompareConfig()), 58, 20),
        (lambda: Compare(CompareConfig(form=FP4_E2M1)), 40, 14),
        (lambda: SignInject(SignInjectConfig()), 4, 4),
    ],
)
def test_cells_and_depth(make, cells, depth):
    measured = measure(make(), "unit")
    assert measured.cells <= cells
    assert measured.depth <= depth


@pytest.mark.parametrize("form", [E8M0, replace(BF16, name="unsigned", signed=False)])
def test_a_sign_is_needed(form):
    with pytest.raises(ValueError, match=f"form must have a sign, not {form.name}"):
        SignInjectConfig(form=form)


def test_codes_of_sign_operations_are_those_of_risc_v():
    assert [int(operation) for operation in SignOperation] == [0, 1, 2]
