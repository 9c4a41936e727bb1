"""Tests of the golden floats against QEMU's soft-float, NumPy's conversions and Python."""

import numpy as np
import pytest

from bench.oracle.qemu import qemu
from bench.units.operands import floats as operands
from spica.hw.arith.float.rounding import FLAGS
from spica.hw.config.formats import FP16, FP32, INT8, INT32
from spica.sim.golden.arith.float import floats

pytest.importorskip("unicorn")


def joined(one, other):
    return [np.concatenate(pair) for pair in zip(one, other, strict=True)]


@pytest.mark.parametrize("name", ["add", "multiply"])
def test_agrees_with_qemu(name):
    corners = operands.crossed(*[floats.corners(FP32)] * 2)
    random = getattr(operands, f"{name}_operands")(np.random.default_rng(1), 100_000)
    a, b = joined(corners, random)
    assert np.array_equal(getattr(floats, name)(a, b), qemu(f"f{name[:3]}.s", a, b)[0])


def test_multiply_add_of_fp16_agrees_with_qemu():
    corners = operands.crossed(*[floats.corners(FP16)] * 2, floats.corners(FP32))
    a, b, c = joined(corners, operands.multiply_add_operands(np.random.default_rng(3), 100_000))
    wide_a, wide_b = (
        h.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32) for h in (a, b)
    )
    assert np.array_equal(floats.multiply_add(a, b, c), qemu("fmadd.s", wide_a, wide_b, c)[0])


def test_multiply_add_of_fp32_agrees_with_qemu():
    corners = operands.crossed(*[floats.corners(FP32)] * 3)
    random = operands.multiply_add_operands(np.random.default_rng(4), 100_000, operand=FP32)
    a, b, c = joined(corners, random)
    assert np.array_equal(floats.multiply_add(a, b, c, operand=FP32), qemu("fmadd.s", a, b, c)[0])


def test_decode_and_encode_of_every_fp16():
    stored = np.arange(1 << 16, dtype=np.uint32)
    values = stored.astype(np.uint16).view(np.float16).astype(np.float64)
    decoded = floats.decode(stored, FP16)
    assert np.array_equal(decoded, values, equal_nan=True)
    is_nan = np.isnan(values)
    assert np.array_equal(np.signbit(decoded[~is_nan]), np.signbit(values[~is_nan]))
    encoded = floats.encode(decoded, FP16)
    assert np.array_equal(encoded, np.where(is_nan, 0x7E00, stored))


def test_convert_agrees_with_numpy():
    rng = np.random.default_rng(5)
    every_fp16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    # Each FP16 number, the midpoint to its neighbour, and one to either side of both.
    around = every_fp16.view(np.uint32)[:, None] + np.array([0, 1, -1, 4095, 4096, 4097])
    stored = np.concatenate([
        (around.ravel() & 0xFFFFFFFF).astype(np.uint32),
        floats.corners(FP32),
        rng.integers(0, 1 << 32, 200_000, dtype=np.uint32),
    ])
    values = stored.view(np.float32)
    with np.errstate(all="ignore"):
        expected = values.astype(np.float16).view(np.uint16)
    expected = np.where(np.isnan(values), 0x7E00, expected)
    assert np.array_equal(floats.convert(stored), expected)


def test_general_rounding_agrees_with_the_fast_one():
    a, b = operands.multiply_operands(np.random.default_rng(6), 100_000)
    with np.errstate(invalid="ignore"):
        products = floats.decode(a, FP32) * floats.decode(b, FP32)
    assert np.array_equal(floats.encode(products, FP32), floats.round_to(products, FP32))


@pytest.mark.parametrize("operation", ["fadd.s", "fmul.s"])
def test_every_mode_and_flag_agrees_with_qemu(operation):
    rng = np.random.default_rng(8)
    corners = operands.crossed(*[floats.corners(FP32)] * 2, np.arange(5, dtype=np.uint32))
    random = {"fadd.s": operands.add_operands, "fmul.s": operands.multiply_operands}[operation]
    modes = rng.integers(0, 5, 300_000, dtype=np.uint32)
    a, b, modes = joined(corners, (*random(rng, len(modes)), modes))
    with np.errstate(invalid="ignore"):
        wide_a, wide_b = floats.decode(a, FP32), floats.decode(b, FP32)
        exact = floats.sum_to_odd(wide_a, wide_b) if operation == "fadd.s" else wide_a * wide_b
    results, flags = qemu(operation, a, b, rounding=modes)
    expected, expected_flags = floats.rounded(exact, FP32, modes)
    # The operation sets the sign of an exact zero, and the flag of an invalid one.
    is_zero = (exact == 0) & (operation == "fadd.s")
    assert np.array_equal(np.where(is_zero, 0, expected), np.where(is_zero, 0, results))
    assert np.array_equal(flags & ~np.uint32(FLAGS["invalid"]), expected_flags)
    assert set(np.unique(expected_flags)) == (
        {0, 1, 5} if operation == "fadd.s" else {0, 1, 3, 5}  # sums are never tiny and inexact
    )


def test_integers_wrap():
    random = operands.multiply_add_operands(np.random.default_rng(7), 1000, INT8, INT32)
    corners = operands.crossed(*[floats.corners(INT8)] * 2, floats.corners(INT32))
    a, b, c = joined(corners, random)

    def signed(value):
        return int(value) - (int(value) >> 7 << 8)

    expected = [
        (signed(x) * signed(y) + int(z)) % (1 << 32) for x, y, z in zip(a, b, c, strict=True)
    ]
    assert floats.multiply_add(a, b, c, operand=INT8, accumulator=INT32).tolist() == expected
