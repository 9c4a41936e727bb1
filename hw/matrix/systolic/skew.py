"""Skew: per-lane delays at the edges of the array, and deskew behind it."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config.checks import require_integer
from ...emit.component import Component

__all__ = ["Skew", "SkewConfig"]


@dataclass(frozen=True, kw_only=True)
class SkewConfig:
    """Shape of a skewed word.

    Parameters
    ----------
    lanes : int
        Lanes of the word, 2 or more.
    width : int
        Bits of one lane.
    step : int
        Cycles between neighbouring lanes.
    falling : bool
        Whether the last lane is undelayed instead of the first.

    """

    lanes: int
    width: int
    step: int = 1
    falling: bool = False

    def __post_init__(self):
        require_integer("lanes", self.lanes, 2, 1024)
        require_integer("width", self.width, 1, 1024)
        require_integer("step", self.step, 1, 64)

    def delay(self, lane: int) -> int:
        """Return the delay of `lane` in cycles."""
        return (self.lanes - 1 - lane if self.falling else lane) * self.step


class Skew(Component):
    """Skew: delays lane k by ``k * step`` cycles, or ``(lanes - 1 - k) * step`` if `falling`.

    One word per cycle, no back-pressure. All lanes still delayed share one register per cycle of
    delay, so the whole is a few wide registers.

    Parameters
    ----------
    config : SkewConfig

    Members
    -------
    i : In(lanes * width)
        Concatenated lanes, lane 0 lowest.
    o : Out(lanes * width)
    """

    def __init__(self, config: SkewConfig):
        self.config = config
        width = config.lanes * config.width
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        config, width = self.config, self.config.width
        current = [self.i.word_select(lane, width) for lane in range(config.lanes)]
        for cycle in range((config.lanes - 1) * config.step):
            waiting = [lane for lane in range(config.lanes) if config.delay(lane) > cycle]
            stage = Signal(len(waiting) * width, reset_less=True, name=f"stage_{cycle}")
            m.d.sync += stage.eq(Cat(current[lane] for lane in waiting))
            for position, lane in enumerate(waiting):
                current[lane] = stage.word_select(position, width)
        m.d.comb += self.o.eq(Cat(current))
        return m
