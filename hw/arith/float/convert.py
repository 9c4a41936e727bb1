"""Conversion of a stored float to another format."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.formats import FP16, FP32, IEEE, NAN, FloatFormat
from ...emit.shared_block import SharedBlock
from .normalise import Normalise, NormaliseConfig
from .round import Round, RoundConfig
from .rounding import Rounding

__all__ = ["Convert", "ConvertConfig"]


@dataclass(frozen=True, kw_only=True)
class ConvertConfig:
    """Source and target of a conversion; the possible exceptions follow from the two formats.

    Parameters
    ----------
    source, target : FloatFormat
        Any two formats. If they are equal, the conversion makes NaN canonical.
    modes : bool
        Whether the rounding mode is an input; if not, it is nearest, ties to even.
    saturate : bool
        Whether overflow, infinity included, gives the largest number, and values below the
        range of an unsigned target give its smallest number.

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
        """Target's stored exponent minus the source's, for the same value."""
        return self.target.bias - self.source.bias

    @property
    def least_exponent(self) -> int:
        """The target's stored exponent of the source's smallest normal number."""
        return int(self.source.subnormals) + self.offset

    @property
    def room(self) -> int:
        """Places by which a subnormal can be normalised further in the target."""
        if not self.source.subnormals:
            return 0
        places = self.least_exponent - int(self.target.subnormals)
        return max(0, min(places, self.source.fraction_width))

    @property
    def underflows(self) -> bool:
        """Whether some normal numbers of the source are not normal in the target."""
        return self.least_exponent < int(self.target.subnormals)

    @property
    def subnormals_vanish(self) -> bool:
        """Whether every subnormal is below half of the target's smallest number."""
        return self.least_exponent <= int(self.target.subnormals) - self.target.significand_width

    @property
    def overflows(self) -> bool:
        """Whether a rounded number of the source can be too large for the target."""
        dropped = self.source.fraction_width - self.target.fraction_width
        largest = self.source.largest
        code = -(-largest >> dropped) if dropped > 0 else largest << -dropped
        return code + (self.offset << self.target.fraction_width) > self.target.largest

    @property
    def is_exact(self) -> bool:
        """Whether the target represents all numbers of the source."""
        return (
            self.source.significand_width <= self.target.significand_width
            and self.source.least_exponent >= self.target.least_exponent
            and not self.overflows
        )

    @property
    def beyond(self) -> int:
        """Stored magnitude of infinity in the target."""
        return self.target.largest if self.saturate else self.target.overflow

    @property
    def nan(self) -> int:
        """Stored bits of NaN in the target."""
        return self.target.nan if self.target.has_nan else self.target.largest

    @property
    def infinity_passes(self) -> bool:
        """Whether infinity is handled like a number: a valid exponent or one that overflows."""
        if self.is_exact:
            codes = (self.source.exponent_mask + self.offset, self.target.exponent_mask)
            return self.target.has_infinity and not self.saturate and codes[0] == codes[1]
        exponent = self.source.exponent_mask + self.offset
        is_too_large = exponent > self.target.largest >> self.target.fraction_width
        # In a directed mode a finite overflow does not always become infinity.
        in_every_mode = not self.modes or self.beyond == self.target.largest
        return self.overflows and is_too_large and in_every_mode


class Convert(SharedBlock):
    """Float converter: ``o = i`` in another format, rounded once.

    Combinational. There is no rounder if the target represents all numbers of the source. NaN
    becomes the canonical NaN, or the largest number in a format without NaN. Overflow gives
    infinity, else NaN, else the largest number. Values below the range of an unsigned target, and
    zero if it has none, become NaN. With `config.saturate` all of these except NaN become the
    nearest number.

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

    def __init__(self, config: ConvertConfig):
        self.config = config
        super().__init__({
            "i": In(config.source.width),
            **({"rounding": In(Rounding)} if config.modes else {}),
            "o": Out(config.target.width),
        })

    @property
    def magnitude(self):
        """Bits of the input without its sign."""
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
        """Return whether the input is NaN, and whether it is an infinity unlike a number."""
        source = self.config.source
        is_infinity = C(0, 1)
        if source.has_infinity and not self.config.infinity_passes:
            is_infinity = self.magnitude == source.infinity
        if source.specials == IEEE:
            return self.magnitude > source.infinity, is_infinity
        return self.magnitude.all() if source.specials == NAN else C(0, 1), is_infinity

    def unpacked(self, m):
        """Return the significand, normalised as far as in the target, and its stored exponent."""
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
            # A subnormal uses the exponent of the smallest normals.
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
        """Return the magnitude of a number that the target represents exactly."""
        config = self.config
        target = config.target
        significand = Cat(C(0, target.significand_width - len(significand)), significand)
        if config.underflows:
            least = int(target.subnormals)
            places = Signal(range(least - config.least_exponent + 1))
            m.d.comb += places.eq(Mux(exponent < least, least - exponent, 0))
            significand = (significand >> places)[: target.significand_width]
        if config.room or config.underflows:
            # Subnormal or zero if its top bit is 0.
            exponent = Mux(significand[-1], exponent, 0)
        return Cat(significand[:-1], exponent[: target.exponent_width])

    def rounded(self, m, significand, exponent):
        """Return the magnitude rounded to the target in the rounding mode."""
        config = self.config
        target = config.target
        # Two bits more than the target's; the last one is sticky.
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
