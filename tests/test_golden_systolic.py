"""The golden systolic array against exact integers, one multiply-add at a time."""

import random
from fractions import Fraction

import numpy as np
import pytest

from spica.sim.golden.systolic import read_out, systolic_os, systolic_ws

NAN = "nan"
CORNERS = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF,
    0x7C00, 0xFC00, 0x7E00, 0xFFFF,
]  # fmt: skip


def unpack(bits, exponent_width, fraction_width):
    """Return (sign, exact magnitude | "inf" | NAN) of stored bits."""
    fraction = bits & ((1 << fraction_width) - 1)
    exponent = bits >> fraction_width & ((1 << exponent_width) - 1)
    sign = bits >> (exponent_width + fraction_width)
    if exponent == (1 << exponent_width) - 1:
        return sign, NAN if fraction else "inf"
    hidden = (1 << fraction_width) if exponent else 0
    shift = max(exponent, 1) - ((1 << (exponent_width - 1)) - 1) - fraction_width
    return sign, (fraction + hidden) * Fraction(2) ** shift


def pack(sign, value, exponent_width, fraction_width):
    """Return stored bits of an exact `value`, rounded to nearest even."""
    bias = (1 << (exponent_width - 1)) - 1
    infinity = ((1 << exponent_width) - 1) << fraction_width
    top = sign << (exponent_width + fraction_width)
    if value == NAN:
        return infinity | 1 << (fraction_width - 1)
    if value == "inf":
        return top | infinity
    exponent = 1 - bias
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    units = value / Fraction(2) ** (exponent - fraction_width)
    whole, rest = divmod(units.numerator, units.denominator)
    twice = 2 * rest - units.denominator
    whole += twice > 0 or (twice == 0 and whole % 2)
    return top | min(infinity, ((exponent - 1 + bias) << fraction_width) + whole)


def multiply_add(a, b, c):
    """Return the FP32 bits of a*b + c for FP16 bits a, b and FP32 bits c."""
    (sa, va), (sb, vb), (sc, vc) = unpack(a, 5, 10), unpack(b, 5, 10), unpack(c, 8, 23)
    sp = sa ^ sb
    if NAN in (va, vb, vc) or ("inf" in (va, vb) and 0 in (va, vb)):
        return 0x7FC00000
    if "inf" in (va, vb):
        return 0x7FC00000 if vc == "inf" and sc != sp else pack(sp, "inf", 8, 23)
    if vc == "inf":
        return c
    total = (-1) ** sp * va * vb + (-1) ** sc * vc
    sign = int(total < 0) if total else sp & sc
    return pack(sign, abs(total), 8, 23)


def add(a, b):
    """Return the FP32 bits of a + b."""
    (sa, va), (sb, vb) = unpack(a, 8, 23), unpack(b, 8, 23)
    if NAN in (va, vb) or (va == vb == "inf" and sa != sb):
        return 0x7FC00000
    if "inf" in (va, vb):
        return a if va == "inf" else b
    total = (-1) ** sa * va + (-1) ** sb * vb
    return pack(int(total < 0) if total else sa & sb, abs(total), 8, 23)


def operands(rng, shape, near):
    """Return FP16 bits: any, corners, or near one another so that sums cancel."""
    count = shape[0] * shape[1]
    if near:
        bits = [rng.randrange(0x3000, 0x4400) | rng.randrange(2) << 15 for _ in range(count)]
    else:
        bits = [rng.choice([*CORNERS[:11], rng.randrange(0x10000)]) for _ in range(count)]
        bits = [x & 0xBFFF if rng.random() < 0.9 else x for x in bits]
        bits[rng.randrange(count)] = rng.choice(CORNERS)
    return np.array(bits, dtype=np.uint16).reshape(shape)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_matches_exact_integers(seed, near):
    rng = random.Random(seed)
    m, n, k, rows = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 21), rng.choice([2, 4, 8])
    a, b = operands(rng, (m, k), near), operands(rng, (k, n), near)
    by_slabs = systolic_ws(a.view(np.float16), b.view(np.float16), rows).view(np.uint32)
    by_chain = systolic_os(a.view(np.float16), b.view(np.float16)).view(np.uint32)
    for i in range(m):
        for j in range(n):
            total, chain = None, 0
            for start in range(0, k, rows):
                partial = 0
                for x in range(start, start + rows):
                    pair = (int(a[i, x]), int(b[x, j])) if x < k else (0, 0)
                    partial = multiply_add(*pair, partial)
                    chain = multiply_add(*pair, chain)
                total = partial if total is None else add(total, partial)
            assert by_slabs[i, j] == total
            assert by_chain[i, j] == chain


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
    assert systolic_os(a, b, before, operand="int8").tolist() == [expected]


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


def test_rounding_to_fp16_matches_exact_integers():
    rng = random.Random(3)
    bits = [rng.randrange(0x3200_0000, 0x4780_1000) | rng.randrange(2) << 31 for _ in range(2000)]
    bits += [x & ~0xFFF for x in bits[:500]]  # ties
    values = np.array(bits, dtype=np.uint32).view(np.float32)
    expected = [pack(*unpack(x, 8, 23), 5, 10) for x in bits]
    assert read_out(values, "fp16").view(np.uint16).tolist() == expected
