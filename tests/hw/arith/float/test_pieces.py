"""Tests of common parts of the units: normaliser, carry-select adder, rounder, layouts."""

import random

import pytest
from amaranth import *

from spica.hw.arith.float.fused_sum import FusedSumConfig
from spica.hw.arith.float.magnitude_sum import MagnitudeSum, MagnitudeSumConfig
from spica.hw.arith.float.normalise import Normalise, NormaliseConfig
from spica.hw.arith.float.round import Round, RoundConfig
from spica.hw.arith.float.significand_product import SignificandProduct, SignificandProductConfig
from spica.hw.arith.float.sum import SumConfig
from spica.hw.arith.float.unpack import Unpack, UnpackConfig
from spica.hw.config.formats import FP16, INT8
from spica.hw.lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from spica.hw.lib.prefix_add import PrefixAdd, PrefixAddConfig
from spica.sim.golden.arith.float import floats
from support.vectors import evaluate


def outputs_of(dut, vectors, *outputs):
    """Return the outputs of a combinational component for each vector, a dict by port."""
    inputs = {name: [vector[name] for vector in vectors] for name in vectors[0]}
    results = evaluate(dut, inputs, outputs)
    return list(zip(*(values.tolist() for values in results.values()), strict=True))


@pytest.mark.parametrize(("width", "leading_zeros"), [(1, 0), (8, 0), (11, 10), (29, 28), (29, 1)])
def test_normalise(width, leading_zeros):
    rng = random.Random(width)
    words = [rng.getrandbits(width) >> rng.randint(0, leading_zeros) for _ in range(200)]
    words = [word | 1 << (width - 1 - leading_zeros) for word in words]
    dut = Normalise(NormaliseConfig(width=width, leading_zeros=leading_zeros))
    for word, (o, shift) in zip(
        words, outputs_of(dut, [{"i": word} for word in words], "o", "shift"), strict=True
    ):
        assert shift == width - word.bit_length()
        assert o == word << shift


def test_normalise_stops_at_its_limit():
    rng = random.Random(0)
    vectors = [
        {"i": rng.getrandbits(29) >> rng.randint(0, 28), "limit": 1 << rng.randint(0, 28)}
        for _ in range(300)
    ]
    dut = Normalise(NormaliseConfig(width=29, leading_zeros=28, limited=True))
    for vector, (o, shift) in zip(vectors, outputs_of(dut, vectors, "o", "shift"), strict=True):
        assert shift == 29 - max(vector["i"], vector["limit"]).bit_length()
        assert o == vector["i"] << shift


@pytest.mark.parametrize(
    ("width", "blocks"), [(1, ()), (8, ()), (8, (1,)), (31, (10, 20)), (30, (12, 13, 29))]
)
def test_carry_select_add(width, blocks):
    rng = random.Random(width)
    mask = (1 << width) - 1
    vectors = [
        {"a": a, "b": rng.choice([rng.getrandbits(width), ~a & mask]), "carry": rng.getrandbits(1)}
        for a in (rng.choice([0, mask, rng.getrandbits(width)]) for _ in range(200))
    ]
    dut = CarrySelectAdd(CarrySelectAddConfig(width=width, blocks=blocks))
    for vector, (o,) in zip(vectors, outputs_of(dut, vectors, "o"), strict=True):
        assert o == sum(vector.values()) & mask


@pytest.mark.parametrize("width", [1, 2, 13, 32, 53])
def test_prefix_add(width):
    rng = random.Random(width)
    mask = (1 << width) - 1
    vectors = [
        {"a": a, "b": rng.choice([rng.getrandbits(width), ~a & mask, -a & mask])}
        for a in (rng.choice([0, 1, mask, rng.getrandbits(width)]) for _ in range(200))
    ]
    dut = PrefixAdd(PrefixAddConfig(width=width))
    for vector, (o,) in zip(vectors, outputs_of(dut, vectors, "o"), strict=True):
        assert o == sum(vector.values()) & mask


