"""Conversion of a stored float to any other format."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..formats import FP16, FP32, IEEE, NAN, FloatFormat
from ..shared_block import SharedBlock
from .normalise import Normalise, NormaliseConfig
from .round import Round, RoundConfig
from .rounding import Rounding

__all__ = ["Convert", "ConvertConfig"]


@dataclass(frozen=True, kw_only=True)
class ConvertConfig:
    """A conversion; what it can run into follows from the two formats.

    Parameters
    ----------
    source, target : FloatFormat
        Any two. The same twice makes NaN canonical.
    modes : bool
        Whether the rounding mode is an input, else it is nearest, ties to even.
    saturate : bool
        Whether what is too large, infinity too, becomes the largest number, and what an unsigned
        target cannot reach below its least number.

    """

    source: FloatFormat = FP32
    target: FloatFormat = FP16
    modes: bool = False
    saturate: bool = False

    def __post_init__(self):
        for name in ("source", "target"):
            form = getattr(self, name)
            if not isinstance(form, FloatFormat):
                raise TypeError(f"{name} must be a FloatFormat, not {form!r}")

    @property
    def offset(self) -> int:
        """What the target's stored exponent of a value exceeds the source's by."""
        return self.target.bias - self.source.bias

    @property
    def least_exponent(self) -> int:
        """The target's stored exponent of the source's least normal number."""
        return int(self.source.subnormals) + self.offset

    @property
    def room(self) -> int:
        """Places by which a subnormal number can be more normal in the target."""
        if not self.source.subnormals:
            return 0
        places = self.least_exponent - int(self.target.subnormals)
        return max(0, min(places, self.source.fraction_width))

    @property
    def underflows(self) -> bool:
        """Whether the source has normal numbers that are none in the target."""
        return self.least_exponent < int(self.target.subnormals)

    @property
    def subnormals_vanish(self) -> bool:
        """Whether each subnormal is below half of the target's least number, so all are alike."""
        return self.least_exponent <= int(self.target.subnormals) - self.target.significand_width

    @property
    def overflows(self) -> bool:
        """Whether a number of the source, rounded, can be too large for the target."""
        dropped = self.source.fraction_width - self.target.fraction_width
        largest = self.source.largest
        code = -(-largest >> dropped) if dropped > 0 else largest << -dropped
        return code + (self.offset << self.target.fraction_width) > self.target.largest

    @property
    def is_exact(self) -> bool:
        """Whether the target has all numbers of the source."""
        return (
            self.source.significand_width <= self.target.significand_width
            and self.source.least_exponent >= self.target.least_exponent
            and not self.overflows
        )

    @property
    def beyond(self) -> int:
        """Stored magnitude of infinity, in the target."""
        return self.target.largest if self.saturate else self.target.overflow

    @property
    def nan(self) -> int:
        """Stored bits of NaN, in the target."""
        return self.target.nan if self.target.has_nan else self.target.largest

    @property
    def infinity_passes(self) -> bool:
        """Whether infinity takes the way of numbers: an exponent as any, or one that overflows."""
        if self.is_exact:
            codes = (self.source.exponent_mask + self.offset, self.target.exponent_mask)
            return self.target.has_infinity and not self.saturate and codes[0] == codes[1]
        exponent = self.source.exponent_mask + self.offset
        is_too_large = exponent > self.target.largest >> self.target.fraction_width
        # A directed mode does not take to infinity what only overflows.
        in_every_mode = not self.modes or self.beyond == self.target.largest
        return self.overflows and is_too_large and in_every_mode


