"""Non-arithmetic units: classes, comparisons, signs, and integers to and from floats."""

from functools import partial

import numpy as np

from ....hw.arith.float.classify import CLASS_LAYOUT, Classify, ClassifyConfig
from ....hw.arith.float.compare import Compare, CompareConfig, Comparison
from ....hw.arith.float.from_integer import FromInteger, FromIntegerConfig
from ....hw.arith.float.rounding import Rounding
from ....hw.arith.float.sign_inject import SignInject, SignInjectConfig, SignOperation
from ....hw.arith.float.to_integer import ToInteger, ToIntegerConfig
from ....hw.config.formats import FORMATS, FP32, INT32, FloatFormat
from ...golden.arith.float import conversions
from ...golden.arith.float.floats import corners, encode, is_signalling
from ...golden.arith.float.operands import random_bits
from .unit import Unit

__all__ = [
    "class_operands",
    "class_reference",
    "comparison_operands",
    "from_integer_operands",
    "integer_reference",
    "sign_operands",
    "to_integer_operands",
    "units",
]

Vectors = dict[str, np.ndarray]
GROUP = "Comparison and integers"
COMPARISONS = {
    Comparison.EQUAL: "feq.s",
    Comparison.LESS: "flt.s",
    Comparison.LESS_EQUAL: "fle.s",
    Comparison.MINIMUM: "fmin.s",
    Comparison.MAXIMUM: "fmax.s",
}
SIGNS = {
    SignOperation.COPY: "fsgnj.s",
    SignOperation.NEGATE: "fsgnjn.s",
    SignOperation.EXCLUSIVE_OR: "fsgnjx.s",
}
#: Unsigned and signed instruction.
FROM_INTEGER = ("fcvt.s.wu", "fcvt.s.w")
TO_INTEGER = ("fcvt.wu.s", "fcvt.w.s")


def pick(rng: np.random.Generator, choices, count: int) -> np.ndarray:
    """Return uniform picks of `choices`."""
    return rng.choice(np.array(list(choices), np.uint32), count)


def by_operation(names: dict, operation, *operands, rounding=None) -> Vectors:
    """Return QEMU's results and flags with a separate instruction per vector."""
    from ...oracle.qemu import qemu

    modes = np.zeros(len(operation), np.uint32) if rounding is None else rounding
    results, flags = np.zeros((2, len(operation)), np.uint32)
    for code, name in names.items():
        chosen = operation == code
        results[chosen], flags[chosen] = qemu(
            name, *(x[chosen] for x in operands), rounding=modes[chosen]
        )
    return {"o": results, "flags": flags}


def pairs(rng: np.random.Generator, count: int, form: FloatFormat) -> tuple[np.ndarray, np.ndarray]:
    """Return operands; half of the pairs have equal or neighbouring magnitudes."""
    a, b = random_bits(rng, form, count), random_bits(rng, form, count)
    beside = (a.astype(np.int64) + rng.integers(-1, 2, count)) & form.magnitude_mask
    if form.signed:
        beside |= rng.integers(0, 2, count) << form.magnitude_width
    return a, np.where(rng.random(count) < 0.5, beside, b).astype(np.uint32)


def comparison_operands(rng: np.random.Generator, count: int, form: FloatFormat = FP32) -> Vectors:
    """Return operations and operands of a comparison."""
    a, b = pairs(rng, count, form)
    return {"operation": pick(rng, Comparison, count), "a": a, "b": b}


def sign_operands(rng: np.random.Generator, count: int, form: FloatFormat = FP32) -> Vectors:
    """Return operations and operands of sign injection."""
    a, b = pairs(rng, count, form)
    return {"operation": pick(rng, SignOperation, count), "a": a, "b": b}


def compare_reference(operation, a, b) -> Vectors:
    """Return QEMU's outputs of a comparison.

    For the minimum of a signalling NaN and a number, where QEMU follows an older standard, the
    oracle follows the current one.
    """
    return by_operation(COMPARISONS, operation, a, b)


def sign_reference(operation, a, b) -> Vectors:
    """Return QEMU's outputs of sign injection."""
    return {"o": by_operation(SIGNS, operation, a, b)["o"]}


def class_operands(rng: np.random.Generator, count: int, form: FloatFormat) -> Vectors:
    """Return codes of `form`."""
    return {"i": random_bits(rng, form, count)}


def class_reference(form: FloatFormat, i) -> Vectors:
    """Return QEMU's classes of FP32; for other formats, those of gfloat's values."""
    if form == FP32:
        from ...oracle.qemu import qemu

        return {"o": qemu("fclass.s", i)[0]}
    from ...oracle.narrow_formats import decode_by_gfloat, info_of

    values = decode_by_gfloat(i, form)
    is_subnormal = np.abs(values) < info_of(form).smallest_normal
    fields = {name: 1 << field.offset for name, field in CLASS_LAYOUT}
    kinds = [np.isinf(values), values == 0, is_subnormal, np.ones(len(values), bool)]
    names = ("infinity", "zero", "subnormal", "normal")
    positive, negative = (
        np.select(kinds, [fields[f"{sign}_{name}"] for name in names])
        for sign in ("positive", "negative")
    )
    classes = np.where(np.signbit(values), negative, positive)
    nan = np.where(is_signalling(i, form), fields["signalling_nan"], fields["quiet_nan"])
    return {"o": np.where(np.isnan(values), nan, classes).astype(np.uint32)}


