"""First stage of a division or square root: classifies, normalises and aligns operands."""

from amaranth import *
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out

from ....emit.component import Component
from ....lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ..normalise import Normalise, NormaliseConfig
from ..rounding import Rounding
from .config import DivideSqrtConfig, DivideSqrtOperation

__all__ = ["DivideSqrtClass", "first_state", "start_layout"]


class DivideSqrtClass(enum.Enum, shape=2):
    """Class of a result; all but NUMBER follow from the operands' classes alone."""

    NUMBER = 0
    ZERO = 1
    INFINITY = 2
    NAN = 3


def start_layout(config: DivideSqrtConfig) -> data.StructLayout:
    """Return the layout of the properties of a result known before its digits.

    `exponent` is the stored exponent of a significand of 1 or more.
    """
    return data.StructLayout({
        "is_root": 1,
        "rounding": Rounding,
        "sign": 1,
        "exponent": signed(config.exponent_width),
        "kind": DivideSqrtClass,
        "invalid": 1,
        "divide_by_zero": 1,
    })


class Operand(Component):
    """Unpacked operand: class, and significand with the top bit set.

    Combinational. `exponent` is the stored exponent of that significand, so 0 or less for a
    subnormal.

    Parameters
    ----------
    config : DivideSqrtConfig

    Members
    -------
    i : In(config.form.width)
    significand : Out(config.form.significand_width)
    exponent : Out(signed(config.exponent_width))
    sign, is_zero, is_infinite, is_nan, is_signalling : Out(1)

    """

    def __init__(self, config: DivideSqrtConfig):
        self.config = config
        classes = ("sign", "is_zero", "is_infinite", "is_nan", "is_signalling")
        super().__init__({
            "i": In(config.form.width),
            "significand": Out(config.form.significand_width),
            "exponent": Out(signed(config.exponent_width)),
            **{name: Out(1) for name in classes},
        })

    def elaborate(self, platform):
        m = Module()
        form = self.config.form
        fraction = self.i[: form.fraction_width]
        exponent = self.i[form.fraction_width : form.magnitude_width]
        is_normal = Signal()
        is_special = Signal()
        has_fraction = Signal()
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(width=form.significand_width, leading_zeros=form.fraction_width)
        )
        m.d.comb += [
            is_normal.eq(exponent.any()),
            is_special.eq(exponent.all()),
            has_fraction.eq(fraction.any()),
            normalise.i.eq(Cat(fraction, is_normal)),
            self.significand.eq(normalise.o),
            # A subnormal uses the exponent of the smallest normals.
            self.exponent.eq((exponent | ~is_normal) - normalise.shift),
            self.sign.eq(self.i[-1]),
            self.is_zero.eq(~is_normal & ~has_fraction),
            self.is_infinite.eq(is_special & ~has_fraction),
            self.is_nan.eq(is_special & has_fraction),
            self.is_signalling.eq(self.is_nan & ~fraction[-1]),
        ]
        return m


