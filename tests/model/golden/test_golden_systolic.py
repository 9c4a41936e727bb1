"""Tests of the golden systolic array against exact integers, by multiply-add."""

import random
from fractions import Fraction

import numpy as np
import pytest

from spica.hw.config.arithmetic import ARITHMETIC
from spica.hw.config.formats import FORMATS, FP32, FloatFormat
from spica.kernels.elements import dtype_of, nearest
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.matrix.systolic.systolic import read_out, systolic_os, systolic_ws

NAN = "nan"
FLOATS = [name for name in ARITHMETIC if isinstance(FORMATS[name], FloatFormat)]


def unpack(bits, form):
    """Return (sign, exact magnitude | "inf" | NAN) of stored bits."""
    fraction = bits & ((1 << form.fraction_width) - 1)
    exponent = bits >> form.fraction_width & ((1 << form.exponent_width) - 1)
    sign = bits >> (form.width - 1)
    if form.specials == "ieee" and exponent == (1 << form.exponent_width) - 1:
        return sign, NAN if fraction else "inf"
    if form.specials == "nan" and bits & ~(1 << (form.width - 1)) == (1 << (form.width - 1)) - 1:
        return sign, NAN
    hidden = (1 << form.fraction_width) if exponent else 0
    shift = max(exponent, 1) - ((1 << (form.exponent_width - 1)) - 1) - form.fraction_width
    return sign, (fraction + hidden) * Fraction(2) ** shift


def pack(sign, value, form):
    """Return stored bits of an exact `value`, rounded to nearest even; `form` has infinities."""
    bias = (1 << (form.exponent_width - 1)) - 1
    infinity = ((1 << form.exponent_width) - 1) << form.fraction_width
    top = sign << (form.width - 1)
    if value == NAN:
        return infinity | 1 << (form.fraction_width - 1)
    if value == "inf":
        return top | infinity
    exponent = 1 - bias
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    units = value / Fraction(2) ** (exponent - form.fraction_width)
    whole, rest = divmod(units.numerator, units.denominator)
    twice = 2 * rest - units.denominator
    whole += twice > 0 or (twice == 0 and whole % 2)
    return top | min(infinity, ((exponent - 1 + bias) << form.fraction_width) + whole)


def multiply_add(a, b, c, form):
    """Return the FP32 bits of a*b + c for bits a, b of `form` and FP32 bits c."""
    (sa, va), (sb, vb), (sc, vc) = unpack(a, form), unpack(b, form), unpack(c, FP32)
    sp = sa ^ sb
    if NAN in (va, vb, vc) or ("inf" in (va, vb) and 0 in (va, vb)):
        return 0x7FC00000
    if "inf" in (va, vb):
        return 0x7FC00000 if vc == "inf" and sc != sp else pack(sp, "inf", FP32)
    if vc == "inf":
        return c
    total = (-1) ** sp * va * vb + (-1) ** sc * vc
    sign = int(total < 0) if total else sp & sc
    return pack(sign, abs(total), FP32)


def add(a, b):
    """Return the FP32 bits of a + b."""
    (sa, va), (sb, vb) = unpack(a, FP32), unpack(b, FP32)
    if NAN in (va, vb) or (va == vb == "inf" and sa != sb):
        return 0x7FC00000
    if "inf" in (va, vb):
        return a if va == "inf" else b
    total = (-1) ** sa * va + (-1) ** sb * vb
    return pack(int(total < 0) if total else sa & sb, abs(total), FP32)


def operands(rng, shape, near, form):
    """Return stored bits: of similar size so that sums cancel, or small, with corner cases."""
    count = shape[0] * shape[1]
    top, step = form.width - 1, 1 << form.fraction_width
    if near:
        one = form.bias * step
        magnitudes = [rng.randrange(one - 3 * step, one + 2 * step) for _ in range(count)]
    else:
        special = [int(x) for x in corners(form) if (int(x) & ~(1 << top)) > form.largest]
        finite = [int(x) for x in corners(form) if (int(x) & ~(1 << top)) <= form.largest]
        magnitudes = [rng.choice([*finite, rng.randrange(1 << top)]) for _ in range(count)]
        small = ~(1 << (top - 1))  # products near 1 and below it
        magnitudes = [x & small if rng.random() < 0.9 else x for x in magnitudes]
        magnitudes[rng.randrange(count)] = rng.choice([*finite, *special])
    bits = [x ^ rng.randrange(2) << top for x in magnitudes]
    return np.array(bits, dtype=f"u{form.width // 8}").reshape(shape)


@pytest.mark.parametrize("operand", FLOATS)
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.quick(20)
def test_matches_exact_integers(seed, near, operand):
    rng = random.Random(seed)
    form, dtype = FORMATS[operand], dtype_of(operand)
    m, n, k, rows = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 21), rng.choice([2, 4, 8])
    a, b = operands(rng, (m, k), near, form), operands(rng, (k, n), near, form)
    formats = {"operand": operand}
    by_slabs = systolic_ws(a.view(dtype), b.view(dtype), rows, **formats).view(np.uint32)
    by_chain = systolic_os(a.view(dtype), b.view(dtype), k, **formats).view(np.uint32)
    for i in range(m):
        for j in range(n):
            total, chain = None, 0
            for start in range(0, k, rows):
                partial = 0
                for x in range(start, start + rows):
                    pair = (int(a[i, x]), int(b[x, j])) if x < k else (0, 0)
                    partial = multiply_add(*pair, partial, form)
                    chain = multiply_add(*pair, chain, form) if x < k else chain
                total = partial if total is None else add(total, partial)
            assert by_slabs[i, j] == total
            assert by_chain[i, j] == chain


