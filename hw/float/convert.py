"""Conversion of a stored float to a narrower format."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..emit import SharedBlock
from ..formats import FP16, FP32, FloatFormat
from .round import Round, RoundConfig

__all__ = ["Convert", "ConvertConfig"]


@dataclass(frozen=True, kw_only=True)
class ConvertConfig:
    """A conversion.

    Parameters
    ----------
    source, target : FloatFormat
        The target must be narrower in exponent and significand.

    """

    source: FloatFormat = FP32
    target: FloatFormat = FP16

    def __post_init__(self):
        for name in ("exponent_width", "significand_width"):
            source, target = getattr(self.source, name), getattr(self.target, name)
            if source <= target:
                raise ValueError(
                    f"target must have less than the {name} of {self.source.name}, {source}, "
                    f"not {target}"
                )


class Convert(SharedBlock):
    """``o = i`` in a narrower format, rounded to nearest, ties to even.

    Combinational. What is too large becomes infinity; NaN becomes the canonical one.

    Parameters
    ----------
    config : ConvertConfig

    Members
    -------
    i : In(config.source.width)
    o : Out(config.target.width)

    """

    i: Signal
    o: Signal

    def __init__(self, config: ConvertConfig):
        self.config = config
        super().__init__({"i": In(config.source.width), "o": Out(config.target.width)})

    def build(self, platform):
        m = Module()
        source, target = self.config.source, self.config.target
        fraction = self.i[: source.fraction_width]
        exponent = self.i[source.fraction_width : -1]

        # Three bits more than the target's, of which the last stands for all that follow.
        lowest = max(source.significand_width - target.significand_width - 2, 0)
        significand = Cat(fraction, exponent.any())
        if lowest:
            significand = Cat(significand[:lowest].any(), significand[lowest:])
        else:
            significand = Cat(C(0, target.significand_width + 3 - len(significand)), significand)
        m.submodules.round = rounder = Round(
            RoundConfig(
                form=target,
                significand_width=len(significand),
                exponent_width=source.exponent_width + 1,
                overflows=True,
                underflows=True,
            )
        )
        is_nan = self.i[:-1] > source.infinity
        m.d.comb += [
            rounder.exponent.eq(exponent - (source.bias - target.bias)),
            rounder.significand.eq(significand),
            self.o.eq(Mux(is_nan, target.nan, Cat(rounder.o, self.i[-1]))),
        ]
        return m