@pytest.mark.parametrize("width", [2, 8, 29])
def test_magnitude_sum(width):
    rng = random.Random(width)
    mask = (1 << width) - 1
    pairs = []
    for _ in range(300):
        a = rng.choice([0, 1, mask >> 1, rng.getrandbits(width - 1)])
        b = rng.choice([0, a, max(a - 1, 0), (a + 1) & mask >> 1, rng.getrandbits(width - 1)])
        pairs.append((a, b, rng.getrandbits(1)))
    vectors = []
    for a, b, is_difference in pairs:
        added = b ^ (mask * is_difference)
        vector = {"half_sum": a ^ added, "generate": a & added, "is_difference": is_difference}
        vectors.append(vector)
    dut = MagnitudeSum(MagnitudeSumConfig(width=width))
    results = outputs_of(dut, vectors, "o", "is_negative")
    for (a, b, is_difference), (o, is_negative) in zip(pairs, results, strict=True):
        assert o == (abs(a - b) if is_difference else a + b)
        assert is_negative == (is_difference and a <= b)


@pytest.mark.parametrize("width", [1, 4, 12, 13, 24, 31])
def test_significand_product(width):
    rng = random.Random(width)
    mask = (1 << width) - 1
    vectors = [
        {name: rng.choice([0, 1, mask, rng.getrandbits(width)]) for name in "ab"}
        for _ in range(200)
    ]
    dut = SignificandProduct(SignificandProductConfig(width=width))
    for vector, (o,) in zip(vectors, outputs_of(dut, vectors, "o"), strict=True):
        assert o == vector["a"] * vector["b"]


def test_round_at_every_exponent():
    rng = random.Random(0)
    width = 14
    dut = Round(
        RoundConfig(
            form=FP16, significand_width=width, exponent_width=7, overflows=True, underflows=True
        )
    )
    fractions = [0, 1, 3, 4, 5, 8, 12, (1 << 13) - 1, (1 << 13) - 4, *[rng.getrandbits(13)] * 3]
    vectors = [
        {"significand": 1 << 13 | fraction, "exponent": exponent}
        for fraction in fractions
        for exponent in range(-64, 64)
    ]
    for vector, (o,) in zip(vectors, outputs_of(dut, vectors, "o"), strict=True):
        value = vector["significand"] * 2.0 ** (vector["exponent"] - FP16.bias - 13)
        assert o == floats.encode(value, FP16), vector


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: NormaliseConfig(width=8, leading_zeros=8),
            "leading_zeros must be between 0 and 7, not 8",
        ),
        (lambda: NormaliseConfig(width=0, leading_zeros=0), "width must be between 1 and 256"),
        (
            lambda: CarrySelectAddConfig(width=8, blocks=(5, 5)),
            r"blocks must ascend between 0 and width, 8, not \(5, 5\)",
        ),
        (lambda: CarrySelectAddConfig(width=8, blocks=(8,)), "blocks must ascend"),
        (
            lambda: RoundConfig(form=FP16, significand_width=12, exponent_width=6),
            "significand_width must be between 13 and 256, not 12",
        ),
        (
            lambda: RoundConfig(form=FP16, significand_width=13, exponent_width=5),
            "exponent_width must be between 6 and 32, not 5",
        ),
        (
            lambda: SumConfig(cuts=("order",)),
            "cuts must be of align, add, normalise, not 'order'",
        ),
        (
            lambda: FusedSumConfig(significand_width=48, exponent_width=10, cuts=("order",)),
            "cuts must be of align, add, normalise, not 'order'",
        ),
        (
            lambda: FusedSumConfig(significand_width=48, exponent_width=8),
            "exponent_width must be between 9 and 16, not 8",
        ),
        (
            lambda: FusedSumConfig(significand_width=1, exponent_width=10),
            "significand_width must be between 2 and 128, not 1",
        ),
        (lambda: PrefixAddConfig(width=0), "width must be between 1 and 256, not 0"),
        (lambda: MagnitudeSumConfig(width=1), "width must be between 2 and 256, not 1"),
        (lambda: SignificandProductConfig(width=0), "width must be between 1 and 128, not 0"),
    ],
)
def test_bad_config_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_integers_are_not_unpacked():
    values = [-128, -1, 0, 1, 127]
    dut = Unpack(UnpackConfig(form=INT8))
    results = outputs_of(dut, [{"i": value & 0xFF} for value in values], "o")
    assert [o for (o,) in results] == [value & 0xFF for value in values]
