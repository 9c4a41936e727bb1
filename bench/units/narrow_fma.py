"""Multiply-add of a matrix unit, for every operand format."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.arith.float.multiply_add import MultiplyAdd, MultiplyAddConfig
from spica.hw.arith.float.unpack import Unpack, UnpackConfig
from spica.hw.config.formats import FORMATS, FP32, FloatFormat, IntFormat
from spica.hw.lib.pipeline import cut
from spica.sim.golden.arith.float import floats

from .operands import floats as operands
from .operands.fma import fma_operands
from .unit import Unit

__all__ = ["StoredMultiplyAdd", "units"]

#: Cycles of unpacking stored operands.
UNPACK_LATENCY = 1
#: Widest operand format whose pairs are all tested.
EXHAUSTIVE_WIDTH = 8


class StoredMultiplyAdd(wiring.Component):
    """A multiply-add of stored operands, which are unpacked in a separate stage.

    Latency `latency`, one cycle more than the multiply-add's.

    Parameters
    ----------
    config : MultiplyAddConfig

    Members
    -------
    a, b : In(config.operand_format.width)
    c : In(config.accumulator_format.width)
    o : Out(config.accumulator_format.width)

    """

    a: Signal
    b: Signal
    c: Signal
    o: Signal

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        operand, accumulator = config.operand_format.width, config.accumulator_format.width
        super().__init__({
            "a": In(operand),
            "b": In(operand),
            "c": In(accumulator),
            "o": Out(accumulator),
        })

    @property
    def latency(self) -> int:
        """Cycles from the operands to the result."""
        return self.config.latency + UNPACK_LATENCY

    def elaborate(self, platform):
        m = Module()
        m.submodules.multiply_add = multiply_add = MultiplyAdd(self.config)
        for name in ("a", "b"):
            unpack = Unpack(UnpackConfig(form=self.config.operand_format))
            m.submodules[f"unpack_{name}"] = unpack
            m.d.comb += unpack.i.eq(getattr(self, name))
            (factor,) = cut(m, "unpack", registered=True, **{name: self.variable(unpack.o)})
            m.d.comb += Value.cast(getattr(multiply_add, name)).eq(factor)
        (addend,) = cut(m, "unpack", registered=True, c=self.c)
        m.d.comb += [multiply_add.c.eq(addend), self.o.eq(multiply_add.o)]
        return m

    def variable(self, operand) -> Value:
        """Return an unpacked operand, without its sign (the top bit) if that is constantly 0."""
        form = self.config.operand_format
        is_unsigned = isinstance(form, FloatFormat) and not form.signed
        return Value.cast(operand)[:-1] if is_unsigned else Value.cast(operand)


def units() -> list[Unit]:
    """Return the multiply-add of each format at its smallest latency."""
    return [multiply_add_unit(name) for name in FORMATS if name != "int32"]


def multiply_add_unit(operand: str) -> Unit:
    """Return the multiply-add of one format."""
    form = FORMATS[operand]
    accumulator = "int32" if isinstance(form, IntFormat) else "fp32"
    config = MultiplyAddConfig(operand=operand, accumulator=accumulator)
    config = replace(config, latency=config.least_latency)
    stimulus: Callable
    if isinstance(form, FloatFormat):
        stimulus = partial(fma_operands, form=form, addend=FP32)
    else:
        stimulus = partial(
            operands.multiply_add_operands, operand=form, accumulator=config.accumulator_format
        )

    def golden(a, b, c):
        formats = {"operand": form, "accumulator": config.accumulator_format}
        return {"o": floats.multiply_add(a, b, c, **formats)}

    return Unit(
        name=f"multiply_add_{operand}",
        group="Narrow",
        component=lambda: StoredMultiplyAdd(config),
        latency=config.latency + UNPACK_LATENCY,
        operands=lambda rng, count: dict(zip("abc", stimulus(rng, count), strict=True)),
        golden=golden,
        oracle="QEMU" if isinstance(form, FloatFormat) else "Python's integers",
        reference=partial(by_qemu if isinstance(form, FloatFormat) else by_integers, form),
        exhaustive=partial(every_product, form) if form.width <= EXHAUSTIVE_WIDTH else None,
    )


def every_product(form: FloatFormat | IntFormat) -> dict[str, np.ndarray]:
    """Return every pair of factors, with an addend of zero."""
    codes = np.arange(1 << form.width, dtype=np.uint32)
    a, b = operands.crossed(codes, codes)
    return {"a": a, "b": b, "c": np.zeros(len(a), np.uint32)}


def by_qemu(form: FloatFormat, a, b, c) -> dict[str, np.ndarray]:
    """Return QEMU's fused multiply-add of the factors as FP32, which holds all of `form`."""
    from ..oracle.qemu import qemu

    with np.errstate(invalid="ignore"):
        a, b = (floats.decode(x, form).astype(np.float32).view(np.uint32) for x in (a, b))
    return {"o": qemu("fmadd.s", a, b, c)[0]}


def by_integers(form: IntFormat, a, b, c) -> dict[str, np.ndarray]:
    """Return the multiply-add of integers in Python."""

    def signed(code):
        return int(code) - (int(code) >> (form.width - 1) << form.width)

    sums = [signed(x) * signed(y) + int(z) for x, y, z in zip(a, b, c, strict=True)]
    return {"o": np.array([total & 0xFFFF_FFFF for total in sums], np.uint32)}
