"""Division and square root units."""

from functools import partial
from typing import Any

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....hw.arith.float.divide.divide_sqrt import DivideSqrt, DivideSqrtConfig, DivideSqrtOperation
from ....hw.arith.float.rounding import FLAGS, FLAGS_LAYOUT, Rounding
from ....hw.config.formats import BF16, FP16, FP32, FloatFormat
from ...golden.arith.float.division import divide, square_root
from ...golden.arith.float.floats import is_signalling
from ...golden.arith.float.operands import crossed
from .division_operands import divide_operands, square_root_operands
from .unit import Unit

__all__ = ["DividePorts", "golden_divide", "reference", "units", "units_of"]


class DividePorts(wiring.Component):
    """A unit for one operation with plain ports; results are accepted at once.

    Parameters
    ----------
    config : DivideSqrtConfig
    operation : DivideSqrtOperation

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

    def __init__(self, config: DivideSqrtConfig, operation: DivideSqrtOperation):
        self.config = config
        self.operation = operation
        width = config.form.width
        divisor = {"b": In(width)} if operation == DivideSqrtOperation.DIVIDE else {}
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
        if self.operation == DivideSqrtOperation.DIVIDE:
            m.d.comb += unit.i.payload.b.eq(self.b)
        return m


def golden_divide(form: FloatFormat, *, rounding, a, b) -> dict[str, np.ndarray]:
    """Return the outputs of a division."""
    o, flags = divide(a, b, rounding, form)
    return {"o": o, "flags": flags}


def golden_square_root(form: FloatFormat, *, rounding, a) -> dict[str, np.ndarray]:
    """Return the outputs of a square root."""
    o, flags = square_root(a, rounding, form)
    return {"o": o, "flags": flags}


def reference(name: str, form: FloatFormat, *, rounding, **operands) -> dict[str, np.ndarray]:
    """Return QEMU's results; for a narrower format, gfloat's rounding of them."""
    from ...oracle.narrow_formats import decode_by_gfloat, encode_by_gfloat
    from ...oracle.qemu import qemu

    if form == FP32:
        o, flags = qemu(name, *operands.values(), rounding=rounding)
        return {"o": o, "flags": flags}
    singles = [
        decode_by_gfloat(stored, form).astype(np.float32).view(np.uint32)
        for stored in operands.values()
    ]
    # Truncated to FP32 and rounded to odd, a value rounds to shorter formats like the exact one.
    cut, flags = qemu(name, *singles, rounding=Rounding.TOWARD_ZERO)
    value = (cut | flags & FLAGS["inexact"]).view(np.float32).astype(np.float64)
    o = encode_by_gfloat(value, form, rounding)
    flags &= np.uint32(FLAGS["invalid"] | FLAGS["divide_by_zero"] | FLAGS["overflow"])
    for stored in operands.values():
        flags |= np.where(is_signalling(stored, form), np.uint32(FLAGS["invalid"]), np.uint32(0))
    return {"o": o, "flags": flags | flags_by_gfloat(value, o, form, rounding)}


def flags_by_gfloat(value, stored, form: FloatFormat, rounding) -> np.ndarray:
    """Return the flags of rounding finite values to `stored`."""
    from ...oracle.narrow_formats import decode_by_gfloat, encode_by_gfloat

    is_finite = np.isfinite(value)
    is_inexact = is_finite & (decode_by_gfloat(stored, form) != value)
    # Same precision with any exponent: decides whether a result overflows or is tiny.
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
    """Return both operations of one config."""
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
            component=partial(DividePorts, config, DivideSqrtOperation.DIVIDE),
            operands=partial(divide_operands, form=form),
            golden=partial(golden_divide, form),
            reference=partial(reference, "fdiv.s", form),
            **common,
        ),
        Unit(
            name=f"square_root{suffix}",
            component=partial(DividePorts, config, DivideSqrtOperation.SQUARE_ROOT),
            operands=partial(square_root_operands, form=form),
            golden=partial(golden_square_root, form),
            reference=partial(reference, "fsqrt.s", form),
            exhaustive=partial(every_radicand, form) if form.width <= 16 else None,
            **common,
        ),
    ]


def units() -> list[Unit]:
    """Return division and square root of every format that supports them."""
    return [
        *units_of(DivideSqrtConfig(form=FP32), "FP32", ""),
        *units_of(DivideSqrtConfig(form=FP16), "Narrow", "_fp16"),
        *units_of(DivideSqrtConfig(form=BF16), "Narrow", "_bf16"),
    ]