class Convert(SharedBlock):
    """``o = i`` in another format, rounded once.

    Combinational. A target that has all numbers of the source takes no rounder. NaN becomes the
    canonical one; what is too large becomes infinity, else NaN, else the largest number (which
    NaN becomes too, where there is none). What lies below an unsigned target, zero too if it has
    none, becomes NaN. With `config.saturate` all these but NaN become the nearest number.

    Parameters
    ----------
    config : ConvertConfig

    Members
    -------
    i : In(config.source.width)
    rounding : In(Rounding)
        Present if `config.modes`.
    o : Out(config.target.width)

    """

    i: Signal
    rounding: Signal
    o: Signal

    def __init__(self, config: ConvertConfig):
        self.config = config
        super().__init__({
            "i": In(config.source.width),
            **({"rounding": In(Rounding)} if config.modes else {}),
            "o": Out(config.target.width),
        })

    @property
    def magnitude(self):
        """All of the input but its sign."""
        return self.i[: self.config.source.magnitude_width]

    @property
    def sign(self):
        """The input's sign."""
        return self.i[-1] if self.config.source.signed else C(0, 1)

    def build(self, platform):
        m = Module()
        config = self.config
        target = config.target
        significand, exponent = self.unpacked(m)
        magnitude = Signal(target.magnitude_width)
        number = (self.widened if config.is_exact else self.rounded)(m, significand, exponent)
        is_nan, is_infinity = self.specials()
        m.d.comb += magnitude.eq(Mux(is_infinity, config.beyond, number))

        if target.signed:
            sign = self.sign
            if target.specials == NAN and not config.is_exact and not config.saturate:
                # An overflow to NaN loses its sign.
                sign = sign & ~magnitude.all()
            result = Cat(magnitude, sign)
        else:
            below = self.sign & self.magnitude.any()
            if not target.subnormals:
                below = self.sign | ~self.magnitude.any() & config.source.subnormals
            result = Mux(below, 0 if config.saturate else config.nan, magnitude)
        m.d.comb += self.o.eq(Mux(is_nan, config.nan, result))
        return m

    def specials(self):
        """Return whether the input is NaN, and whether it is infinity and must be told apart."""
        source = self.config.source
        is_infinity = C(0, 1)
        if source.has_infinity and not self.config.infinity_passes:
            is_infinity = self.magnitude == source.infinity
        if source.specials == IEEE:
            return self.magnitude > source.infinity, is_infinity
        return self.magnitude.all() if source.specials == NAN else C(0, 1), is_infinity

    def unpacked(self, m):
        """Return the significand, normalised as far as the target is, and its stored exponent."""
        config = self.config
        source = config.source
        fraction = self.i[: source.fraction_width]
        code = self.i[source.fraction_width : source.magnitude_width]
        low, high = config.offset - config.room, config.offset + source.exponent_mask
        width = Shape.cast(range(min(low, -1), high + 1)).width
        exponent = Signal(signed(max(width, config.target.exponent_width + 1)))
        if not source.subnormals:
            m.d.comb += exponent.eq(code + config.offset)
            return Cat(fraction, C(1, 1)), exponent

        is_normal = code.any()
        significand = Cat(fraction, is_normal)
        if config.room or (config.underflows and not config.subnormals_vanish):
            # A subnormal has the exponent of the least normal numbers.
            code = code | ~is_normal
        if not config.room:
            m.d.comb += exponent.eq(code + config.offset)
            return significand, exponent
        limited = config.room < source.fraction_width
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(
                width=source.significand_width, leading_zeros=config.room, limited=limited
            )
        )
        m.d.comb += normalise.i.eq(significand)
        if limited:
            m.d.comb += normalise.limit.eq(1 << (source.fraction_width - config.room))
        m.d.comb += exponent.eq(code + config.offset - normalise.shift)
        return normalise.o, exponent

    def widened(self, m, significand, exponent):
        """Return the magnitude of a number that the target has."""
        config = self.config
        target = config.target
        significand = Cat(C(0, target.significand_width - len(significand)), significand)
        if config.underflows:
            least = int(target.subnormals)
            places = Signal(range(least - config.least_exponent + 1))
            m.d.comb += places.eq(Mux(exponent < least, least - exponent, 0))
            significand = (significand >> places)[: target.significand_width]
        if config.room or config.underflows:
            # Without its top bit it is subnormal or zero.
            exponent = Mux(significand[-1], exponent, 0)
        return Cat(significand[:-1], exponent[: target.exponent_width])

    def rounded(self, m, significand, exponent):
        """Return the magnitude of the number of the target that is nearest in the mode."""
        config = self.config
        target = config.target
        # Two bits more than the target's, of which the last stands for all that follow.
        surplus = len(significand) - target.significand_width - 2
        if surplus > 0:
            significand = Cat(significand[: surplus + 1].any(), significand[surplus + 1 :])
        else:
            significand = Cat(C(0, -surplus), significand)
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=target,
                significand_width=len(significand),
                exponent_width=len(exponent),
                overflows=config.overflows,
                underflows=config.underflows,
                unnormalised=config.source.subnormals
                and (config.room > 0 or not target.subnormals),
                modes=config.modes,
                saturate=config.saturate,
            )
        )
        m.d.comb += [rounder.exponent.eq(exponent), rounder.significand.eq(significand)]
        if config.modes:
            m.d.comb += [rounder.rounding.eq(self.rounding), rounder.sign.eq(self.sign)]
        return rounder.o
