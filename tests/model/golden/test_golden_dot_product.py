"""Tests of the golden model of fused dot products against the definition in exact fractions."""

from fractions import Fraction
from math import floor, inf, isnan, nan

import numpy as np
import pytest

from bench.units.operands.dot_product import dot_operands
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.config.numerics import NUMERICS, TREES
from spica.sim.golden.arith.dot_product.dot_product import dot_product
from support.vectors import require_equal


def value_of(bits, form):
    """Return a stored value as (significand, exponent): a signed fraction, or inf or nan."""
    sign = -1 if form.signed and bits >> form.magnitude_width & 1 else 1
    magnitude = bits & form.magnitude_mask
    if magnitude > form.largest:
        return (sign * inf if form.has_infinity and magnitude == form.infinity else nan), 0
    stored, fraction = divmod(magnitude, 1 << form.fraction_width)
    significand = Fraction(fraction, 1 << form.fraction_width)
    if stored == 0 and form.subnormals:
        return sign * significand, 1 - form.bias
    return sign * (1 + significand), stored - form.bias


def truncated(value):
    """Return the integer part of a fraction."""
    return -floor(-value) if value < 0 else floor(value)


def round_to(value, form, digits, to_nearest):
    """Return a fraction as stored: `digits` fraction bits, to nearest even or toward zero."""
    sign = (value < 0) << form.magnitude_width
    value = abs(value)
    least = 1 - form.bias
    exponent = least
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    scaled = value / Fraction(2) ** (exponent - digits)
    units = round(scaled) if to_nearest else floor(scaled)
    if units >> (digits + 1):
        units, exponent = units >> 1, exponent + 1
    if exponent > form.bias:
        return sign | form.infinity
    units <<= form.fraction_width - digits
    if units >> form.fraction_width:
        units += (exponent - least) << form.fraction_width
    return sign | units


def special(values, form):
    """Return the stored sum of values that are not all finite."""
    infinities = {value for value in values if value in (inf, -inf)}
    if any(isnan(value) for value in values) or len(infinities) == 2:
        return (1 << (form.width - 1)) - 1
    return form.infinity | (-inf in infinities) << form.magnitude_width