@pytest.mark.parametrize("operand", ["bf16", "fp32"])
def test_products_that_vanish_leave_their_sign_where_nothing_follows(operand):
    """The least number times its negative underflows to -0; a +0 product after it gives +0."""
    least = np.array([[1]], f"u{FORMATS[operand].width // 8}").view(dtype_of(operand))
    minus_least = least.view(f"u{least.itemsize}") | 1 << (FORMATS[operand].width - 1)
    minus_least = minus_least.astype(f"u{least.itemsize}").view(least.dtype)
    whole = systolic_ws(least, minus_least, 1, operand=operand)
    padded = systolic_ws(least, minus_least, 2, operand=operand)
    by_chain = systolic_os(least, minus_least, 2, operand=operand)
    signs = [int(sums.view(np.uint32)[0, 0]) for sums in (whole, padded, by_chain)]
    assert signs == [1 << 31, 0, 1 << 31]


@pytest.mark.parametrize("operand", FLOATS)
def test_commands_along_k_add_up_in_the_accumulator(operand):
    rng = np.random.default_rng(1)
    a, b = (nearest(rng.standard_normal(shape), operand) for shape in ((5, 70), (70, 6)))
    parts = [systolic_os(a[:, p], b[p], 99, operand=operand) for p in (slice(32), slice(32, 64))]
    parts.append(systolic_os(a[:, 64:], b[64:], 99, operand=operand))
    expected = (parts[0] + parts[1]) + parts[2]
    assert np.array_equal(systolic_os(a, b, 32, operand=operand), expected)


@pytest.mark.parametrize("rows", [2, 16])
def test_tiles_continue_in_the_accumulator(rows):
    rng = np.random.default_rng(rows)
    a = rng.standard_normal((5, 80)).astype(np.float16)
    b = rng.standard_normal((80, 7)).astype(np.float16)
    whole = systolic_ws(a, b, rows)
    first = systolic_ws(a[:, :48], b[:48], rows)
    assert np.array_equal(systolic_ws(a[:, 48:], b[48:], rows, first), whole)


def test_blocks_of_rows_do_not_show():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((40, 33)).astype(np.float16)
    b = rng.standard_normal((33, 9000)).astype(np.float16)
    whole = systolic_ws(a, b, 16)
    assert np.array_equal(systolic_ws(a[7:8], b, 16), whole[7:8])


def test_integers_wrap():
    a, b = np.full((1, 140_000), -128, np.int8), np.full((140_000, 2), -128, np.int8)
    b[:, 1] = 127
    before = np.array([[2**31 - 1, -1]], dtype=np.int32)
    exact = [140_000 * 128 * 128 + 2**31 - 1, -140_000 * 128 * 127 - 1]
    expected = [(value + 2**31) % 2**32 - 2**31 for value in exact]
    assert systolic_ws(a, b, 16, before, operand="int8").tolist() == [expected]
    assert systolic_os(a, b, len(b), before, operand="int8").tolist() == [expected]


def test_reads_of_the_accumulator():
    values = np.array([-1.5, -0.0, 65519.996, 65520.0, 2.0**-25, np.nan, -np.inf], np.float32)
    half = read_out(values, "fp16").view(np.uint16).tolist()
    assert half == [0xBE00, 0x8000, 0x7BFF, 0x7C00, 0, 0x7E00, 0xFC00]
    clipped = read_out(values, "fp16", relu=True).view(np.uint16).tolist()
    assert clipped == [0, 0, 0x7BFF, 0x7C00, 0, 0x7E00, 0]
    scaled = read_out(values, "fp32", scale=-2).tolist()
    assert scaled[:3] == [3.0, 0.0, -131039.9921875] and scaled[6] == np.inf
    assert read_out(values, "fp32", scale=0.5).view(np.uint32)[5] == 0x7FC00000
    assert read_out(np.array([-5, 5], np.int32), "int32", relu=True).tolist() == [0, 5]


@pytest.mark.parametrize(
    ("narrow", "least", "most", "below"),
    [("fp16", 0x3200_0000, 0x4780_1000, 12), ("bf16", 0, 0x7F80_0001, 15)],
)
def test_rounding_on_the_way_out_matches_exact_integers(narrow, least, most, below):
    rng = random.Random(3)
    bits = [rng.randrange(least, most) | rng.randrange(2) << 31 for _ in range(2000)]
    bits += [x & ~((1 << below) - 1) for x in bits[:500]]  # ties
    bits += [most - 1, 0x7F7F_8000, 0x7F7F_7FFF, 1]
    values = np.array(bits, dtype=np.uint32).view(np.float32)
    expected = [pack(*unpack(x, FP32), FORMATS[narrow]) for x in bits]
    assert read_out(values, narrow).view(np.uint16).tolist() == expected
