"""Queue of the DRAM reads of an L2 slice."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.streams import Queue
from .layouts import L2SliceConfig

__all__ = ["L2Fetches", "fetch_layout"]


def fetch_layout(config: L2SliceConfig) -> data.StructLayout:
    """Return the layout of a DRAM read: beat `first` of a line and the `more` after it."""
    return data.StructLayout({
        "mshr": config.mshr_width,
        "line": config.l2.line_width,
        "first": config.beat_width,
        "more": config.beat_width,
    })


class L2Fetches(SharedBlock):
    """Queue of DRAM reads: each is offered 1 cycle after `i`, or after those before it.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    i : In(stream.Signature(fetch_layout(config)))
        Always ready, as each MSHR has at most one read.
    o : Out(stream.Signature(fetch_layout(config)))
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        layout = fetch_layout(config)
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout))})

    def build(self, platform):
        m = Module()
        layout = fetch_layout(self.config)
        m.submodules.behind = behind = Queue(layout, self.config.l2.mshrs)
        first, first_valid = Signal(layout, reset_less=True), Signal()
        moves, is_empty = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(1),
            self.o.valid.eq(first_valid),
            self.o.payload.eq(first),
            moves.eq(~first_valid | self.o.ready),
            # The output of a deep queue may not be valid yet while its level is above 0.
            is_empty.eq(~behind.level.any()),
            behind.i.payload.eq(self.i.payload),
            behind.i.valid.eq(self.i.valid & ~(moves & is_empty)),
            behind.o.ready.eq(moves),
        ]
        with m.If(moves):
            m.d.sync += [
                first_valid.eq(Mux(is_empty, self.i.valid, behind.o.valid)),
                first.eq(Mux(is_empty, self.i.payload, behind.o.payload)),
            ]
        return m