def first_state(
    m: Module, config: DivideSqrtConfig, operation: data.View
) -> tuple[data.View, Value, Value]:
    """Return the start of an operation: properties of its result, first remainder and operand.

    Combinational. A dividend is doubled if its significand is the smaller one, a radicand if its
    exponent is odd. Every result therefore begins with a 1, which is subtracted here.

    Parameters
    ----------
    m : Module
        Module of the datapath.
    config : DivideSqrtConfig
        Datapath.
    operation : View of config.operation_layout
        Operation with its operands.

    Returns
    -------
    View of start_layout(config)
    Value
        ``config.recurrence.remainder_width`` bits.
    Value
        ``config.form.significand_width`` bits.
    """
    bias = config.form.bias
    m.submodules.a = a = Operand(config)
    m.submodules.b = b = Operand(config)
    is_root = Signal()
    m.d.comb += [
        a.i.eq(operation.a),
        b.i.eq(operation.b),
        is_root.eq(operation.operation == DivideSqrtOperation.SQUARE_ROOT),
    ]
    is_doubled, remainder = divided(m, config, a, b)

    # Half the true exponent of a root is half the sum of the stored one and the bias.
    exponent = Signal(signed(config.exponent_width))
    start = Signal(start_layout(config), name="first_start")
    m.d.comb += [
        exponent.eq(a.exponent + Mux(is_root, bias, bias - b.exponent)),
        start.exponent.eq(Mux(is_root, exponent >> 1, exponent - is_doubled)),
        start.is_root.eq(is_root),
        start.rounding.eq(operation.rounding),
        start.sign.eq(a.sign ^ (b.sign & ~is_root)),
    ]
    classify(m, a, b, start)

    # The bias is odd, so an odd true exponent is stored as an even one.
    radicand = Signal(config.form.significand_width + 1)
    m.d.comb += radicand.eq(Mux(a.exponent[0], a.significand, a.significand << 1))
    # Its first two bits are 1 to 3; minus the first digit, 1, they are 0 to 2.
    low, high = radicand[-2], radicand[-1]
    drawn = 2 * config.digits
    following = Cat(C(0, drawn), radicand[:-2])
    first_remainder = Signal(config.recurrence.remainder_width)
    first_operand = Signal(config.form.significand_width)
    m.d.comb += [
        first_remainder.eq(
            Mux(
                is_root,
                Cat(following[-drawn:], high & ~low, high & low),
                remainder << config.digits,
            )
        ),
        first_operand.eq(Mux(is_root, Cat(C(0, 1), following[:-drawn]), b.significand)),
    ]
    return start, first_remainder, first_operand


def divided(m: Module, config: DivideSqrtConfig, a: Operand, b: Operand) -> tuple[Signal, Signal]:
    """Return whether the dividend is doubled, and its remainder after the first digit, 1."""
    width = config.form.significand_width
    differences = []
    for name, dividend in (("once", a.significand), ("twice", a.significand << 1)):
        m.submodules[f"subtract_{name}"] = subtract = CarrySelectAdd(
            CarrySelectAddConfig(width=width + 1, blocks=(width // 2,))
        )
        m.d.comb += [
            subtract.a.eq(dividend),
            subtract.b.eq(~Cat(b.significand, C(0, 1))),
            subtract.carry.eq(1),
        ]
        differences.append(subtract.o)
    once, twice = differences
    is_doubled = Signal()
    remainder = Signal(width)
    m.d.comb += [is_doubled.eq(once[-1]), remainder.eq(Mux(is_doubled, twice, once))]
    return is_doubled, remainder


def classify(m: Module, a: Operand, b: Operand, start: data.View):
    """Drive the class and sign of results that are not numbers, and the exceptions."""
    is_root = start.is_root
    is_quotient = ~is_root
    is_invalid_quotient = (a.is_zero & b.is_zero) | (a.is_infinite & b.is_infinite)
    is_invalid_root = a.sign & ~a.is_zero & ~a.is_nan
    m.d.comb += [
        start.invalid.eq(
            Mux(is_root, is_invalid_root, is_invalid_quotient | b.is_signalling) | a.is_signalling
        ),
        start.divide_by_zero.eq(is_quotient & b.is_zero & ~(a.is_zero | a.is_infinite | a.is_nan)),
    ]
    with m.If(start.invalid | a.is_nan | (is_quotient & b.is_nan)):
        m.d.comb += [start.kind.eq(DivideSqrtClass.NAN), start.sign.eq(0)]
    with m.Elif(a.is_infinite | (is_quotient & b.is_zero)):
        m.d.comb += start.kind.eq(DivideSqrtClass.INFINITY)
    with m.Elif(a.is_zero | (is_quotient & b.is_infinite)):
        m.d.comb += start.kind.eq(DivideSqrtClass.ZERO)
