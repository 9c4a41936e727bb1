"""Adder of the trees: orders stored floats by magnitude, adds them and rounds once."""

from dataclasses import dataclass
from itertools import pairwise

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...config.formats import FP32, FloatFormat
from ...emit.shared_block import SharedBlock
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ...lib.pipeline import cut
from ..float.normalise import Normalise, NormaliseConfig

__all__ = ["TreeAdd", "TreeAddConfig"]


@dataclass(frozen=True, kw_only=True)
class TreeAddConfig:
    """Format, pipeline and possible results of an adder: cases that cannot occur cost no logic.

    Parameters
    ----------
    form : FloatFormat
        Format of addends and sum.
    latency : int
        Cycles from the addends to their sum, 1 or 2.
    overflows : bool
        Whether a finite sum can exceed the format's range.
    subnormals : bool
        Whether an addend or a sum can be subnormal.
    addend_width : int
        Leading bits of the addends' significands that can be nonzero; 0 for all.

    """

    form: FloatFormat = FP32
    latency: int = 2
    overflows: bool = True
    subnormals: bool = True
    addend_width: int = 0

    def __post_init__(self):
        if not (self.form.has_infinity and self.form.signed and self.form.subnormals):
            raise ValueError(f"form must have signs and infinities, not {self.form.name}")
        require_integer("latency", self.latency, 1, 2)
        require_integer("addend_width", self.addend_width, 0, self.form.significand_width)

    @property
    def exact_width(self) -> int:
        """Bits of an exact sum: two before the point; guard, round and sticky at the end."""
        return self.form.significand_width + 4


