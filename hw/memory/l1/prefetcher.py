"""Next-line prefetcher of the L1 instruction cache."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config import CacheConfig
from ...emit.shared_block import SharedBlock

__all__ = ["Prefetcher"]


class Prefetcher(SharedBlock):
    """Next-line prefetcher: proposes the lines after the last one missed or first used.

    A proposal is held until it is `served`; the next follows 1 cycle later. A trigger within the
    current run of lines extends the run; any other trigger starts a new run.

    Parameters
    ----------
    config : CacheConfig
        With `config.prefetch` at least 1.

    Members
    -------
    trigger : In(1)
        From the next cycle on, the `config.prefetch` lines after `line` are proposed, except
        those proposed before. Never in a cycle of `served`.
    line : In(config.line_width)
    proposes : Out(1)
        A line is proposed for a tag look-up.
    proposed : Out(config.line_width)
    served : In(1)
        The proposal of the last cycle is present, is being read, or cannot be read.
    """

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
        behind, continues = Signal(self.config.line_width), Signal()
        is_new = Signal()  # `served` belongs to a proposal of the run before
        m.d.comb += [
            self.proposes.eq(left.any()),
            self.proposed.eq(following),
            behind.eq(following + ~self.line),  # lines between
            continues.eq(~behind[len(left) :].any() & (behind[: len(left)] <= most)),
        ]
        m.d.sync += is_new.eq(self.trigger & ~continues)
        with m.If(self.trigger):
            m.d.sync += left.eq(most)
            with m.If(continues):
                m.d.sync += left.eq(most - behind[: len(left)])
            with m.Else():
                m.d.sync += following.eq(self.line + 1)
        with m.Elif(self.served & ~is_new & self.proposes):
            m.d.sync += [following.eq(following + 1), left.eq(left - 1)]
        return m
