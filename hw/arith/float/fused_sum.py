"""Sum of an unpacked product and a stored float of any class and magnitude, rounded once."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...config.formats import FP32, FloatFormat
from ...emit.component import Component
from ...lib.pipeline import cut
from .align import Align, AlignConfig
from .magnitude_sum import MagnitudeSum, MagnitudeSumConfig
from .normalise import Normalise, NormaliseConfig
from .round import Round, RoundConfig
from .rounding import FLAGS_LAYOUT, Rounding
from .sum import STAGES

__all__ = ["FusedSum", "FusedSumConfig"]


@dataclass(frozen=True, kw_only=True)
class FusedSumConfig:
    """Addends, pipeline cuts and rounding of the sum.

    Parameters
    ----------
    form : FloatFormat
        Format of the addend `b` and of the sum.
    significand_width : int
        Bits of the significand of `a`.
    exponent_width : int
        Bits of the signed exponent of `a`.
    cuts : tuple of str
        Stages (of `sum.STAGES`) whose results are registered. The sum always is.
    dynamic : bool
        Whether the rounding mode is an input and exceptions are reported; if not, rounding is
        to nearest, ties to even.

    """

    form: FloatFormat = FP32
    significand_width: int
    exponent_width: int
    cuts: tuple[str, ...] = ()
    dynamic: bool = False

    def __post_init__(self):
        require_integer("significand_width", self.significand_width, 2, 128)
        require_integer("exponent_width", self.exponent_width, self.form.exponent_width + 1, 16)
        for stage in self.cuts:
            if stage not in STAGES:
                raise ValueError(f"cuts must be of {', '.join(STAGES)}, not {stage!r}")

    @property
    def addend_layout(self) -> data.StructLayout:
        """Shape of `a`: a significand below 4 and its class.

        The exponent is that of a stored 1, but may exceed the format's range. A special addend is
        infinite if `is_number`, else NaN. An addend neither special nor a number is zero, with
        significand 0. `is_invalid` marks the NaN of an invalid operation.
        """
        return data.StructLayout({
            "significand": self.significand_width,
            "exponent": signed(self.exponent_width),
            "sign": 1,
            "is_number": 1,
            "is_special": 1,
            **({"is_invalid": 1} if self.dynamic else {}),
        })

    @property
    def align(self) -> AlignConfig:
        """Config of the alignment, the first step."""
        return AlignConfig(
            form=self.form,
            significand_width=self.significand_width,
            exponent_shape=signed(self.exponent_width),
            zeros=True,
        )

    @property
    def exact_width(self) -> int:
        """Bits of an exact sum: three before the point, a sticky bit at the end."""
        return self.align.small_width + 1

    @property
    def rounded_width(self) -> int:
        """Bits of a normalised sum that the rounder needs."""
        return self.form.significand_width + 2 + self.dynamic


class FusedSum(Component):
    """Adder of any two floats: ``o = a + b`` rounded once, with full subnormal support.

    A pipeline without back-pressure: one sum per cycle, one cycle more than it has cuts after the
    addends. The steps: order the addends by exponent and align the small one; add; normalise;
    round. An exact sum of zero is -0 if both addends are -0, or if they differ in sign and the
    rounding mode is down.

    `a` must be at least 1 (not denormalised), unless its exponent is far below any of the
    format's.

    Parameters
    ----------
    config : FusedSumConfig

    Members
    -------
    a : In(config.addend_layout)
    b : In(config.form.width)
        As stored.
    rounding : In(Rounding)
        Present if `config.dynamic`.
    o : Out(config.form.width)
        As stored; NaN is canonical.
    flags : Out(FLAGS_LAYOUT)
        Present if `config.dynamic`.

    """

    def __init__(self, config: FusedSumConfig):
        self.config = config
        width = config.form.width
        super().__init__({
            "a": In(config.addend_layout),
            "b": In(width),
            **({"rounding": In(Rounding)} if config.dynamic else {}),
            "o": Out(width),
            **({"flags": Out(FLAGS_LAYOUT)} if config.dynamic else {}),
        })

    def cut(self, m, stage, values):
        """Return `values`, registered if the pipeline is cut after `stage`."""
        passed = cut(m, stage, registered=stage in self.config.cuts, **values)
        return dict(zip(values, passed, strict=True))

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.align = align = Align(config.align)
        m.d.comb += [
            align.a.eq(self.a.significand),
            align.a_exponent.eq(self.a.exponent),
            align.is_a_zero.eq(~self.a.is_number),
            align.b.eq(self.b[:-1]),
        ]
        is_difference = self.a.sign ^ self.b[-1]
        width = config.exact_width
        big = Signal(width)
        small = Signal(width)
        m.d.comb += [
            big.eq(align.big << (len(align.small) - len(align.big))),
            small.eq(align.small ^ is_difference.replicate(width)),
        ]
        values = {
            "sign": Mux(align.is_b_big, self.b[-1], self.a.sign),
            "is_difference": is_difference,
            "exponent": align.exponent,
            "half_sum": big ^ small,
            "generate": big & small,
        }
        aligned = self.cut(m, "align", self.specials() | values)
        added = self.cut(m, "add", self.added(m, aligned))
        normal = self.cut(m, "normalise", self.normalised(m, added))
        self.round(m, normal)
        return m

    def specials(self):
        """Return the properties of the sum that follow from the addends' classes."""
        form = self.config.form
        a, b = self.a, self.b
        is_b_special = b[:-1] >= form.infinity
        is_b_nan = b[:-1] > form.infinity
        is_opposite = a.is_special & a.is_number & is_b_special & (a.sign ^ b[-1])
        values = {
            "is_special": a.is_special | is_b_special,
            "is_nan": (a.is_special & ~a.is_number) | is_b_nan | is_opposite,
            "special_sign": Mux(a.is_special, a.sign, b[-1]),
        }
        if self.config.dynamic:
            is_signalling = is_b_nan & ~b[form.fraction_width - 1]
            is_invalid = a.is_invalid | is_signalling | (is_opposite & ~is_b_nan)
            values |= {"rounding": self.rounding, "is_invalid": is_invalid}
        return values

    def added(self, m, aligned):
        """Return the magnitude of the sum and its sign."""
        config = self.config
        m.submodules.add = add = MagnitudeSum(MagnitudeSumConfig(width=config.exact_width))
        m.d.comb += [
            add.half_sum.eq(aligned.pop("half_sum")),
            add.generate.eq(aligned.pop("generate")),
            add.is_difference.eq(aligned["is_difference"]),
        ]
        # Available left shift of a sum; more than the width if that is not the limit.
        exponent = aligned["exponent"]
        room_width = config.exact_width.bit_length()
        is_far = exponent[room_width:].any()
        return aligned | {
            "sign": aligned["sign"] ^ add.is_negative,
            "total": add.o,
            "room": exponent[:room_width] | is_far.replicate(room_width),
        }

    def normalised(self, m, added):
        """Return the normalised significand with its exponent and sign."""
        config = self.config
        width = config.exact_width
        total, exponent = added.pop("total"), added["exponent"]
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(width=width, leading_zeros=width - 1, limited=True)
        )
        m.d.comb += [
            normalise.i.eq(total),
            # Down to exponent 1 at most; it is 3 or more before.
            normalise.limit.eq(C(1 << width, width + 1) >> added.pop("room")),
        ]
        lowest = width - config.rounded_width + 1
        is_cancelled = (total == 0) & added.pop("is_difference")
        is_down = added["rounding"] == Rounding.DOWN if config.dynamic else C(0)
        return added | {
            "sign": Mux(is_cancelled, is_down, added["sign"]),
            "exponent": (exponent - normalise.shift)[: len(exponent)],
            "significand": Cat(normalise.o[:lowest].any(), normalise.o[lowest:]),
        }

    def round(self, m, normal):
        """Round the sum and drive the outputs."""
        config = self.config
        form = config.form
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=form,
                significand_width=config.rounded_width,
                exponent_width=form.exponent_width + 2,
                overflows=True,
                unnormalised=True,
                modes=config.dynamic,
                flags=config.dynamic,
            )
        )
        sign, is_special, is_nan = (normal[name] for name in ("sign", "is_special", "is_nan"))
        m.d.comb += [
            rounder.exponent.eq(normal["exponent"]),
            rounder.significand.eq(normal["significand"]),
        ]
        infinity = Cat(C(form.infinity, form.width - 1), normal["special_sign"])
        special = Mux(is_nan, form.nan, infinity)
        rounded = Signal(form.width, reset_less=True)
        m.d.sync += rounded.eq(Mux(is_special, special, Cat(rounder.o, sign)))
        m.d.comb += self.o.eq(rounded)
        if config.dynamic:
            m.d.comb += [rounder.rounding.eq(normal["rounding"]), rounder.sign.eq(sign)]
            for name in ("inexact", "underflow", "overflow"):
                flag = Signal(name=name, reset_less=True)
                m.d.sync += flag.eq(rounder.flags[name] & ~is_special)
                m.d.comb += self.flags[name].eq(flag)
            invalid = Signal(reset_less=True)
            m.d.sync += invalid.eq(normal["is_invalid"])
            m.d.comb += self.flags.invalid.eq(invalid)