def times(x, y):
    """Return a product of fractions, infinities and NaN."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    return float(x) * float(y)


def fused(config, a, b, c, scales):
    """Return one fused sum; `a` and `b` are values, `c` is one, `scales` a pair per term."""
    width = config.fused.fraction_width
    terms = []
    exponents = [config.alignment_floor]
    group = config.fused.group
    for start in range(0, len(a), group):
        products = []
        for (x, x_exponent), (y, y_exponent) in list(zip(a, b, strict=True))[start : start + group]:
            products.append((times(x, y), x_exponent + y_exponent))
        if group > 1:
            products = [(sum(p * Fraction(2) ** e for p, e in products), 0)]
        for product, exponent in products:
            factor = Fraction(1)
            for significand, scale_exponent in scales[start] if scales else ():
                factor, exponent = times(factor, significand), exponent + scale_exponent
            terms.append((times(product, factor), exponent))
            if terms[-1][0] or (group > 1 and config.zero_groups and factor):
                exponents.append(exponent)
    terms.append(c)
    exponents += [c[1]] if c[0] else []
    if not all(isinstance(value, Fraction) for value, _ in terms):
        return special([value for value, _ in terms], config.result_format)
    largest = max(exponents)
    total = 0
    for value, exponent in terms:
        total += truncated(value * Fraction(2) ** (exponent - largest + width))
    to_nearest = config.result == "fp16"
    digits = 10 if to_nearest else config.fused.result_fraction_width
    exact = total * Fraction(2) ** (largest - width)
    return round_to(exact, config.result_format, digits, to_nearest)


def reference(config, a, b, c, a_scale=None, b_scale=None):
    """Return one dot product from lists of stored bits, by the definition."""
    a = [value_of(x, config.a_format) for x in a]
    b = [value_of(x, config.b_format) for x in b]
    c = value_of(c, config.addend_format)
    scales = None
    if config.scale:
        scales = [
            [
                value_of(scale[k // config.offer.block], config.scale_format)
                for scale in (a_scale, b_scale)
            ]
            for k in range(config.terms)
        ]
    for columns in instructions(config):
        total = (Fraction(0), 0) if config.fused.separate_addend else c
        for chunk in columns:
            pairs = ([x[k] for k in chunk] for x in (a, b))
            stored = fused(config, *pairs, total, scales and [scales[k] for k in chunk])
            total = value_of(stored, config.result_format)
        if config.fused.separate_addend:
            stored = plus(total, c, config.result_format)
            total = value_of(stored, config.result_format)
        c = total
    return stored


def instructions(config):
    """Return the columns of each fused sum of each instruction."""
    length = config.fused.chunk * config.fused.alternating
    for start in range(0, config.terms, length):
        columns = range(start, min(start + length, config.terms))
        if config.fused.alternating == 1:
            yield [columns]
        else:
            assert config.fused.alternating == 2
            yield [[k for k in columns if k % 4 < 2], [k for k in columns if k % 4 >= 2]]


def plus(x, y, form):
    """Return the sum of two values, rounded to nearest even."""
    if not all(isinstance(value, Fraction) for value, _ in (x, y)):
        return special([value for value, _ in (x, y)], form)
    exact = sum(value * Fraction(2) ** exponent for value, exponent in (x, y))
    return round_to(exact, form, form.fraction_width, True)


def every_config(terms):
    """Yield a config for every combination of formats of all fused numerics."""
    for numerics, offers in NUMERICS.items():
        if numerics in TREES:
            continue
        for offer in offers:
            for a in offer.formats:
                for b in offer.formats:
                    for addend, result in offer.accumulators:
                        yield DotProductConfig(
                            terms=max(terms, offer.block),
                            numerics=numerics,
                            a=a,
                            b=b,
                            addend=addend,
                            result=result,
                            scale=offer.scale,
                            block=offer.block or None,
                        )


def name_of(config):
    scale = f"-{config.scale}-{config.offer.block}" if config.scale else ""
    accumulators = f"{config.addend}-{config.result}"
    return f"{config.numerics}-{config.a}-{config.b}{scale}-{accumulators}-{config.terms}"


CONFIGS = [*every_config(4), *every_config(16), *every_config(32)]
# Two instructions, or four groups and more.
CONFIGS += [
    config
    for config in every_config(64)
    if config.fused.separate_addend or (config.scale and config.a == config.b)
]
CONFIGS = {name_of(config): config for config in CONFIGS}


def check(config, operands):
    rows = (
        {name: x[k].tolist() for name, x in operands.items()} for k in range(len(operands["c"]))
    )
    expected = [reference(config, **row) for row in rows]
    require_equal(dot_product(config, **operands), expected, **operands)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(12)
def test_golden_model_matches_definition(name):
    config = CONFIGS[name]
    check(config, dot_operands(config, np.random.default_rng(len(name)), 50))


@pytest.mark.parametrize("floor", [-140, -133, -132, -20, 0])
@pytest.mark.parametrize("name", ["bf16", "fp16", "mxfp8", "nvfp4"])
@pytest.mark.quick(9)
def test_golden_model_matches_definition_with_another_floor(name, floor):
    options = {
        "bf16": {"numerics": "nvidia(ampere)", "a": "bf16", "b": "bf16"},
        "fp16": {"numerics": "nvidia(volta)", "addend": "fp16", "result": "fp16"},
        "mxfp8": {"a": "fp8_e5m2", "b": "fp8_e4m3", "scale": "e8m0", "terms": 32},
        "nvfp4": {"a": "fp4_e2m1", "b": "fp4_e2m1", "scale": "ue4m3", "terms": 16},
    }[name]
    common = {"terms": 4, "numerics": "nvidia(blackwell)", "floor": floor}
    config = DotProductConfig(**common | options)
    check(config, dot_operands(config, np.random.default_rng(-floor), 100))


@pytest.mark.parametrize(
    ("numerics", "last_bit"),
    [("volta", 23), ("turing", 24), ("ampere", 24), ("ada", 24), ("hopper", 25), ("blackwell", 25)],
)
def test_fraction_bits_that_are_kept(numerics, last_bit):
    """1 - 1 + 2**-k is not zero while the last term keeps a bit relative to the others."""
    config = DotProductConfig(terms=4, numerics=f"nvidia({numerics})")
    k = np.arange(20, 28)
    a, b = np.zeros((2, len(k), 4), np.uint32)
    a[:, 0], b[:, 0] = 0xBC00, 0x3C00
    a[:, 2], b[:, 2] = (15 - k // 2) << 10, (15 - (k - k // 2)) << 10
    result = dot_product(config, a, b, np.full(len(k), 0x3F80_0000))
    assert (result != 0).tolist() == (k <= last_bit).tolist()


def test_nan_is_all_ones_but_its_sign():
    for result, stored in (("fp32", 0x7FFF_FFFF), ("fp16", 0x7FFF)):
        config = DotProductConfig(terms=4, numerics="nvidia(volta)", addend=result, result=result)
        infinity, zero = [[0x7C00, 0, 0, 0]], [[0, 0, 0, 0]]
        assert dot_product(config, infinity, zero, [0]).tolist() == [stored]


def test_only_an_exact_zero_loses_its_sign():
    config = DotProductConfig(terms=4, numerics="nvidia(volta)", addend="fp16", result="fp16")
    a, b = [[0x0400, 0, 0, 0]] * 3, [[0x8800, 0, 0, 0], [0x8000, 0, 0, 0], [0xBC00, 0, 0, 0]]
    # -2**-27, a sum of negative zeros only, and an exact cancellation.
    assert dot_product(config, a, b, [0, 0x8000, 0x0400]).tolist() == [0x8000, 0, 0]
