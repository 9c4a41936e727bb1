"""Unpacking of stored operands for multipliers, once at the edge of an array."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config.formats import FP32, FloatFormat, IntFormat
from ...emit.component import Component
from .normalise import Normalise, NormaliseConfig

__all__ = ["Unpack", "UnpackConfig", "UnpackSignature", "operand_layout"]


@dataclass(frozen=True, kw_only=True)
class UnpackConfig:
    """Format to unpack and the codes of the result.

    The unpacked exponent is the true one plus `offset`. Infinity and NaN have all ones, so that
    the sum of two exponents and 1 overflows if and only if one is special. Zero has code 0.

    Parameters
    ----------
    form : FloatFormat or IntFormat

    """

    form: FloatFormat | IntFormat

    @property
    def offset(self) -> int:
        """Unpacked exponent minus the true one: one less than a power of two.

        With half of FP32's bias, the sum of two exponents and 1 is the product's stored exponent in
        FP32. Other offsets require adding a multiple of a power of two. Greater offsets are used
        if codes would be negative, smaller ones if they shorten the codes by two bits or more.
        """
        assert isinstance(self.form, FloatFormat)
        offset = FP32.bias // 2 if self.form.exponent_width > 4 else 1
        while offset + self.form.least_exponent < 0:
            offset = 2 * offset + 1
        return offset

    @property
    def exponent_width(self) -> int:
        """Bits of an unpacked exponent; the sum of two numbers' and 1 does not overflow."""
        assert isinstance(self.form, FloatFormat)
        return (2 * (self.form.largest_exponent + self.offset) + 1).bit_length()

    @property
    def layout(self) -> data.StructLayout | Shape:
        """Shape of an unpacked operand; an integer is unchanged."""
        if isinstance(self.form, IntFormat):
            return signed(self.form.width)
        return data.StructLayout({
            "significand": self.form.significand_width,
            "exponent": self.exponent_width,
            "sign": 1,
        })


def operand_layout(form: FloatFormat | IntFormat) -> data.StructLayout | Shape:
    """Return the shape of a value of format `form` at a multiplier's input."""
    return UnpackConfig(form=form).layout


class UnpackSignature(wiring.Signature):
    """A stored value and its operand, seen from the edge of an array.

    Parameters
    ----------
    config : UnpackConfig

    Members
    -------
    i : Out(config.form.width)
    o : In(config.layout)
    """

    def __init__(self, config: UnpackConfig):
        super().__init__({"i": Out(config.form.width), "o": In(config.layout)})


class Unpack(Component):
    """Unpacker: converts a stored value to a multiplier's operand with its class encoded.

    Combinational. A float's significand is normalised, also of a subnormal, so its top bit is the
    hidden one. Zero and NaN have significand 0 and differ in the exponent's code (see
    `UnpackConfig`). An integer is unchanged.

    Parameters
    ----------
    config : UnpackConfig

    Members are those of `UnpackSignature`, seen from the other side.
    """

    def __init__(self, config: UnpackConfig):
        self.config = config
        super().__init__(UnpackSignature(config).flip())

    def elaborate(self, platform):
        m = Module()
        config = self.config
        form = config.form
        if isinstance(form, IntFormat):
            m.d.comb += self.o.eq(self.i)
            return m

        fraction = self.i[: form.fraction_width]
        exponent = self.i[form.fraction_width : form.magnitude_width]
        is_normal = exponent.any() if form.subnormals else C(1, 1)
        is_special, is_nan = C(0, 1), C(0, 1)
        if form.has_infinity:
            is_special = exponent.all()
            is_nan = is_special & fraction.any()
        elif form.has_nan:
            is_special = is_nan = self.i[: form.magnitude_width].all()

        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(
                width=form.significand_width,
                leading_zeros=form.fraction_width if form.subnormals else 0,
            )
        )
        m.d.comb += normalise.i.eq(Cat(fraction, is_normal))
        significand = normalise.o
        true_exponent = (exponent | ~is_normal) - normalise.shift + (config.offset - form.bias)
        m.d.comb += [
            self.o.sign.eq(self.i[-1] if form.signed else 0),
            self.o.significand.eq(Mux(is_nan, 0, significand)),
            self.o.exponent.eq(Mux(is_special, -1, Mux(significand[-1], true_exponent, 0))),
        ]
        return m
