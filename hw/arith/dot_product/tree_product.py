"""Multiplier of the trees: the product of two stored floats, rounded once."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.formats import FP16, FP32, FloatFormat
from ...emit.shared_block import SharedBlock
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ...lib.pipeline import cut
from ..float.normalise import Normalise, NormaliseConfig

__all__ = ["TreeProduct", "TreeProductConfig"]


@dataclass(frozen=True, kw_only=True)
class TreeProductConfig:
    """Formats of the factors and of the product.

    Parameters
    ----------
    a, b : FloatFormat
        Formats of the factors.
    form : FloatFormat
        Format of the product: it either represents every product exactly, as a normal number, or
        has the exponent range of the factors.

    """

    a: FloatFormat = FP16
    b: FloatFormat = FP16
    form: FloatFormat = FP32

    def __post_init__(self):
        if not (self.form.has_infinity and self.form.signed and self.form.subnormals):
            raise ValueError(f"form must have signs and infinities, not {self.form.name}")
        for name, factor in (("a", self.a), ("b", self.b)):
            if not (factor.signed and factor.subnormals):
                raise ValueError(f"{name} must have signs and subnormals, not {factor.name}")
        if not self.is_exact and not self.a.bias == self.b.bias == self.form.bias:
            raise ValueError(
                f"form must hold products of {self.a.name} and {self.b.name} exactly or have their "
                f"range, not {self.form.name}"
            )

    @property
    def exact_width(self) -> int:
        """Bits of an exact product's significand."""
        return self.a.significand_width + self.b.significand_width

    @property
    def is_exact(self) -> bool:
        """Whether every finite product is zero or a normal number of the product's format."""
        least = self.a.least_exponent + self.b.least_exponent
        most = self.a.largest_exponent + self.b.largest_exponent + 1
        return (
            self.exact_width <= self.form.significand_width
            and least >= 1 - self.form.bias
            and most <= self.form.largest_exponent
        )

    @property
    def latency(self) -> int:
        """Cycles from factors to product: 2 if the significands are too wide for one cycle."""
        return 2 if self.exact_width > 24 else 1

    @property
    def significand_width(self) -> int:
        """Leading bits of a product's significand that can be nonzero."""
        return self.exact_width if self.is_exact else self.form.significand_width


