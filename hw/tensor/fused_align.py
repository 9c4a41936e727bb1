"""Alignment of one term of a fused sum."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..emit import SharedBlock
from ..float.pipeline import cut

__all__ = ["FusedAlign", "FusedAlignConfig"]


@dataclass(frozen=True, kw_only=True)
class FusedAlignConfig:
    """A term's shape.

    Parameters
    ----------
    width : int
        Bits of the aligned term.
    integer_width : int
        Those before the point.
    significand_width, fraction_width : int
        Bits of the significand, and those behind the point. Any the term has no room for are
        dropped.
    exponent_width : int
        Bits of the term's exponent code.
    largest_width : int
        Bits of the largest exponent's code. If there are negative codes, two's complement ones,
        those of the term must be as wide.
    registered : bool
        Whether the number of places to shift is registered.

    """

    width: int
    integer_width: int
    significand_width: int
    fraction_width: int
    exponent_width: int
    largest_width: int
    registered: bool = False


class FusedAlign(SharedBlock):
    """``o = significand >> (largest - exponent)``, truncated, complemented if `sign`.

    Combinational, or one cycle later if `config.registered`. A term too far below the largest
    exponent is 0; what is above it must have significand 0.

    Parameters
    ----------
    config : FusedAlignConfig

    Members
    -------
    largest : In(config.largest_width)
    exponent : In(config.exponent_width)
    significand : In(config.significand_width)
    sign : In(1)
    o : Out(config.width)

    """

    largest: Signal
    exponent: Signal
    significand: Signal
    sign: Signal
    o: Signal

    def __init__(self, config: FusedAlignConfig):
        self.config = config
        super().__init__({
            "largest": In(config.largest_width),
            "exponent": In(config.exponent_width),
            "significand": In(config.significand_width),
            "sign": In(1),
            "o": Out(config.width),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        # Never negative where it matters, so as wide as its largest value.
        distance = Signal(config.largest_width)
        m.d.comb += distance.eq(self.largest - self.exponent)
        places_width = config.width.bit_length()
        is_far = distance[places_width:].any()
        places, significand, sign = cut(
            m,
            "distance",
            registered=config.registered,
            places=distance[:places_width] | is_far.replicate(places_width),
            significand=self.significand,
            sign=self.sign,
        )
        below = config.width - config.integer_width - config.fraction_width
        placed = Cat(C(0, below), significand) if below > 0 else significand[-below:]
        aligned = Signal(config.width)
        m.d.comb += [
            aligned.eq(placed >> places),
            self.o.eq(aligned ^ sign.replicate(config.width)),
        ]
        return m
