"""Conversions between all float formats: one unit per source, with all targets in parallel."""

from functools import partial

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.arith.float.convert import Convert, ConvertConfig
from spica.hw.arith.float.rounding import Rounding
from spica.hw.config.formats import FORMATS, FloatFormat
from spica.sim.golden.arith.float import floats

from .operands.floats import crossed, random_bits
from .unit import Unit

__all__ = ["FORMS", "Conversions", "conversion_operands", "golden", "units"]

#: Every float format.
FORMS = [form for form in FORMATS.values() if isinstance(form, FloatFormat)]
#: Treatment of overflow, by the suffix of the output's name.
OVERFLOWS = {"": False, "_saturated": True}
#: Widest source that is tested exhaustively.
EXHAUSTIVE_WIDTH = 16


class Conversions(wiring.Component):
    """Converter to every format, with the format's own overflow and saturated.

    Latency 1, one value per cycle, no handshake.

    Parameters
    ----------
    source : FloatFormat
    modes : bool
        Whether the rounding mode is an input.

    Members
    -------
    i : In(source.width)
    rounding : In(Rounding)
        Present if `modes`.
    fp32, fp32_saturated, fp16, ... : Out
        One pair for each format of `FORMS`, by its name.

    """

    i: Signal
    rounding: Signal

    def __init__(self, source: FloatFormat, *, modes: bool = True):
        self.source = source
        self.modes = modes
        super().__init__({
            "i": In(source.width),
            **({"rounding": In(Rounding)} if modes else {}),
            **{form.name + suffix: Out(form.width) for form in FORMS for suffix in OVERFLOWS},
        })

    def elaborate(self, platform):
        m = Module()
        for form in FORMS:
            for suffix, saturate in OVERFLOWS.items():
                name = form.name + suffix
                m.submodules[name] = convert = Convert(
                    ConvertConfig(
                        source=self.source, target=form, modes=self.modes, saturate=saturate
                    )
                )
                result = Signal(form.width, name=f"{name}_result", reset_less=True)
                m.d.comb += [convert.i.eq(self.i), getattr(self, name).eq(result)]
                m.d.sync += result.eq(convert.o)
                if self.modes:
                    m.d.comb += convert.rounding.eq(self.rounding)
        return m


def beside(rng: np.random.Generator, count: int, source: FloatFormat, target: FloatFormat):
    """Return numbers of `target`, midpoints of two, and the neighbours of both."""
    code = random_bits(rng, target, count) & target.magnitude_mask
    value = floats.decode(code, target)
    below = floats.decode(np.maximum(code.astype(np.int64) - 1, 0), target)
    # Above the largest number the step size stays that below it.
    with np.errstate(invalid="ignore"):
        value = np.where(rng.random(count) < 0.5, value, value + (value - below) / 2)
    bits = floats.encode(value, source).astype(np.int64) + rng.integers(-1, 2, count)
    sign = rng.integers(0, 2, count) << source.width - 1 if source.signed else 0
    return ((bits ^ sign) & ((1 << source.width) - 1)).astype(np.uint32)


def conversion_operands(
    rng: np.random.Generator, count: int, source: FloatFormat
) -> dict[str, np.ndarray]:
    """Return codes of `source`, half near numbers of the other formats; and modes."""
    chosen = rng.integers(0, 2 * len(FORMS), count)
    i = random_bits(rng, source, count)
    for number, target in enumerate(FORMS):
        mask = chosen == number
        i[mask] = beside(rng, int(mask.sum()), source, target)
    return {"i": i, "rounding": rng.integers(0, len(Rounding), count, dtype=np.uint32)}


def every_conversion(source: FloatFormat) -> dict[str, np.ndarray]:
    """Return every code in every mode."""
    codes = np.arange(1 << source.width, dtype=np.uint32)
    i, rounding = crossed(codes, np.arange(len(Rounding), dtype=np.uint32))
    return {"i": i, "rounding": rounding}


def golden(source: FloatFormat, i, rounding=Rounding.NEAREST_EVEN) -> dict[str, np.ndarray]:
    """Return the expected value of each output."""
    values = floats.decode(i, source)
    return {
        form.name + suffix: floats.encode(values, form, rounding, saturate=saturate)
        for form in FORMS
        for suffix, saturate in OVERFLOWS.items()
    }


def by_gfloat(source: FloatFormat, i, rounding) -> dict[str, np.ndarray]:
    """Return gfloat's results, masked where it specifies none."""
    from ..oracle.narrow_formats import decode_by_gfloat, encode_by_gfloat

    cases, places = np.unique(np.stack([i, rounding]), axis=1, return_inverse=True)
    values = decode_by_gfloat(cases[0], source)
    return {
        form.name + suffix: encode_by_gfloat(values, form, cases[1], saturate=saturate)[places]
        for form in FORMS
        for suffix, saturate in OVERFLOWS.items()
    }


def units() -> list[Unit]:
    """Return one unit per source."""
    return [
        Unit(
            name=f"convert_{source.name}",
            group="Conversion",
            component=partial(Conversions, source),
            latency=1,
            operands=partial(conversion_operands, source=source),
            golden=partial(golden, source),
            oracle="gfloat",
            reference=partial(by_gfloat, source),
            exhaustive=partial(every_conversion, source)
            if source.width <= EXHAUSTIVE_WIDTH
            else None,
        )
        for source in FORMS
    ]
