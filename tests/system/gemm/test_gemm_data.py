"""Tests of operands of every format, their values, and the error bound of their product."""

import dataclasses
import random

import numpy as np
import pytest

from spica.hw.config.arithmetic import ARITHMETIC
from spica.hw.config.formats import FORMATS, FloatFormat
from spica.hw.presets import PRESETS
from spica.kernels.elements import dtype_of, nearest, values_of
from spica.kernels.gemm.data import KINDS, operands
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.gemm.reference import reference
from spica.sim.golden.arith.float.floats import convert, decode, encode
from spica.sim.golden.matrix.gemm import gemm
from spica.sim.report.check_report import example_text
from spica.sim.run.result_check import check

TINY = PRESETS["tiny_matrix"].units[0]
FLOATS = [name for name in ARITHMETIC if isinstance(FORMATS[name], FloatFormat)]
NARROW_FLOATS = [name for name in FLOATS if FORMATS[name].width <= 16]


def bits_of(elements):
    """Return stored bits."""
    return elements.view(f"u{elements.itemsize}")


def product(operand, kind, seed=1, **settings):
    """Return golden C with its problem, reference and bound."""
    settings = {"m": 30, "n": 20, "k": 50} | settings
    problem = GemmProblem.placed(operand=operand, **settings)
    a, b = operands(problem, kind, seed)
    matrix = dataclasses.replace(TINY, operand=operand)
    wide = reference(problem, a, b, TINY.rows, is_extreme=kind == "extreme")
    return problem, gemm(matrix, problem, a, b, 32), *wide


@pytest.mark.parametrize("form", NARROW_FLOATS)
def test_every_code_has_its_value(form):
    codes = np.arange(1 << FORMATS[form].width).astype(f"u{FORMATS[form].width // 8}")
    values = values_of(codes.view(dtype_of(form)), form)
    assert np.array_equal(values, decode(codes, FORMATS[form]), equal_nan=True)


@pytest.mark.parametrize("form", FLOATS)
def test_the_nearest_element_is_the_rounded_value(form):
    rng = np.random.default_rng(2)
    target = FORMATS[form]
    codes = rng.integers(0, target.largest, 3000)
    below, above = decode(codes, target), decode(codes + 1, target)
    middles = (below + above) / 2
    values = np.concatenate([middles, below, np.nextafter(middles, 0), -above, [0.0, -0.0]])
    assert np.array_equal(bits_of(nearest(values, form)), encode(values, target))
    largest = decode(np.array([target.largest]), target)
    rounded = values_of(nearest(np.array([1e300, -1e300]), form), form)
    assert np.array_equal(rounded, [largest[0], -largest[0]])


def test_integers_are_clipped():
    rounded = nearest(np.array([-1000.0, -1.5, 0.5, 126.6, 128.0]), "int8")
    assert rounded.dtype == np.int8 and rounded.tolist() == [-128, -2, 0, 127, 127]


def test_a_format_without_whole_bytes_is_refused():
    with pytest.raises(ValueError, match=r"elements must have 8 or 16 bits, .* not 'fp4_e2m1'"):
        dtype_of("fp4_e2m1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operand", ARITHMETIC)
def test_operands_follow_from_the_seed(operand, kind):
    problem = GemmProblem.placed(m=20, n=30, k=40, operand=operand)
    first, again, other = (operands(problem, kind, seed) for seed in (3, 3, 4))
    for one, two, three, shape in zip(first, again, other, ((20, 40), (40, 30)), strict=True):
        assert one.dtype == dtype_of(operand) and one.shape == shape
        assert np.array_equal(bits_of(one), bits_of(two))
        assert not np.array_equal(bits_of(one), bits_of(three))


@pytest.mark.parametrize("kind", ["random", "integers"])
@pytest.mark.parametrize("operand", FLOATS)
def test_usual_operands_are_finite_and_use_the_format(operand, kind):
    problem = GemmProblem.placed(m=64, n=64, k=64, operand=operand)
    for matrix in operands(problem, kind, 1):
        values = values_of(matrix, operand)
        assert np.isfinite(values).all() and values.min() < 0 < values.max()
        if kind == "integers":
            assert np.array_equal(values, np.rint(values)) and np.abs(values).max() == 8
        else:
            # The last bit of the significand is 0 and 1 equally often.
            assert 0.45 < (bits_of(matrix) & 1).mean() < 0.55
            assert 0.95 < values.std() < 1.05


@pytest.mark.parametrize("operand", FLOATS)
def test_extreme_operands_are_of_every_class(operand):
    form = FORMATS[operand]
    problem = GemmProblem.placed(m=64, n=64, k=64, operand=operand)
    for matrix in operands(problem, "extreme", 1):
        magnitudes = bits_of(matrix).astype(np.int64) & form.magnitude_mask
        assert {0, 1, form.largest, form.nan} <= set(magnitudes.ravel().tolist())
        assert not form.has_infinity or (magnitudes == form.infinity).any()
        least_normal = 1 << form.fraction_width
        assert 0.1 < ((magnitudes > 0) & (magnitudes < least_normal)).mean() < 0.3
        assert (magnitudes > form.largest).any(axis=1).mean() < 0.2


