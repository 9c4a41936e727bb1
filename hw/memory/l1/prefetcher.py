"""Next-line prefetcher of the L1 instruction cache."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...config import CacheConfig
from ...emit.shared_block import SharedBlock
from ...lib.streams import ResponseSignature

__all__ = ["PrefetchSignature", "Prefetcher"]


class PrefetchSignature(wiring.Signature):
    """Outcome of a look-up for the prefetcher, seen from the lookup stage.

    Parameters
    ----------
    config : CacheConfig

    Members
    -------
    trigger : Out(1)
        From the next cycle on, the `config.prefetch` lines after `line` are proposed, except
        those proposed before. Never in a cycle of `served`.
    line : Out(config.line_width)
    served : Out(1)
        The proposal of the last cycle is present, is being read, or cannot be read.
    """

    def __init__(self, config: CacheConfig):
        super().__init__({"trigger": Out(1), "line": Out(config.line_width), "served": Out(1)})


class Prefetcher(SharedBlock):
    """Next-line prefetcher: proposes the lines after the last one missed or first used.

    A proposal is held until it is served; the next follows 1 cycle later. A trigger within the
    current run of lines extends the run; any other trigger starts a new run.

    Parameters
    ----------
    config : CacheConfig
        With `config.prefetch` at least 1.

    Members
    -------
    lookup : In(PrefetchSignature(config))
    o : Out(ResponseSignature(config.line_width))
        A line is proposed for a tag look-up.
    """

    def __init__(self, config: CacheConfig):
        self.config = config
        super().__init__({
            "lookup": In(PrefetchSignature(config)),
            "o": Out(ResponseSignature(config.line_width)),
        })

    def build(self, platform):
        m = Module()
        most, lookup = self.config.prefetch, self.lookup
        left = Signal(range(most + 1))
        following = Signal(self.config.line_width)
        behind, continues = Signal(self.config.line_width), Signal()
        is_new = Signal()  # `served` belongs to a proposal of the run before
        m.d.comb += [
            self.o.valid.eq(left.any()),
            self.o.payload.eq(following),
            behind.eq(following + ~lookup.line),  # lines between
            continues.eq(~behind[len(left) :].any() & (behind[: len(left)] <= most)),
        ]
        m.d.sync += is_new.eq(lookup.trigger & ~continues)
        with m.If(lookup.trigger):
            m.d.sync += left.eq(most)
            with m.If(continues):
                m.d.sync += left.eq(most - behind[: len(left)])
            with m.Else():
                m.d.sync += following.eq(lookup.line + 1)
        with m.Elif(lookup.served & ~is_new & self.o.valid):
            m.d.sync += [following.eq(following + 1), left.eq(left - 1)]
        return m
