"""Tests of numeric signatures of each generation's dot product, by chosen sums.

The fast tests use the golden models, the slow ones the RTL.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from bench.units.bench import UnitBench
from bench.units.operands.dot_product import dot_operands
from bench.units.unit import Unit
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.arith.dot_product.dot_product import DotProduct
from spica.hw.arith.dot_product.latency import dot_product_latency
from spica.hw.config.formats import FORMATS
from spica.hw.config.numerics import NUMERICS
from spica.sim.golden.arith.dot_product.dot_product import dot_product
from spica.sim.golden.arith.float import floats
from spica.synth.measure import measure

FP32_NAN, FP16_NAN = 0x7FFF_FFFF, 0x7FFF
#: Kept fraction bits, and terms of one fused sum, as published; not taken from the tested tables.
PUBLISHED = {
    "volta fp16": (23, 4),
    "turing fp16": (24, 8),
    "turing_chunk4 fp16": (24, 4),
    "ampere fp16": (24, 8),
    "ampere bf16": (24, 8),
    "ampere tf32": (24, 4),
    "ada fp16": (24, 8),
    "ada bf16": (24, 8),
    "ada tf32": (24, 4),
    "ada fp8_e5m2": (13, 16),
    "ada fp8_e4m3": (13, 16),
    "hopper fp16": (25, 16),
    "hopper bf16": (25, 16),
    "hopper tf32": (25, 8),
    "hopper fp8_e5m2": (13, 32),
    "hopper fp8_e4m3": (13, 32),
    "hopper_mma_sync fp8_e5m2": (13, 32),
    "hopper_mma_sync fp8_e4m3": (13, 32),
    "blackwell fp16": (25, 16),
    "blackwell bf16": (25, 16),
    "blackwell tf32": (25, 8),
    "blackwell fp8_e5m2": (25, 32),
    "blackwell fp8_e4m3": (25, 32),
    "blackwell fp6_e3m2": (25, 32),
    "blackwell fp6_e2m3": (25, 32),
    "blackwell fp4_e2m1": (25, 32),
    "blackwell fp8_e4m3 e8m0": (25, 32),
    "blackwell_mxf8f6f4 fp4_e2m1 e8m0": (25, 32),
    "blackwell fp4_e2m1 e8m0": (35, 64),
    "blackwell fp4_e2m1 ue4m3": (35, 64),
}
#: The same where the addend is not a term, but added after the sum.
SEPARATE = {
    "b200_mma_sync fp8_e5m2": (25, 32),
    "b200_mma_sync fp8_e4m3": (25, 32),
    "b200_mma_sync fp8_e4m3 fp16": (25, 16),
    "hopper_mma_sync fp8_e4m3 fp16": (25, 16),
}
#: Configs whose RTL the slow tests run.
HARDWARE = (
    *("volta fp16", "ampere fp16", "ampere tf32", "hopper bf16", "ada fp8_e4m3"),
    *("blackwell fp8_e5m2", "blackwell fp8_e4m3 e8m0", "blackwell fp4_e2m1 ue4m3"),
)


def config_of(name, terms=None, **changes):
    """Return the config of a name above, of one fused sum unless `terms` is given."""
    generation, form, *scale = name.split()
    return DotProductConfig(
        terms=terms or PUBLISHED[name][1],
        numerics=f"nvidia({generation})",
        a=form,
        b=form,
        scale=scale[0] if scale else None,
        **changes,
    )


def stored(values, form):
    """Return `values` as stored bits; each must be representable."""
    values = np.asarray(values, np.float64)
    bits = floats.encode(values, form)
    assert np.array_equal(floats.decode(bits, form), values), f"{values} are not all {form.name}"
    return bits


def vectors(config, products, addends):
    """Return operands for rows of pairs of factors, padded with zeros, and scales of 1."""
    count = len(addends)
    factors = np.zeros((2, count, config.terms))
    for row, pairs in enumerate(products):
        for column, pair in pairs.items():
            factors[:, row, column] = pair
    inputs = {
        "a": stored(factors[0], config.a_format),
        "b": stored(factors[1], config.b_format),
        "c": stored(addends, config.addend_format),
    }
    if config.scale_format:
        for name in ("a_scale", "b_scale"):
            inputs[name] = stored(np.ones((count, config.scales)), config.scale_format)
    return inputs


def compute_golden(config, **inputs):
    return dot_product(config, **inputs)


def value(results, config):
    return floats.decode(results, config.result_format)


@pytest.fixture(scope="module")
def hardware():
    """Return a function like `compute_golden` that runs the RTL on Verilator."""
    units = [
        Unit(
            name=name.replace(" ", "_"),
            group="Dot product",
            component=partial(DotProduct, config_of(name)),
            latency=dot_product_latency(config_of(name)),
            operands=partial(dot_operands, config_of(name)),
            golden=lambda **inputs: inputs,  # unused
            oracle="published figures",
        )
        for name in HARDWARE
    ]
    numbers = {config_of(name): name.replace(" ", "_") for name in HARDWARE}
    with UnitBench(units) as bench:
        yield lambda config, **inputs: bench.run(numbers[config], inputs)["o"]


UNGROUPED = [name for name in PUBLISHED if config_of(name).fused.group == 1]
#: Formats with products that vanish relative to 1: not those of few exponents or of groups.
WITH_SMALL_PRODUCTS = [
    name
    for name in PUBLISHED
    if config_of(name).fused.group == 1 and config_of(name).a_format.exponent_width >= 4
]


@pytest.fixture
def compute(request):
    """Return the function under test: golden model or RTL."""
    return compute_golden if request.param == "golden" else request.getfixturevalue("hardware")


def subjects(names):
    """Parametrise a test by `names` on the golden model, in slow tests also on RTL."""
    return pytest.mark.parametrize(
        ("name", "compute"),
        [
            *(pytest.param(name, "golden", id=name) for name in names),
            *(
                pytest.param(name, "hardware", id=f"{name} hardware", marks=pytest.mark.slow)
                for name in names
                if name in HARDWARE
            ),
        ],
        indirect=["compute"],
    )


def last_column(config):
    """Return a column never added exactly to column 0: of the next group, or the next column."""
    return config.fused.group if config.fused.group > 1 else 1


def test_every_offer_has_a_signature_here():
    """A row of the tables without a published figure would not be tested."""
    offered = {
        f"{numerics[7:-1]} {form} {offer.scale or ''}".strip()
        for numerics, offers in NUMERICS.items()
        for offer in offers
        for form in offer.formats
        if offer.fused and ("fp32", "fp32") in offer.accumulators
    }
    mixes = {name for name in offered if name.endswith("e8m0")} - set(PUBLISHED)
    assert offered - mixes == {*PUBLISHED, *(name for name in SEPARATE if "fp16" not in name)}
    for name in mixes:
        # The same arithmetic under another name.
        assert name.startswith(("blackwell fp", "blackwell_mxf8f6f4 fp"))


@subjects(PUBLISHED)
def test_signature_by_a_small_addend(name, compute):
    """1 - 1 + 2**-k is 2**-k exactly if 2**-k is within the bits that terms keep."""
    config = config_of(name)
    fraction_width = PUBLISHED[name][0]
    exponents = np.arange(1, 48)
    inputs = vectors(
        config,
        [{0: (1, 1), last_column(config): (-1, 1)}] * len(exponents),
        np.ldexp(1.0, -exponents),
    )
    expected = np.where(exponents <= fraction_width, np.ldexp(1.0, -exponents), 0)
    assert value(compute(config, **inputs), config).tolist() == expected.tolist()


@subjects(UNGROUPED)
def test_signature_by_a_small_product(name, compute):
    """The same with an addend of 2**s, its negative and 2**(s-k) as products."""
    config = config_of(name)
    fraction_width = PUBLISHED[name][0]
    form = config.a_format
    least = 2 * form.least_exponent
    start = min(2 * form.largest_exponent, 40)
    exponents = np.arange(1, min(start - least, 48) + 1)
    products = []
    for k in exponents:
        first = max((start - k) // 2, form.least_exponent)
        small = (2.0**first, 2.0 ** (start - k - first))
        large = (2.0 ** (start // 2), -(2.0 ** (start - start // 2)))
        products.append({0: large, 1: small})
    inputs = vectors(config, products, np.full(len(exponents), 2.0**start))
    expected = np.where(exponents <= fraction_width, np.ldexp(1.0, start - exponents), 0)
    assert value(compute(config, **inputs), config).tolist() == expected.tolist()
    if name in WITH_SMALL_PRODUCTS:
        assert exponents[-1] > fraction_width, "no product is small enough to vanish"


@subjects(PUBLISHED)
def test_order_inside_a_fused_sum_does_not_matter(name, compute):
    """Every vector in several orders; a scaled term stays in its group of one scale."""
    config = config_of(name)
    rng = np.random.default_rng(7)
    inputs = dot_operands(config, rng, 300)
    expected = compute(config, **inputs)
    group = config.fused.group if config.fused.group > 1 else config.terms
    orders = [np.arange(group)[::-1]] + [rng.permutation(group) for _ in range(12)]
    for order in orders:
        columns = np.concatenate([start + order for start in range(0, config.terms, group)])
        moved = {**inputs, "a": inputs["a"][:, columns], "b": inputs["b"][:, columns]}
        assert np.array_equal(compute(config, **moved), expected)


def separate_config(name):
    """Return the config of a name of `SEPARATE`, of one instruction."""
    numerics, form, *result = name.split()
    results = {"addend": result[0], "result": result[0]} if result else {}
    return DotProductConfig(terms=32, numerics=f"nvidia({numerics})", a=form, b=form, **results)


def pairs_of(values, places):
    """Return products for `vectors`: each value, split into two factors, at its place."""
    return {
        place: (value, 1) if abs(value) >= 2.0**-6 else (2.0**-6, value * 2.0**6)
        for value, place in zip(values, places, strict=True)
    }


@pytest.mark.parametrize("name", SEPARATE)
def test_an_addend_after_the_sum_is_not_truncated(name):
    """1 - 1 is 0 before c is added; and c does not truncate the products."""
    config = separate_config(name)
    least = config.result_format.least_exponent
    addends = np.ldexp(1.0, np.arange(least, 0))
    inputs = vectors(config, [{0: (1, 1), 1: (-1, 1)}] * len(addends), addends)
    assert value(compute_golden(config, **inputs), config).tolist() == addends.tolist()


@pytest.mark.parametrize("name", SEPARATE)
def test_sum_before_an_addend_is_rounded_and_so_is_the_addition(name):
    """Half of the last place is lost in the first rounding, or it goes to even in the second."""
    config = separate_config(name)
    digits = config.result_format.fraction_width
    half, is_half = 2.0 ** -(digits + 1), config.result == "fp16"
    # All terms are scaled by 2**8, so that FP8 products reach half of FP32's last place.
    scale = 1.0 if is_half else 2.0**16
    small = pairs_of([half * scale], [4]) if is_half else {4: (2.0**-4, 2.0**-4)}
    one = (1, 1) if is_half else (2.0**8, 2.0**8)
    rows = [{0: one} | small, {0: one}, {0: one}]
    addends = np.array([-scale, half * scale, 3 * half * scale])
    results = value(compute_golden(config, **vectors(config, rows, addends)), config) / scale
    assert results.tolist() == [0, 1, 1 + 4 * half]


@pytest.mark.parametrize("name", [name for name in SEPARATE if name.endswith("fp16")])
def test_pairs_of_products_alternate_between_two_sums(name):
    """2**11 and -2**11 cancel exactly in one sum; from one sum to the next, 1 + 1/2 is rounded."""
    config = separate_config(name)
    large, small = 2.0**11, 1.5
    rows = [
        pairs_of([large, -large, small], places)
        for places in ((0, 4, 1), (2, 6, 3), (0, 2, 1), (0, 2, 3), (0, 31, 28))
    ]
    rows = [
        {k: (p[0] / 64, p[1] * 64) if abs(p[0]) > 400 else p for k, p in row.items()}
        for row in rows
    ]
    results = value(compute_golden(config, **vectors(config, rows, [0] * len(rows))), config)
    assert results.tolist() == [1.5, 1.5, 2, 1.5, 2]


CHAINED = [name for name, (_, chunk) in PUBLISHED.items() if chunk < 32]


@pytest.mark.parametrize("name", CHAINED)
def test_order_between_fused_sums_matters(name):
    """1, then -1, then a small product: in the opposite order it vanishes relative to 1."""
    fraction_width, chunk = PUBLISHED[name]
    config = config_of(name, terms=2 * chunk)
    half = (fraction_width + 1) // 2
    small, minus_one = (2.0**-half, 2.0 ** (half - fraction_width - 1)), (-1, 1)
    inputs = vectors(config, [{0: minus_one, chunk: small}, {0: small, chunk: minus_one}], [1, 1])
    results = value(compute_golden(config, **inputs), config)
    assert results.tolist() == [2.0 ** -(fraction_width + 1), 0]


@pytest.mark.parametrize("name", WITH_SMALL_PRODUCTS)
def test_terms_of_a_fused_sum_by_experiment(name):
    """-1 in the first column cancels the addend 1; a small product survives from column L on."""
    fraction_width, chunk = PUBLISHED[name]
    config = config_of(name, terms=32)
    form = config.a_format
    large = 2.0 ** min(form.largest_exponent, 14)
    total = 2 * np.log2(large) - fraction_width - 1
    first = max(total // 2, form.least_exponent)
    small = (2.0**first, 2.0 ** (total - first))
    places = range(1, 32)
    inputs = vectors(
        config, [{0: (-large, large), place: small} for place in places], [large**2] * 31
    )
    survives = value(compute_golden(config, **inputs), config) != 0
    assert survives.tolist() == [place >= chunk for place in places]


#: Numerics that keep more fraction bits than an FP32 result has.
WIDE = [name for name in WITH_SMALL_PRODUCTS if PUBLISHED[name][0] > 23]


@pytest.mark.parametrize("name", [name for name in WIDE if "fp8" not in name])
def test_halves_of_the_last_place_add_up_inside_a_fused_sum_only(name):
    """Two products of 2**-24 together make the last place of 1; one at a time is rounded away."""
    _, chunk = PUBLISHED[name]
    config = config_of(name, terms=32)
    half = (2.0**-12, 2.0**-12)
    together = range(1, 32)
    inputs = vectors(config, [{0: half, place: half} for place in together], [1] * 31)
    results = value(compute_golden(config, **inputs), config)
    assert results.tolist() == [1 + 2.0**-23 if place < chunk else 1 for place in together]


@pytest.mark.parametrize("name", WIDE)
def test_fp32_results_are_rounded_toward_zero(name):
    """A tie: 1 + 2**-23 and half of its last place more; to nearest, it would go to even."""
    config = config_of(name)
    half = (2.0**-12, 2.0**-12) if config.a_format.least_exponent < -11 else (2.0**-9, 2.0**-9)
    scale = half[0] ** 2 * 2.0**24
    addends = np.array([1 + 2.0**-23, -1 - 2.0**-23]) * scale
    inputs = vectors(config, [{0: half}, {0: (-half[0], half[1])}], addends)
    results = value(compute_golden(config, **inputs), config)
    assert results.tolist() == addends.tolist()


def test_the_tree_of_fp32_rounds_to_nearest():
    config = DotProductConfig(terms=4, numerics="fp32_rne")
    inputs = vectors(config, [{0: (2.0**-12, 2.0**-12)}], [1 + 2.0**-23])
    assert value(compute_golden(config, **inputs), config).tolist() == [1 + 2.0**-22]


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name.endswith(" fp16")])
def test_fp16_results_are_rounded_to_nearest_even(name):
    config = config_of(name, addend="fp16", result="fp16")
    rest = np.array([1, 2, 3, 6, 7]) * 2.0**-12  # quarters of the last place of 1
    inputs = vectors(config, [{0: (1, x)} for x in rest], np.ones(5))
    steps = (value(compute_golden(config, **inputs), config) - 1) * 2.0**10
    assert steps.tolist() == [0, 0, 1, 2, 2]


#: Numerics in which the loss of all terms, a unit less one bit each, is 1.5 units of the result.
LOSING = [
    name
    for name in WITH_SMALL_PRODUCTS
    if PUBLISHED[name][1] >= 3 * 2 ** max(PUBLISHED[name][0] - 23, 0)
]


@pytest.mark.parametrize("name", LOSING)
def test_a_smaller_addend_can_give_a_larger_sum(name):
    """Just below 1 all terms keep one bit more, and enough of those outweigh the addend."""
    fraction_width, _ = PUBLISHED[name]
    config = config_of(name)
    form = config.a_format
    start = min(2 * form.largest_exponent - 2, 0) if form.least_exponent < -12 else 10
    total = start - fraction_width - 1
    first = max(total // 2, form.least_exponent)
    small = {column: (2.0**first, 2.0 ** (total - first)) for column in range(config.terms)}
    one = 2.0**start
    below = one * (1 - 2.0 ** -(min(fraction_width, 23) + 1))
    inputs = vectors(config, [small, small], [one, below])
    of_one, of_less = value(compute_golden(config, **inputs), config)
    assert of_one == one < of_less


@pytest.mark.parametrize("name", ["ada fp8_e4m3", "ada fp8_e5m2", "hopper fp8_e4m3"])
@pytest.mark.quick(1)
def test_fp8_results_had_13_fraction_bits(name):
    config = config_of(name)
    results = compute_golden(config, **dot_operands(config, np.random.default_rng(3), 20_000))
    finite = results[np.isfinite(value(results, config))]
    assert len(finite) > 10_000
    assert np.bitwise_or.reduce(finite & 0x3FF) == 0
    # All bits above are used, and Blackwell uses those below.
    assert np.bitwise_or.reduce(finite & 0x7F_FFFF) == 0x7F_FC00
    later = config_of("blackwell " + name.split()[1])
    results = compute_golden(later, **dot_operands(later, np.random.default_rng(3), 20_000))
    assert np.bitwise_or.reduce(results[np.isfinite(value(results, later))] & 0x3FF) == 0x3FF


@pytest.mark.parametrize("floor", [-126, -132, -133])
def test_terms_are_aligned_to_the_floor_at_least(floor):
    """Four products of a quarter of the least subnormal: a lower floor keeps their bits."""
    config = replace(config_of("ampere bf16"), floor=floor)
    quarter = (2.0**-76, 2.0**-75)
    inputs = vectors(config, [dict.fromkeys(range(4), quarter)], [0])
    assert value(compute_golden(config, **inputs), config) == (0 if floor == -126 else 2.0**-149)


@subjects(PUBLISHED)
def test_overflow(name, compute):
    """Values beyond the largest number become infinity, although rounding is toward zero."""
    config = config_of(name)
    form, fraction_width = config.result_format, config.fused.result_fraction_width
    largest = float(floats.decode(form.largest, form))
    ulp = 2.0 ** (127 - fraction_width)
    largest -= ulp if fraction_width == 23 else 0
    everything = [largest, -largest, np.inf, -np.inf]
    results = value(compute(config, **vectors(config, [{}] * 4, everything)), config)
    truncated = np.trunc(largest / ulp) * ulp
    assert results.tolist() == [truncated, -truncated, np.inf, -np.inf]
    if config.a_format.bias == 127:
        half = (2.0**63, 2.0 ** (127 - 23 - 63))
        pairs = [{0: half}, {0: half, 1: half}, {0: (2.0**64, 2.0**64)}]
        results = value(compute(config, **vectors(config, pairs, [largest] * 3)), config)
        assert results.tolist() == [largest + ulp, np.inf, np.inf]


@pytest.mark.parametrize("result", ["fp32", "fp16"])
def test_nan_is_all_ones_but_its_sign(result):
    config = config_of("volta fp16", addend=result, result=result)
    infinity = np.inf
    rows = [
        {0: (np.nan, 1)},
        {0: (infinity, 0)},
        {0: (infinity, 1), 3: (-1, infinity)},
        {0: (infinity, 1)},
        {2: (-infinity, 2)},
    ]
    count = len(rows)
    factors = np.zeros((2, count, 4))
    for row, pairs in enumerate(rows):
        for column, pair in pairs.items():
            factors[:, row, column] = pair
    a, b = (floats.encode(x, config.a_format) for x in factors)
    results = compute_golden(config, a=a, b=b, c=np.zeros(count, np.uint32))
    form = FORMATS[result]
    nan = {"fp32": FP32_NAN, "fp16": FP16_NAN}[result]
    negative = form.infinity | 1 << form.magnitude_width
    assert results.tolist() == [nan, nan, nan, form.infinity, negative]


def test_products_of_virgo_overflow_where_exact_ones_do_not():
    """256 * 256 exceeds FP16: infinity, and NaN with its negative."""
    rows = [{0: (256, 256)}, {0: (256, 256), 1: (-256, 256)}, {0: (255, 256)}]
    results = {}
    for numerics in ("virgo_hmma", "fp32_rne", "nvidia(volta)"):
        config = DotProductConfig(terms=4, numerics=numerics)
        inputs = vectors(config, rows, [0, 0, 0])
        results[numerics] = value(compute_golden(config, **inputs), config).tolist()
    assert results["fp32_rne"] == results["nvidia(volta)"] == [65536, 0, 65280]
    assert results["virgo_hmma"][0] == np.inf and np.isnan(results["virgo_hmma"][1])
    assert results["virgo_hmma"][2] == 65280


def test_fp4_groups_are_exact_inside():
    """Terms of one group cancel at any magnitude; between groups 35 fraction bits are kept."""
    config = config_of("blackwell fp4_e2m1 ue4m3")
    inputs = vectors(config, [{0: (6, 6), 1: (-6, 6), 2: (0.5, 0.5)}], [0])
    inputs["a_scale"][:] = stored([[448, 2.0**-9, 1, 1]], config.scale_format)
    assert value(compute_golden(config, **inputs), config).tolist() == [0.25 * 448]


@pytest.mark.slow
def test_a_fused_sum_takes_half_the_gates_of_a_tree():
    """As stated in docs/tensor_numerics.md."""
    fused, tree = (
        measure(DotProduct(DotProductConfig(terms=16, numerics=numerics)), "dot_product").nand2
        for numerics in ("nvidia(hopper)", "fp32_rne")
    )
    assert 0.4 < fused / tree < 0.6


@pytest.mark.full
def test_tables_of_the_page_are_those_of_the_golden_models(page_writer):
    generator = page_writer("tensor_numerics")
    text = generator.PAGE.read_text()
    assert generator.updated(text) == text, "make docs brings docs/tensor_numerics.md up to date"