class TreeAdd(SharedBlock):
    """Adder: ``o = a + b``, rounded to nearest, ties to even; NaN results are canonical.

    Latency `config.latency`, one sum per cycle, no handshake.

    The addends are ordered by magnitude, so no difference is negative. Only a sum that lost no bit
    of the smaller addend can have more than one leading zero. It takes a path with a long shift
    and no rounding. On the other path sums move by one place and are rounded. These are the two
    paths of Muller et al., *Handbook of Floating-Point Arithmetic*, 2nd edition, section 8.4,
    after one alignment and one addition.

    Parameters
    ----------
    config : TreeAddConfig

    Members
    -------
    a, b : In(config.form.width)
    o : Out(config.form.width)

    """

    def __init__(self, config: TreeAddConfig):
        self.config = config
        width = config.form.width
        super().__init__({"a": In(width), "b": In(width), "o": Out(width)})

    def build(self, platform):
        m = Module()
        config = self.config
        form = config.form
        is_b_big = self.is_b_big(m)
        a_exponent, a_significand = self.fields(self.a)
        b_exponent, b_significand = self.fields(self.b)
        a_special, b_special = a_exponent.all(), b_exponent.all()
        # The distance minus 1 if `a` is big, else the complement of the distance.
        below = Signal(form.exponent_width)
        exponent = Signal(form.exponent_width)
        distance = Signal(form.exponent_width)
        big = Signal(form.significand_width)
        small = Signal(form.significand_width)
        m.d.comb += [
            below.eq(a_exponent + ~b_exponent),
            distance.eq(Mux(is_b_big, ~below, below + 1)),
            exponent.eq(Mux(is_b_big, b_exponent, a_exponent)),
            big.eq(Mux(is_b_big, b_significand, a_significand)),
            small.eq(Mux(is_b_big, a_significand, b_significand)),
        ]
        is_difference = self.a[-1] ^ self.b[-1]
        is_special = a_special | b_special
        is_nan = is_special & (big[:-1].any() | (is_difference & a_special & b_special))
        sign, is_difference, is_special, is_nan, exponent, total = cut(
            m,
            "total",
            registered=config.latency == 2,
            sign=Mux(is_b_big, self.b[-1], self.a[-1]),
            is_difference=is_difference,
            is_special=is_special,
            is_nan=is_nan,
            exponent=exponent,
            sum=self.total(m, big, self.aligned(m, small, distance), is_difference),
        )

        # A 1 in the last two bits requires exponents two or more apart, with a sum above 1/2.
        is_exact = (total[-2:] == 0) & (total[:2] == 0)
        magnitude = Mux(
            is_exact, self.shifted(m, total, exponent), self.rounded(m, total, exponent)
        )
        is_infinite = is_special
        if config.overflows:
            is_infinite = is_special | ((exponent == form.exponent_mask - 1) & total[-1])
        fraction = magnitude[: form.fraction_width] & ~is_infinite.replicate(form.fraction_width)
        field = magnitude[form.fraction_width :] | is_infinite.replicate(form.exponent_width)
        # Exact cancellation gives +0.
        is_positive = is_nan | (is_difference & (total == 0))
        o = Signal(form.width, reset_less=True)
        m.d.sync += o.eq(Cat(fraction[:-1], fraction[-1] | is_nan, field, sign & ~is_positive))
        m.d.comb += self.o.eq(o)
        return m

    def is_b_big(self, m):
        """Return whether the magnitude of `b` is the larger one."""
        form = self.config.form
        lowest = form.significand_width - (self.config.addend_width or form.significand_width)
        is_greater = C(0, 1)
        for low, high in pairwise((lowest, form.fraction_width, form.width - 1)):
            a, b = self.a[low:high], self.b[low:high]
            is_greater = (b > a) | ((b == a) & is_greater)
        signal = Signal(name="is_b_big")
        m.d.comb += signal.eq(is_greater)
        return signal

    def fields(self, stored):
        """Return exponent and significand; a subnormal has the exponent of the smallest normals."""
        form = self.config.form
        exponent = stored[form.fraction_width : -1]
        is_normal = exponent.any()
        width = self.config.addend_width or form.significand_width
        lowest = form.significand_width - width
        significand = Cat(C(0, lowest), stored[lowest : form.fraction_width], is_normal)
        return (exponent | ~is_normal if self.config.subnormals else exponent), significand

    def aligned(self, m, small, distance):
        """Return `small` shifted right by `distance`, with three more bits below.

        The last of them is sticky.
        """
        width = self.config.form.significand_width
        places_width = (width + 1).bit_length()
        word, sticky = Cat(C(0, 2), small), C(0, 1)
        for step in range(places_width):
            places = 1 << step
            is_shifted = distance[step]
            lost = word[:places].any()
            following = Signal(width + 2, name=f"aligned_{places}")
            following_sticky = Signal(name=f"sticky_{places}")
            m.d.comb += [
                following.eq(Mux(is_shifted, word >> places, word)),
                following_sticky.eq(sticky | (is_shifted & lost)),
            ]
            word, sticky = following, following_sticky
        is_far = distance[places_width:].any()
        near = ~is_far.replicate(width + 2)
        return Cat(Mux(is_far, small.any(), sticky), word & near)

    def total(self, m, big, small, is_difference):
        """Return the exact sum or difference of two significands."""
        width = self.config.exact_width
        # With latency 1 the addition has only a third of the cycle.
        third = width // 3
        blocks = (third + 2, third * 2 + 1) if self.config.latency == 1 else (width // 2 + 1,)
        m.submodules.add = add = CarrySelectAdd(CarrySelectAddConfig(width=width, blocks=blocks))
        m.d.comb += [
            add.a.eq(Cat(C(0, 3), big)),
            add.b.eq(Cat(small, C(0, 1)) ^ is_difference.replicate(width)),
            add.carry.eq(is_difference),
        ]
        return add.o

    def rounded(self, m, total, exponent):
        """Return the packed sum if it moves by one place at most."""
        form = self.config.form
        is_two, is_one = total[-1], total[-2]
        width = form.fraction_width
        significand = Signal(width)
        guard, rest = Signal(), Signal()
        m.d.comb += [
            significand.eq(
                Mux(is_two, total[4 : 4 + width], Mux(is_one, total[3 : 3 + width], total[2:]))
            ),
            guard.eq(Mux(is_two, total[3], Mux(is_one, total[2], total[1]))),
            rest.eq(total[0] | ((is_two | is_one) & total[1]) | (is_two & total[2])),
        ]
        round_up = guard & (rest | significand[0])
        least = (exponent - 1)[: form.exponent_width]
        moved = Cat(C(0, width), ~is_two & is_one, is_two)
        rounded = Signal(form.width - 1)
        m.d.comb += rounded.eq((Cat(C(1, 1), significand, least) + Cat(round_up, moved))[1:])
        return rounded

    def shifted(self, m, total, exponent):
        """Return the packed sum if it is below 1 and needs no rounding."""
        config = self.config
        form = config.form
        width = form.significand_width + 1
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(width=width, leading_zeros=width - 1, limited=config.subnormals)
        )
        m.d.comb += normalise.i.eq(total[2:-1])
        if config.subnormals:
            m.d.comb += normalise.limit.eq(C(1 << (width - 1), width) >> (exponent - 1)[:-1])
        hidden = normalise.o[-1]
        field = (exponent - normalise.shift)[: form.exponent_width]
        # Without a leading one it is zero, or subnormal with a shift down to exponent 1.
        return Cat(normalise.o[1:-1], field & hidden.replicate(form.exponent_width))
