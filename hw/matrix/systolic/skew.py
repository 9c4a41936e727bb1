"""Skew: per-lane delays at the edges of the array, and deskew behind it."""

from dataclasses import dataclass

from amaranth import *

from ...config.checks import require_integer

__all__ = ["SkewConfig", "skewed"]


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


def skewed(m: Module, word: Value, config: SkewConfig, name: str) -> Value:
    """Return a word with lane k delayed by ``k * step`` cycles.

    By ``(lanes - 1 - k) * step`` cycles if `falling`. One word per cycle, no back-pressure. Lane 0
    is the lowest. All lanes still delayed share one register per cycle of delay, so the whole is a
    few wide registers, `name` with their number.
    """
    width = config.width
    current = [word.word_select(lane, width) for lane in range(config.lanes)]
    for cycle in range((config.lanes - 1) * config.step):
        waiting = [lane for lane in range(config.lanes) if config.delay(lane) > cycle]
        stage = Signal(len(waiting) * width, reset_less=True, name=f"{name}_{cycle}")
        m.d.sync += stage.eq(Cat(current[lane] for lane in waiting))
        for position, lane in enumerate(waiting):
            current[lane] = stage.word_select(position, width)
    return Cat(current)
