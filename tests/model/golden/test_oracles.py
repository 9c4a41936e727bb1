"""Tests of the oracles: known cases, undefined cases, and detection of wrong values."""

import sys

import numpy as np
import pytest

from bench.oracle import narrow_formats as small
from bench.oracle import qemu as qemu_module
from bench.oracle.qemu import OPERATIONS, qemu
from bench.units.operands import floats as operands
from spica.base.errors import UserError
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import (
    BF16,
    E8M0,
    FP4_E2M1,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    INT8,
    UE4M3,
)
from spica.sim.golden.arith.float import floats

pytest.importorskip("unicorn")
pytest.importorskip("gfloat")

NEAREST_EVEN, TOWARD_ZERO, DOWN, UP, NEAREST_AWAY = Rounding
INEXACT, UNDERFLOW, OVERFLOW, BY_ZERO, INVALID = (1 << bit for bit in range(5))
QUIET, SIGNALLING, INFINITY, LARGEST, LEAST = 0x7FC0_0000, 0x7F80_0001, 0x7F80_0000, 0x7F7F_FFFF, 1
NEGATIVE = 0x8000_0000
ONE, TWO, THREE, HALF = 0x3F80_0000, 0x4000_0000, 0x4040_0000, 0x3F00_0000

#: Operation, operands, rounding mode, result, flags: from IEEE 754 and the RISC-V specification.
KNOWN = [
    ("fadd.s", (ONE, TWO), NEAREST_EVEN, THREE, 0),
    ("fadd.s", (ONE, NEGATIVE | ONE), NEAREST_EVEN, 0, 0),
    ("fadd.s", (ONE, NEGATIVE | ONE), DOWN, NEGATIVE, 0),
    ("fadd.s", (INFINITY, NEGATIVE | INFINITY), UP, QUIET, INVALID),
    ("fadd.s", (SIGNALLING, ONE), UP, QUIET, INVALID),
    ("fadd.s", (QUIET | NEGATIVE | 5, ONE), UP, QUIET, 0),
    ("fsub.s", (THREE, TWO), NEAREST_EVEN, ONE, 0),
    ("fmul.s", (LARGEST, TWO), NEAREST_EVEN, INFINITY, OVERFLOW | INEXACT),
    ("fmul.s", (LARGEST, TWO), TOWARD_ZERO, LARGEST, OVERFLOW | INEXACT),
    ("fmul.s", (LARGEST, NEGATIVE | TWO), UP, NEGATIVE | LARGEST, OVERFLOW | INEXACT),
    ("fmul.s", (LARGEST, NEGATIVE | TWO), DOWN, NEGATIVE | INFINITY, OVERFLOW | INEXACT),
    ("fmul.s", (LEAST, HALF), NEAREST_EVEN, 0, UNDERFLOW | INEXACT),
    ("fmul.s", (LEAST, HALF), NEAREST_AWAY, LEAST, UNDERFLOW | INEXACT),
    ("fmul.s", (LEAST, HALF), UP, LEAST, UNDERFLOW | INEXACT),
    ("fmul.s", (0, INFINITY), NEAREST_EVEN, QUIET, INVALID),
    # Just below the least normal: tiny or not, if rounded to the digits of a normal number.
    ("fmul.s", (0x3FFF_FFFF, 0x0040_0000), NEAREST_EVEN, 0x0080_0000, UNDERFLOW | INEXACT),
    ("fmul.s", (0x3F80_0001, 0x007F_FFFF), NEAREST_EVEN, 0x0080_0000, INEXACT),
    ("fmadd.s", (TWO, THREE, ONE), NEAREST_EVEN, 0x40E0_0000, 0),
    ("fmadd.s", (0, INFINITY, QUIET), NEAREST_EVEN, QUIET, INVALID),
    ("fmsub.s", (TWO, THREE, ONE), NEAREST_EVEN, 0x40A0_0000, 0),
    ("fnmsub.s", (TWO, THREE, ONE), NEAREST_EVEN, NEGATIVE | 0x40A0_0000, 0),
    ("fnmadd.s", (TWO, THREE, ONE), NEAREST_EVEN, NEGATIVE | 0x40E0_0000, 0),
    ("fdiv.s", (ONE, THREE), NEAREST_EVEN, 0x3EAA_AAAB, INEXACT),
    ("fdiv.s", (ONE, THREE), TOWARD_ZERO, 0x3EAA_AAAA, INEXACT),
    ("fdiv.s", (ONE, 0), NEAREST_EVEN, INFINITY, BY_ZERO),
    ("fdiv.s", (0, 0), NEAREST_EVEN, QUIET, INVALID),
    ("fsqrt.s", (0x4080_0000,), NEAREST_EVEN, TWO, 0),
    ("fsqrt.s", (TWO,), UP, 0x3FB5_04F4, INEXACT),
    ("fsqrt.s", (NEGATIVE | ONE,), NEAREST_EVEN, QUIET, INVALID),
    ("fsqrt.s", (NEGATIVE,), NEAREST_EVEN, NEGATIVE, 0),
    ("fsgnj.s", (ONE, NEGATIVE | TWO), NEAREST_EVEN, NEGATIVE | ONE, 0),
    ("fsgnjn.s", (ONE, NEGATIVE | TWO), NEAREST_EVEN, ONE, 0),
    ("fsgnjx.s", (NEGATIVE | SIGNALLING, NEGATIVE), NEAREST_EVEN, SIGNALLING, 0),
    ("fmin.s", (0, NEGATIVE), NEAREST_EVEN, NEGATIVE, 0),
    ("fmax.s", (0, NEGATIVE), NEAREST_EVEN, 0, 0),
    ("fmin.s", (QUIET, ONE), NEAREST_EVEN, ONE, 0),
    ("fmax.s", (QUIET, NEGATIVE | QUIET), NEAREST_EVEN, QUIET, 0),
    ("fmin.s", (SIGNALLING, ONE), NEAREST_EVEN, ONE, INVALID),
    ("fmax.s", (ONE, SIGNALLING), NEAREST_EVEN, ONE, INVALID),
    ("fmax.s", (QUIET, SIGNALLING), NEAREST_EVEN, QUIET, INVALID),
    ("feq.s", (0, NEGATIVE), NEAREST_EVEN, 1, 0),
    ("feq.s", (QUIET, ONE), NEAREST_EVEN, 0, 0),
    ("feq.s", (SIGNALLING, ONE), NEAREST_EVEN, 0, INVALID),
    ("flt.s", (ONE, TWO), NEAREST_EVEN, 1, 0),
    ("flt.s", (QUIET, ONE), NEAREST_EVEN, 0, INVALID),
    ("fle.s", (TWO, TWO), NEAREST_EVEN, 1, 0),
    ("fle.s", (ONE, QUIET), NEAREST_EVEN, 0, INVALID),
    *(
        ("fclass.s", (value,), NEAREST_EVEN, 1 << number, 0)
        for number, value in enumerate([
            *(NEGATIVE | INFINITY, NEGATIVE | ONE, NEGATIVE | LEAST, NEGATIVE),
            *(0, LEAST, ONE, INFINITY, SIGNALLING, QUIET),
        ])
    ),
    ("fcvt.w.s", (0x4020_0000,), NEAREST_EVEN, 2, INEXACT),  # 2.5
    ("fcvt.w.s", (0x4020_0000,), NEAREST_AWAY, 3, INEXACT),
    ("fcvt.w.s", (NEGATIVE | HALF,), DOWN, 0xFFFF_FFFF, INEXACT),
    ("fcvt.w.s", (0x4F00_0000,), NEAREST_EVEN, 0x7FFF_FFFF, INVALID),  # 2**31
    ("fcvt.w.s", (NEGATIVE | INFINITY,), NEAREST_EVEN, 0x8000_0000, INVALID),
    ("fcvt.w.s", (QUIET,), NEAREST_EVEN, 0x7FFF_FFFF, INVALID),
    ("fcvt.wu.s", (0x4F00_0000,), NEAREST_EVEN, 0x8000_0000, 0),
    ("fcvt.wu.s", (NEGATIVE | ONE,), NEAREST_EVEN, 0, INVALID),
    ("fcvt.wu.s", (NEGATIVE | HALF,), TOWARD_ZERO, 0, INEXACT),
    ("fcvt.wu.s", (QUIET,), NEAREST_EVEN, 0xFFFF_FFFF, INVALID),
    ("fcvt.s.w", (0xFFFF_FFFF,), NEAREST_EVEN, NEGATIVE | ONE, 0),
    ("fcvt.s.w", (0x7FFF_FFFF,), TOWARD_ZERO, 0x4EFF_FFFF, INEXACT),
    ("fcvt.s.wu", (0xFFFF_FFFF,), NEAREST_EVEN, 0x4F80_0000, INEXACT),
]