class TreeProduct(SharedBlock):
    """Multiplier: ``o = a * b``, rounded to nearest, ties to even; NaN results are canonical.

    Latency `config.latency`, one product per cycle, no handshake. Subnormal factors are not
    normalised first: their leading zeros are counted meanwhile, and the product is shifted.

    Parameters
    ----------
    config : TreeProductConfig

    Members
    -------
    a : In(config.a.width)
    b : In(config.b.width)
    o : Out(config.form.width)

    """

    def __init__(self, config: TreeProductConfig):
        self.config = config
        super().__init__({
            "a": In(config.a.width),
            "b": In(config.b.width),
            "o": Out(config.form.width),
        })

    def build(self, platform):
        m = Module()
        form = self.config.form
        a, b = TreeFactor(self.a, self.config.a), TreeFactor(self.b, self.config.b)
        product = self.product(m, a.significand, b.significand)
        make = self.exact if self.config.is_exact else self.rounded
        fraction, field, is_overflow = make(m, a, b, product)

        is_nan = a.is_nan | b.is_nan | (a.is_infinite & b.is_zero) | (b.is_infinite & a.is_zero)
        sign, is_nan, is_infinite = self.cut(
            m,
            sign=(self.a[-1] ^ self.b[-1]) & ~is_nan,
            is_nan=is_nan,
            is_infinite=a.is_infinite | b.is_infinite | is_nan,
        )
        is_infinite = is_infinite | is_overflow
        field = field | is_infinite.replicate(form.exponent_width)
        fraction = fraction & ~is_infinite.replicate(form.fraction_width)
        o = Signal(form.width, reset_less=True)
        m.d.sync += o.eq(Cat(fraction[:-1], fraction[-1] | is_nan, field, sign))
        m.d.comb += self.o.eq(o)
        return m

    def cut(self, m, **values):
        """Return `values`, registered if the product takes two cycles."""
        return cut(m, "parts", registered=self.config.latency == 2, **values)

    def product(self, m, a, b):
        """Return the exact product of two significands, wide ones from partial products."""
        half = len(b) // 2
        if half < 4:
            return a * b
        if self.config.latency == 1:
            low = a * b[:half]
            addends = low[half:], a * b[half:]
        else:
            low, one, other, high = self.cut(
                m,
                low=a[:half] * b[:half],
                one=a[:half] * b[half:],
                other=a[half:] * b[:half],
                high=a[half:] * b[half:],
            )
            # Carry-save addition: three words become two without carry propagation.
            upper = Cat(low[half:], high)
            carries = (upper & one) | (other & (upper | one))
            addends = upper ^ one ^ other, Cat(C(0, 1), carries)
        width = self.config.exact_width - half
        m.submodules.add = add = CarrySelectAdd(
            CarrySelectAddConfig(width=width, blocks=(width // 3, width * 2 // 3))
        )
        m.d.comb += [add.a.eq(addends[0]), add.b.eq(addends[1])]
        return Cat(low[:half], add.o)

    def exact(self, m, a, b, product):
        """Return fraction, exponent and overflow of a product that needs no rounding."""
        config = self.config
        form = config.form
        width = config.exact_width
        zeros = a.leading_zeros(m, "a") + b.leading_zeros(m, "b")
        shifted = Signal(width)
        m.d.comb += shifted.eq(product << zeros)
        is_two = shifted[-1]
        fraction = Mux(is_two, shifted[:-1], shifted[:-2] << 1)[: width - 1]
        field = Signal(form.exponent_width)
        offset = form.bias - config.a.bias - config.b.bias
        m.d.comb += field.eq(a.exponent + b.exponent - zeros + offset + is_two)
        is_number = ~(a.is_zero | b.is_zero)
        return (
            Cat(C(0, form.fraction_width + 1 - width), fraction),
            field & is_number.replicate(form.exponent_width),
            C(0, 1),
        )

    def rounded(self, m, a, b, product):
        """Return fraction, exponent and overflow of a product that is rounded.

        It may be subnormal. The product of two subnormals rounds to zero, so only one factor's
        leading zeros matter.
        """
        form = self.config.form
        most = max(a.form.fraction_width, b.form.fraction_width)
        zeros = Signal(range(most + 1))
        m.d.comb += zeros.eq(Mux(a.is_normal, b.leading_zeros(m, "b"), a.leading_zeros(m, "a")))
        width = form.exponent_width + 2
        exponents = Signal(width)
        # Exponent of a product below 2 after the full normalising shift.
        rest = Signal(signed(width))
        places = Signal(signed(width))
        m.d.comb += [
            exponents.eq(a.exponent + b.exponent),
            rest.eq(exponents - (zeros + form.bias)),
        ]
        is_low = rest[-1]
        m.d.comb += places.eq(Mux(is_low, (most + form.bias) - exponents, most - zeros))
        is_number = ~(a.is_zero | b.is_zero)
        width = form.exponent_width + 1
        places, left = self.cut(
            m, places=places, left=rest[:width] & (~is_low & is_number).replicate(width)
        )
        significand, sticky = self.shifted(m, product, places, most)
        is_kept = significand[-1] | ~left.any()
        word = Mux(is_kept, significand, significand << 1)[: form.significand_width + 2]
        # Bits are shifted out only at the last bit of `word` or below.
        round_up = word[1] & (word[0] | sticky | word[2])
        width = form.width - 1
        m.submodules.round = add = CarrySelectAdd(
            CarrySelectAddConfig(
                width=width, blocks=(form.fraction_width // 2, form.fraction_width)
            )
        )
        m.d.comb += [
            add.a.eq(Cat(word[2:-1], left)),
            add.b.eq(significand[-1] << form.fraction_width),
            add.carry.eq(round_up),
        ]
        # A product that overflows only by rounding becomes infinity by the carry.
        is_overflow = (left >= form.exponent_mask) | (
            (left == form.exponent_mask - 1) & significand[-1]
        )
        return add.o[: form.fraction_width], add.o[form.fraction_width :], is_overflow

    def shifted(self, m, product, places, most):
        """Return the product shifted left by `most` and right by `places`, and a sticky bit.

        The word has two bits more than the result's significand; the sticky bit is the OR of all
        bits below.
        """
        width = self.config.form.significand_width + 2
        fill = max(0, width - len(product))
        word, sticky = Cat(C(0, fill + most), product)[:], C(0, 1)
        places_width = (most + width).bit_length()
        is_far = places[places_width:-1].any()
        for step in reversed(range(places_width)):
            count = 1 << step
            is_shifted = places[step] | is_far
            # Bits that later steps can shift into the result, and the result.
            remaining = min(len(word), fill + len(product) + count - 1)
            following = Signal(remaining, name=f"shifted_{count}")
            following_sticky = Signal(name=f"sticky_{count}")
            m.d.comb += [
                following.eq(Mux(is_shifted, word >> count, word)),
                following_sticky.eq(sticky | (is_shifted & word[:count].any())),
            ]
            word, sticky = following, following_sticky
        below = len(word) - width
        return word[below:], sticky | word[:below].any()


class TreeFactor:
    """Fields and classes of a stored factor.

    Parameters
    ----------
    stored : Signal
    form : FloatFormat

    """

    def __init__(self, stored: Value, form: FloatFormat):
        self.form = form
        magnitude = stored[: form.magnitude_width]
        fraction = stored[: form.fraction_width]
        exponent = stored[form.fraction_width : form.magnitude_width]
        self.is_normal = exponent.any()
        self.significand = Cat(fraction, self.is_normal)
        self.exponent = exponent | ~self.is_normal
        self.is_zero = magnitude == 0
        self.is_infinite = magnitude == form.infinity if form.has_infinity else C(0, 1)
        self.is_nan = magnitude > form.largest if form.has_nan else C(0, 1)
        if form.has_infinity:
            self.is_nan = exponent.all() & fraction.any()

    def leading_zeros(self, m, name: str) -> Value:
        """Return the number of zeros before the significand's leading one."""
        width = self.form.significand_width
        normalise = Normalise(NormaliseConfig(width=width, leading_zeros=width - 1))
        m.submodules[f"zeros_{name}"] = normalise
        m.d.comb += normalise.i.eq(self.significand)
        return normalise.shift