@pytest.mark.parametrize("operand", FLOATS)
def test_sums_of_integers_are_exact(operand):
    problem, golden, wide, _ = product(operand, "integers", c_format="fp32")
    assert problem.dtype("c") == np.float32
    assert np.array_equal(golden, wide)


@pytest.mark.parametrize("operand", FLOATS)
def test_extreme_operands_make_every_kind_of_result(operand):
    _, golden, wide, bound = product(operand, "extreme", m=64, n=64)
    form = FORMATS[ARITHMETIC[operand].narrow]
    values = decode(bits_of(golden), form)
    assert np.isnan(values).any() and np.isinf(values).any() and (values == 0).any()
    assert np.isfinite(values).mean() > 0.5
    # Few elements have an infinite bound, and none if sums cannot overflow.
    assert np.isinf(bound).mean() < 0.3
    assert np.isfinite(bound[np.isfinite(wide)]).all() or operand in ("bf16", "fp32")


SETTINGS = [
    {},
    {"c_format": "fp32"},
    {"relu": True},
    {"scale": -0.37},
    {"scale": 1e-6, "relu": True, "c_format": "fp32"},
    {"k": 1},
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operand", FLOATS)
def test_golden_results_lie_within_the_bound(operand, kind, seed):
    for settings in SETTINGS:
        problem, golden, wide, bound = product(operand, kind, seed, **settings)
        outcome = check(
            golden,
            golden,
            wide,
            bound,
            form=problem.c_format,
            permits_overflow=kind == "extreme",
        )
        assert outcome.passed and outcome.verdict == "pass", (settings, outcome)


@pytest.mark.parametrize("operand", FLOATS)
def test_the_bound_is_no_wider_than_rounding_explains(operand):
    for c_format in ARITHMETIC[operand].c_formats:
        problem, golden, wide, bound = product(operand, "random", c_format=c_format)
        values = decode(bits_of(golden), FORMATS[problem.c_format])
        # 4 + 13 + 1 roundings of a chain in fp32, and that to the narrow format.
        relative = 18 * 2.0**-24
        if c_format != "fp32":
            relative += 2.0 ** -FORMATS[c_format].significand_width
        assert bound.max() < 1.1 * relative * 70
        if c_format != "fp32" or operand == "fp32":  # shorter products leave sums exact
            assert np.abs(values - wide).max() > bound.mean() / 100


PAIRS = [("fp8_e4m3", "fp8_e5m2"), ("fp8_e5m2", "fp8_e4m3"), ("fp16", "bf16"), ("bf16", "fp16")]


@pytest.mark.parametrize(("operand", "mistaken"), PAIRS)
def test_a_model_that_mistakes_the_format_is_seen(operand, mistaken):
    """Neither the bits of C nor the reference match the same bytes read in another format."""
    problem, golden, wide, bound = product(operand, "random", c_format="fp32")
    a, b = operands(problem, "random", 1)
    a, b = (bits_of(matrix).view(dtype_of(mistaken)) for matrix in (a, b))
    matrix = dataclasses.replace(TINY, operand=mistaken)
    other = dataclasses.replace(problem, operand=mistaken)
    wrong = gemm(matrix, other, a, b, 32)
    outcome = check(wrong, golden, wide, bound, form="fp32")
    assert outcome.mismatches > 590 and outcome.outside_bound > 590


@pytest.mark.parametrize("c_format", ["fp16", "bf16", "fp32"])
def test_examples_show_values_of_the_format(c_format):
    golden = nearest(np.array([[1.5, -0.0]]), c_format)
    result = nearest(np.array([[1.5, 0.0]]), c_format)
    outcome = check(result, golden, np.zeros((1, 2)), np.full((1, 2), 2.0), form=c_format)
    zeros = "0" * (FORMATS[c_format].width // 4 - 1)
    (example,) = outcome.examples
    assert example["bound"] == 2.0
    assert example_text("c", example | {"bound": 0}) == (
        f"c[0, 1]: expected -0 (0x8{zeros}), got 0 (0x0{zeros})"
    )


@pytest.mark.parametrize("c_format", ["fp16", "bf16", "fp32"])
def test_results_overflow_where_rounding_does(c_format):
    form = FORMATS[c_format]
    infinity = bits_of(nearest(np.zeros((1, 1)), c_format)) | form.infinity
    infinity = infinity.astype(f"u{form.width // 8}").view(dtype_of(c_format))
    largest = decode(np.array([form.largest]), form)[0]
    half_step = (largest - decode(np.array([form.largest - 1]), form)[0]) / 2
    for reference_value, outside in (
        (largest + half_step, 0),
        (largest + half_step * 0.9, 1),
        (-largest - half_step, 1),
    ):
        expected, bound = np.array([[reference_value]]), np.zeros((1, 1))
        outcome = check(infinity, infinity, expected, bound, form=c_format)
        assert outcome.outside_bound == outside


def test_converted_operands_agree_with_the_golden_conversion():
    rng = random.Random(1)
    bits = np.array([rng.getrandbits(32) for _ in range(2000)], np.uint32)
    values = bits.view(np.float32)
    usual = np.isfinite(values) & (np.abs(values) < 1e38)
    for form in ("bf16", "fp32"):
        expected = convert(bits[usual], target=FORMATS[form])
        assert np.array_equal(bits_of(nearest(values[usual], form)), expected)