def test_names_of_flags_are_their_bits():
    names = ["inexact", "underflow", "overflow", "divide_by_zero", "invalid"]
    assert [FLAGS[name] for name in names] == [INEXACT, UNDERFLOW, OVERFLOW, BY_ZERO, INVALID]


def test_every_operation_is_known():
    assert {case[0] for case in KNOWN} == set(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_known_cases(operation):
    cases = [case[1:] for case in KNOWN if case[0] == operation]
    given = np.array([values for values, *_ in cases], np.uint32).T
    modes = np.array([mode for _, mode, *_ in cases])
    results, flags = qemu(operation, *given, rounding=modes)
    for k, (values, mode, result, raised) in enumerate(cases):
        shown = f"{operation} {[hex(v) for v in values]} {mode.name}"
        assert (hex(results[k]), flags[k]) == (hex(result), raised), shown


def test_one_operand_for_many_and_one_mode_for_all():
    a = np.arange(5, dtype=np.uint32) + ONE
    results, flags = qemu("fadd.s", a, LEAST, rounding=UP)
    assert np.array_equal(results, a + 1)
    assert flags.tolist() == [INEXACT] * 5
    assert qemu("fadd.s", a[:0], LEAST)[0].tolist() == []


def test_pieces_are_put_together_in_order(monkeypatch):
    a, b = operands.add_operands(np.random.default_rng(0), 5_000)
    whole = qemu("fdiv.s", a, b)
    monkeypatch.setattr(qemu_module, "CHUNK", 999)
    for one, other in zip(whole, qemu("fdiv.s", a, b), strict=True):
        assert np.array_equal(one, other)


def test_where_qemu_has_another_minimum_and_maximum():
    """Only for one signalling NaN and a number, and only in the result."""
    a, b = operands.crossed(*[floats.corners(FP32)] * 2)
    nan_a, nan_b = (np.isnan(floats.decode(x, FP32)) for x in (a, b))
    signalling_a, signalling_b = (floats.is_signalling(x, FP32) for x in (a, b))
    expected = (signalling_a & ~nan_b) | (signalling_b & ~nan_a)
    assert expected.sum() > 50
    for operation in ("fmin.s", "fmax.s"):
        results, flags = qemu(operation, a, b)
        raw, raw_flags = qemu(operation, a, b, raw=True)
        assert np.array_equal(results != raw, expected)
        assert np.all(raw[expected] == QUIET)
        assert np.array_equal(flags, raw_flags)


@pytest.mark.parametrize("operation", ["fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s"])
def test_where_qemu_misses_an_invalid_product(operation):
    """Only for infinity times zero plus a quiet NaN, and only in the flag."""
    a, b, c = operands.crossed(*[floats.corners(FP32)] * 3)
    results, flags = qemu(operation, a, b, c)
    raw, raw_flags = qemu(operation, a, b, c, raw=True)
    values = [floats.decode(x, FP32) for x in (a, b, c)]
    invalid = np.isinf(values[0]) & (values[1] == 0) | np.isinf(values[1]) & (values[0] == 0)
    quiet = np.isnan(values[2]) & ~floats.is_signalling(c, FP32)
    assert np.array_equal(results, raw)
    assert np.array_equal(flags != raw_flags, invalid & quiet)
    assert np.all(flags[invalid] == INVALID) and np.all(results[invalid] == QUIET)


@pytest.mark.parametrize(
    "operation",
    [
        name
        for name in OPERATIONS
        if name[:4] not in ("fmin", "fmax", "fmad", "fmsu", "fnma", "fnms")
    ],
)
def test_nowhere_else_is_anything_changed(operation):
    count = OPERATIONS[operation][0][1]
    given = operands.crossed(*[floats.corners(FP32)] * count)
    for one, other in zip(qemu(operation, *given), qemu(operation, *given, raw=True), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("wrong", [DOWN, TOWARD_ZERO, UP, NEAREST_AWAY])
def test_a_wrong_mode_is_reported(wrong):
    a, b = operands.multiply_operands(np.random.default_rng(5), 10_000)
    assert np.any(floats.multiply(a, b) != qemu("fmul.s", a, b, rounding=wrong)[0])
    values = np.arange(-8192, 8192) / 4096  # with ties of each format
    for form in (FP16, FP8_E4M3, FP4_E2M1):
        assert np.any(floats.encode(values, form) != small.encode_by_gfloat(values, form, wrong))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: qemu("fmod.s", [0], [0]), "operation must be one of fmadd.s, .*, not 'fmod.s'"),
        (lambda: qemu("fadd.s", [0]), "fadd.s must have 2 operands, not 1"),
        (lambda: qemu("fsqrt.s", [0], rounding=5), "rounding must be 0 to 4, not 5"),
        (lambda: small.decode_by_gfloat([0], INT8), "gfloat has no int8"),
    ],
)
def test_impossible_operations_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("unicorn", lambda: qemu("fsqrt.s", [ONE])),
        ("gfloat", lambda: small.encode_by_gfloat([1.0], FP8_E4M3)),
    ],
)
def test_a_missing_package_is_named(monkeypatch, package, call):
    small.info_of.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf"{package} is not installed: pip install 'spica\[dev\]'"):
        call()