def every_code(form: FloatFormat) -> Vectors:
    """Return each code."""
    return {"i": np.arange(1 << form.width, dtype=np.uint32)}


def integers(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return integers of all lengths, ties and powers of two, of either sign."""
    uniform = rng.integers(0, 1 << 32, count) >> rng.integers(0, 32, count)
    # Slightly more than 24 bits: whole units, ties, and their neighbours.
    length = rng.integers(24, 33, count)
    units = rng.integers(1 << 23, 1 << 24, count) << length - 24
    near_tie = units + (1 << length - 24 >> 1) + rng.integers(-1, 2, count)
    corner = rng.choice(corners(INT32), count).astype(np.int64)
    value = np.choose(rng.integers(0, 4, count), [uniform, near_tie, units, corner])
    value = np.where(rng.random(count) < 0.5, -value, value)
    return (value & 0xFFFF_FFFF).astype(np.uint32)


def from_integer_operands(rng: np.random.Generator, count: int) -> Vectors:
    """Return integers, their signedness, and modes."""
    return {
        "i": integers(rng, count),
        "is_signed": pick(rng, (0, 1), count),
        "rounding": pick(rng, Rounding, count),
    }


def to_integer_operands(rng: np.random.Generator, count: int) -> Vectors:
    """Return floats, half near integers, half-integers and the ends of the ranges; and modes."""
    eighths = rng.integers(-40, 41, count) / 8
    whole = integers(rng, count).view(np.int32).astype(np.float64) * rng.choice([0.5, 1, 2], count)
    value = np.where(rng.random(count) < 0.4, eighths, whole)
    beside = encode(value, FP32).astype(np.int64) + rng.integers(-1, 2, count)
    i = np.where(rng.random(count) < 0.6, beside & 0xFFFF_FFFF, random_bits(rng, FP32, count))
    # Few exponents lie between the first fraction bits and the ends of the range.
    exponent = rng.integers(FP32.bias - 3, FP32.bias + 34, count) << FP32.fraction_width
    inside = i & ~(FP32.exponent_mask << FP32.fraction_width) | exponent
    i = np.where(rng.random(count) < 0.3, inside, i).astype(np.uint32)
    return {
        "i": i,
        "is_signed": pick(rng, (0, 1), count),
        "rounding": pick(rng, Rounding, count),
    }


def integer_reference(names: tuple[str, str], i, is_signed, rounding) -> Vectors:
    """Return QEMU's outputs of a conversion, given the unsigned and the signed instruction."""
    return by_operation(dict(enumerate(names)), is_signed, i, rounding=rounding)


def outputs(model, **inputs) -> Vectors:
    """Return a golden model's outputs by port: the result, and flags if there are any."""
    result = model(**inputs)
    return (
        dict(zip(("o", "flags"), result, strict=True))
        if isinstance(result, tuple)
        else {"o": result}
    )


def class_units() -> list[Unit]:
    """Return one unit per format."""
    return [
        Unit(
            name=f"classify_{form.name}",
            group=GROUP,
            component=partial(Classify, ClassifyConfig(form=form)),
            latency=0,
            operands=partial(class_operands, form=form),
            golden=partial(outputs, partial(conversions.classify, form=form)),
            oracle="QEMU" if form == FP32 else "gfloat",
            reference=partial(class_reference, form),
            exhaustive=partial(every_code, form) if form.width < FP32.width else None,
        )
        for form in FORMATS.values()
        if isinstance(form, FloatFormat)
    ]


def by_qemu(name: str, component, operands, model, reference, latency: int = 0) -> Unit:
    """Return a unit whose function is a QEMU instruction."""
    return Unit(
        name=name,
        group=GROUP,
        component=component,
        latency=latency,
        operands=operands,
        golden=partial(outputs, model),
        oracle="QEMU",
        reference=reference,
    )


def units() -> list[Unit]:
    """Return the units."""
    return [
        *class_units(),
        by_qemu(
            "compare",
            partial(Compare, CompareConfig()),
            comparison_operands,
            conversions.compare,
            compare_reference,
        ),
        by_qemu(
            "sign_inject",
            partial(SignInject, SignInjectConfig()),
            sign_operands,
            conversions.sign_inject,
            sign_reference,
        ),
        by_qemu(
            "from_integer",
            partial(FromInteger, FromIntegerConfig()),
            from_integer_operands,
            conversions.from_integer,
            partial(integer_reference, FROM_INTEGER),
            FromIntegerConfig().latency,
        ),
        by_qemu(
            "to_integer",
            partial(ToInteger, ToIntegerConfig()),
            to_integer_operands,
            conversions.to_integer,
            partial(integer_reference, TO_INTEGER),
            ToIntegerConfig().latency,
        ),
    ]
