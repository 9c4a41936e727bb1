"""Units of division and square root."""

from functools import partial
from typing import Any

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...hw.float.divide_sqrt import DivideSqrt, DivideSqrtConfig, Operation
from ...hw.float.rounding import FLAGS, FLAGS_LAYOUT, Rounding
from ...hw.formats import BF16, FP16, FP32, FloatFormat
from ..golden.division import divide, square_root
from ..golden.floats import decode, encode, is_signalling
from ..golden.operands import crossed, half_of, random_bits
from .unit import Unit

__all__ = ["DividePorts", "divide_operands", "square_root_operands", "units", "units_of"]


class DividePorts(wiring.Component):
    """A unit for one operation with plain ports; results are taken as they come.

    Parameters
    ----------
    config : DivideSqrtConfig
    operation : Operation

    Members
    -------
    valid : In(1)
    rounding : In(Rounding)
    a : In(config.form.width)
    b : In(config.form.width)
        Present for a division.
    o : Out(config.form.width)
    flags : Out(5)

    """

    valid: Signal
    rounding: Signal
    a: Signal
    b: Signal
    o: Signal
    flags: Signal

    def __init__(self, config: DivideSqrtConfig, operation: Operation):
        self.config = config
        self.operation = operation
        width = config.form.width
        divisor = {"b": In(width)} if operation == Operation.DIVIDE else {}
        super().__init__({
            "valid": In(1),
            "rounding": In(Rounding),
            "a": In(width),
            **divisor,
            "o": Out(width),
            "flags": Out(FLAGS_LAYOUT.size),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = DivideSqrt(self.config)
        m.d.comb += [
            unit.i.valid.eq(self.valid),
            unit.i.payload.operation.eq(self.operation),
            unit.i.payload.rounding.eq(self.rounding),
            unit.i.payload.a.eq(self.a),
            unit.o.ready.eq(1),
            self.o.eq(unit.o.payload.result),
            self.flags.eq(unit.o.payload.flags),
        ]
        if self.operation == Operation.DIVIDE:
            m.d.comb += unit.i.payload.b.eq(self.b)
        return m


def beside(rng: np.random.Generator, stored: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return `stored`, or one of its two neighbours."""
    moved = stored.astype(np.int64) + rng.integers(-1, 2, len(stored))
    return (moved & ((1 << form.width) - 1)).astype(np.uint32)


def short(rng: np.random.Generator, width: int, count: int) -> np.ndarray:
    """Return odd numbers of up to `width` bits."""
    return (rng.integers(0, 1 << width, count) >> rng.integers(0, width, count)) | 1


def divide_operands(
    rng: np.random.Generator, count: int, form: FloatFormat = FP32
) -> dict[str, np.ndarray]:
    """Return operands of a division: random ones, and quotients chosen before their dividends.

    Those are exact, in the middle of two numbers, or a little beside either, of all exponents or
    of those where quotients become subnormal, vanish or overflow.
    """
    kind = rng.integers(0, 4, count)
    a, b = random_bits(rng, form, count), random_bits(rng, form, count)
    # A quotient of up to one bit more than a significand times a divisor; the product is exact
    # where the divisor is short, else it is rounded to a dividend beside it.
    digits = form.significand_width
    quotient = short(rng, digits + 1, count)
    quotient = np.where(kind == 1, quotient, short(rng, digits // 2, count))
    divisor = short(rng, digits - digits // 2, count)
    divisor = np.where(kind == 1, rng.integers(1 << digits - 1, 1 << digits, count), divisor)
    middle = form.bias + form.fraction_width
    edges = rng.choice([-middle - 2, -middle, 1 - form.bias, form.bias + 1], count)
    scale = np.where(kind == 3, edges + rng.integers(-2, 3, count), 0)
    scale -= np.where(kind == 3, np.frexp(quotient)[1] - 1, 0)
    half = scale // 2
    chosen_a = encode(np.ldexp((quotient * divisor).astype(np.float64), scale - half), form)
    chosen_b = encode(np.ldexp(divisor.astype(np.float64), -half), form)
    chosen_a = half_of(rng, chosen_a, beside(rng, chosen_a, form))
    sign = rng.integers(0, 2, count).astype(np.uint32) << np.uint32(form.magnitude_width)
    return {
        "rounding": rng.integers(0, len(Rounding), count).astype(np.uint32),
        "a": np.where(kind == 0, a, chosen_a ^ sign),
        "b": np.where(kind == 0, b, chosen_b),
    }


def square_root_operands(
    rng: np.random.Generator, count: int, form: FloatFormat = FP32
) -> dict[str, np.ndarray]:
    """Return operands of a square root: random ones, squares, and what is beside squares.

    Of numbers, and of the middles between two, which have one bit more.
    """
    kind = rng.integers(0, 3, count)
    root = decode(random_bits(rng, form, count) & form.magnitude_mask, form)
    root = np.where(np.isfinite(root), root, 1.0)
    fraction, exponent = np.frexp(root)
    # Half of the exponent, so that squares are numbers of all exponents.
    root = np.ldexp(fraction, exponent // 2)
    step = np.ldexp(1.0, exponent // 2 - form.significand_width - 1)
    near = root + np.where(rng.random(count) < 0.5, step, 0)
    coarse = np.ldexp(short(rng, form.significand_width // 2, count), exponent // 2)
    with np.errstate(over="ignore"):
        square = encode(np.where(kind == 1, near, coarse) ** 2, form)
    a = random_bits(rng, form, count)
    a = half_of(rng, a, a & np.uint32(form.magnitude_mask))
    return {
        "rounding": rng.integers(0, len(Rounding), count).astype(np.uint32),
        "a": np.where(kind == 0, a, half_of(rng, square, beside(rng, square, form))),
    }


def golden_divide(form: FloatFormat, *, rounding, a, b) -> dict[str, np.ndarray]:
    """Return the outputs of a division."""
    o, flags = divide(a, b, rounding, form)
    return {"o": o, "flags": flags}


def golden_square_root(form: FloatFormat, *, rounding, a) -> dict[str, np.ndarray]:
    """Return the outputs of a square root."""
    o, flags = square_root(a, rounding, form)
    return {"o": o, "flags": flags}


def reference(name: str, form: FloatFormat, *, rounding, **operands) -> dict[str, np.ndarray]:
    """Return what QEMU computes; of a narrower format what gfloat makes of that."""
    from ..oracle.qemu import qemu
    from ..oracle.small import decode_by_gfloat, encode_by_gfloat

    if form == FP32:
        o, flags = qemu(name, *operands.values(), rounding=rounding)
        return {"o": o, "flags": flags}
    singles = [
        decode_by_gfloat(stored, form).astype(np.float32).view(np.uint32)
        for stored in operands.values()
    ]
    # Cut and made odd where inexact, FP32 rounds to a shorter format as the exact value does.
    cut, flags = qemu(name, *singles, rounding=Rounding.TOWARD_ZERO)
    value = (cut | flags & FLAGS["inexact"]).view(np.float32).astype(np.float64)
    o = encode_by_gfloat(value, form, rounding)
    flags &= np.uint32(FLAGS["invalid"] | FLAGS["divide_by_zero"] | FLAGS["overflow"])
    for stored in operands.values():
        flags |= np.where(is_signalling(stored, form), np.uint32(FLAGS["invalid"]), np.uint32(0))
    return {"o": o, "flags": flags | flags_by_gfloat(value, o, form, rounding)}


def flags_by_gfloat(value, stored, form: FloatFormat, rounding) -> np.ndarray:
    """Return the flags of rounding finite values to `stored`."""
    from ..oracle.small import decode_by_gfloat, encode_by_gfloat

    is_finite = np.isfinite(value)
    is_inexact = is_finite & (decode_by_gfloat(stored, form) != value)
    # As many bits, but any exponent: what tells whether a result is too large or tiny.
    fraction, exponent = np.frexp(value)
    fraction = decode_by_gfloat(encode_by_gfloat(fraction, form, rounding), form)
    magnitude = np.abs(np.ldexp(fraction, exponent))
    is_overflow = is_finite & (magnitude > decode_by_gfloat(form.largest, form))
    is_tiny = magnitude < 2.0 ** (1 - form.bias)
    flags = np.where(is_inexact, FLAGS["inexact"], 0)
    flags |= np.where(is_inexact & is_tiny, FLAGS["underflow"], 0)
    return flags | np.where(is_overflow, FLAGS["overflow"], 0)


def every_radicand(form: FloatFormat) -> dict[str, np.ndarray]:
    """Return all operands of a square root."""
    rounding, a = crossed(
        np.arange(len(Rounding), dtype=np.uint32), np.arange(1 << form.width, dtype=np.uint32)
    )
    return {"rounding": rounding, "a": a}


def units_of(config: DivideSqrtConfig, group: str, suffix: str) -> list[Unit]:
    """Return both operations of one configuration."""
    form = config.form
    common: dict[str, Any] = {
        "latency": config.latency,
        "interval": config.interval,
        "group": group,
        "oracle": "QEMU" if form == FP32 else "QEMU, rounded by gfloat",
    }
    return [
        Unit(
            name=f"divide{suffix}",
            component=partial(DividePorts, config, Operation.DIVIDE),
            operands=partial(divide_operands, form=form),
            golden=partial(golden_divide, form),
            reference=partial(reference, "fdiv.s", form),
            **common,
        ),
        Unit(
            name=f"square_root{suffix}",
            component=partial(DividePorts, config, Operation.SQUARE_ROOT),
            operands=partial(square_root_operands, form=form),
            golden=partial(golden_square_root, form),
            reference=partial(reference, "fsqrt.s", form),
            exhaustive=partial(every_radicand, form) if form.width <= 16 else None,
            **common,
        ),
    ]


def units() -> list[Unit]:
    """Return division and square root of every format that has them."""
    return [
        *units_of(DivideSqrtConfig(form=FP32), "FP32", ""),
        *units_of(DivideSqrtConfig(form=FP16), "Narrow", "_fp16"),
        *units_of(DivideSqrtConfig(form=BF16), "Narrow", "_bf16"),
    ]