#: Format, value, code to nearest even; None where gfloat is not defined.
SMALL = [
    (FP8_E4M3, 448.0, 0x7E),
    (FP8_E4M3, 464.0, 0x7E),  # midpoint to 480, whose code is a NaN
    (FP8_E4M3, 465.0, 0x7F),
    (FP8_E4M3, -1e9, 0x7F),
    (FP8_E5M2, 61439.0, 0x7B),
    (FP8_E5M2, 61440.0, 0x7C),
    (FP8_E5M2, float("nan"), 0x7E),
    (FP4_E2M1, 2.5, 4),
    (FP4_E2M1, -3.5, 14),
    (FP4_E2M1, 1e9, 7),
    (FP4_E2M1, float("nan"), None),
    (BF16, 1 + 2.0**-8, 0x3F80),
    (UE4M3, 0.5, 0x30),
    (UE4M3, -0.5, None),
    (E8M0, 1.0, 127),
    (E8M0, 0.0, None),
    (E8M0, 2.0**-128, None),
]


@pytest.mark.parametrize(("form", "value", "code"), SMALL)
def test_known_codes(form, value, code):
    (encoded,) = small.encode_by_gfloat(np.array([value]), form).tolist()
    assert encoded == code


def test_ties_of_e8m0():
    values = np.array([1.5, 3.0, 6.0])
    assert small.encode_by_gfloat(values, E8M0).tolist() == [128, 128, 130]
