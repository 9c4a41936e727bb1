"""Lines that follow one in use are asked for before anyone wants them."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..config import CacheConfig
from ..shared_block import SharedBlock

__all__ = ["Prefetcher"]


class Prefetcher(SharedBlock):
    """Propose the lines behind the last one that was missed or used for the first time.

    A line is proposed until it is `served`; the next 1 cycle after that. What triggers in the
    midst of lines that follow each other lets it go on farther, else it begins anew there.

    Parameters
    ----------
    config : CacheConfig
        With `config.prefetch` at least 1.

    Members
    -------
    trigger : In(1)
        From the next cycle on, `config.prefetch` lines behind `line` are proposed, but for
        those that were. Not in a cycle of `served`.
    line : In(config.line_width)
    proposes : Out(1)
        There is one to look up:
    proposed : Out(config.line_width)
    served : In(1)
        What was proposed in the last cycle is here, or comes, or is not to be had.
    """

    trigger: Signal
    line: Signal
    proposes: Signal
    proposed: Signal
    served: Signal

    def __init__(self, config: CacheConfig):
        self.config = config
        super().__init__({
            "trigger": In(1),
            "line": In(config.line_width),
            "proposes": Out(1),
            "proposed": Out(config.line_width),
            "served": In(1),
        })

    def build(self, platform):
        m = Module()
        most = self.config.prefetch
        left = Signal(range(most + 1))
        following = Signal(self.config.line_width)
        behind, goes_on = Signal(self.config.line_width), Signal()
        is_new = Signal()  # what is served now is not what is proposed now
        m.d.comb += [
            self.proposes.eq(left.any()),
            self.proposed.eq(following),
            behind.eq(following + ~self.line),  # lines between
            goes_on.eq(~behind[len(left) :].any() & (behind[: len(left)] <= most)),
        ]
        m.d.sync += is_new.eq(self.trigger & ~goes_on)
        with m.If(self.trigger):
            m.d.sync += left.eq(most)
            with m.If(goes_on):
                m.d.sync += left.eq(most - behind[: len(left)])
            with m.Else():
                m.d.sync += following.eq(self.line + 1)
        with m.Elif(self.served & ~is_new & self.proposes):
            m.d.sync += [following.eq(following + 1), left.eq(left - 1)]
        return m
