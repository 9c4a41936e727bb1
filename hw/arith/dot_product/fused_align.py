"""Alignment of the terms of a fused sum."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.carry_select import CarrySelectAdd, CarrySelectAddConfig

__all__ = ["FusedAlign", "FusedAlignConfig", "places_below"]


def places_below(
    m: Module, largest: Value, code: Value, width: int, *, name: str, fast: bool
) -> Value:
    """Return a term's distance below the largest exponent, at most all of its bits.

    The result is meaningless for a term above the largest exponent, which must be zero.

    A distance of `width` or more makes the term zero. With long codes and `fast`, the
    subtraction is done in blocks.
    """
    code_width = len(largest)
    distance = Signal(code_width, name=f"distance_{name}")
    if fast and code_width > 8:
        m.submodules[f"distance_{name}"] = subtracter = CarrySelectAdd(
            CarrySelectAddConfig(width=code_width, blocks=(code_width // 2,))
        )
        m.d.comb += [
            distance.eq(code),
            subtracter.a.eq(largest),
            subtracter.b.eq(~distance),
            subtracter.carry.eq(1),
        ]
        distance = subtracter.o
    else:
        m.d.comb += distance.eq(largest - code)
    places_width = width.bit_length()
    is_far = distance[places_width:].any()
    places = Signal(places_width, name=f"places_{name}")
    m.d.comb += places.eq(distance[:places_width] | is_far.replicate(places_width))
    return places


@dataclass(frozen=True, kw_only=True)
class FusedAlignConfig:
    """Widths of a term.

    Parameters
    ----------
    width : int
        Bits of the aligned term.
    integer_width : int
        Integer bits of the aligned term.
    significand_width, fraction_width : int
        Bits of the significand, and its fraction bits. Bits beyond the aligned term are
        dropped.

    """

    width: int
    integer_width: int
    significand_width: int
    fraction_width: int

    @property
    def places_width(self) -> int:
        """Bits of a shift distance that can shift out everything."""
        return self.width.bit_length()


class FusedAlign(SharedBlock):
    """Aligner: ``o = significand >> places``, truncated, complemented if `sign`.

    Combinational.

    Parameters
    ----------
    config : FusedAlignConfig

    Members
    -------
    places : In(config.places_width)
    significand : In(config.significand_width)
    sign : In(1)
    o : Out(config.width)

    """

    def __init__(self, config: FusedAlignConfig):
        self.config = config
        super().__init__({
            "places": In(config.places_width),
            "significand": In(config.significand_width),
            "sign": In(1),
            "o": Out(config.width),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        below = config.width - config.integer_width - config.fraction_width
        placed = Cat(C(0, max(below, 0)), self.significand[max(-below, 0) :])
        aligned = Signal(config.width)
        m.d.comb += [
            aligned.eq(placed >> self.places),
            self.o.eq(aligned ^ self.sign.replicate(config.width)),
        ]
        return m
