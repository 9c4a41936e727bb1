"""Tests of `sim.run.result_check`: wrong results are detected, correct ones accepted."""

import numpy as np
import pytest

from spica.hw.presets import PRESETS
from spica.kernels.gemm.data import operands
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.gemm.reference import reference
from spica.sim.golden.matrix.gemm import gemm
from spica.sim.report.check_report import example_text
from spica.sim.run.result_check import check

MATRIX = PRESETS["tiny_matrix"].units[0]


def product(**settings):
    problem = GemmProblem.placed(m=30, n=20, k=50, **settings)
    a, b = operands(problem, "random", seed=1)
    return gemm(MATRIX, problem, a, b, 32), *reference(problem, a, b, MATRIX.rows)


def test_one_wrong_bit_is_a_mismatch():
    golden, wide, bound = product(c_format="fp32")
    result = golden.copy()
    result.view(np.uint32)[3, 4] ^= 1
    outcome = check(result, golden, wide, bound, form="fp32")
    assert (outcome.mismatches, outcome.outside_bound, outcome.verdict) == (1, 0, "fail")
    (example,) = outcome.examples
    assert (example["index"], example["expected"]) == ([3, 4], golden[3, 4])
    assert example["expected_bits"] == f"0x{golden.view(np.uint32)[3, 4]:08x}"
    assert example["got_bits"] == f"0x{result.view(np.uint32)[3, 4]:08x}"
    shown = example_text("c", example)
    assert shown.startswith("c[3, 4]: expected ") and example["expected_bits"] in shown


def test_the_bound_does_not_trust_the_golden_model():
    golden, wide, bound = product()
    wrong = golden.copy()
    wrong[0, 0] += 1
    outcome = check(wrong, wrong, wide, bound, form="fp16")
    assert (outcome.mismatches, outcome.outside_bound, outcome.verdict) == (0, 1, "fail")
    assert outcome.max_abs_error == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_must_be_the_same(value):
    golden, wide, bound = product()
    wrong = golden.copy()
    wrong[0, 0] = value
    outcome = check(wrong, golden, wide, bound, form="fp16")
    assert (outcome.outside_bound, outcome.left_range) == (1, 0)  # not the arithmetic of the unit
    outcome = check(wrong, wrong, wide, bound, form="fp16")
    assert outcome.outside_bound == outcome.left_range == 1


def test_fp16_results_overflow_by_sign():
    wide = np.array([[70000.0, -70000.0, 65519.9]])
    bound = np.full((1, 3), 0.2)
    for values, outside in (([np.inf, -np.inf, np.inf], 0), ([-np.inf, np.inf, 65504], 2)):
        result = np.array([values], np.float16)
        outcome = check(result, result, wide, bound + 20 * (outside > 0), form="fp16")
        assert outcome.outside_bound == outcome.left_range == outside
        assert outcome.rounded_to_infinity == (0 if outside else 3)


def test_touched_bytes_fail():
    golden, wide, bound = product()
    outcome = check(golden, golden, wide, bound, form="fp16", touched=1)
    assert (outcome.wrong, outcome.guard_bytes_changed, outcome.verdict) == (0, 1, "fail")


def test_types_must_agree():
    golden, wide, bound = product()
    with pytest.raises(ValueError, match="result must be float16"):
        check(golden.astype(np.float32), golden, wide, bound, form="fp16")


def test_integers_are_exact_modulo_2_to_the_32():
    problem = GemmProblem.placed(m=3, n=3, k=9, operand="int8")
    a, b = operands(problem, "extreme", seed=2)
    golden = gemm(MATRIX, problem, a, b, 32)
    assert check(golden, golden, *reference(problem, a, b, 4), form="int32").passed
    assert golden.dtype == np.int32
