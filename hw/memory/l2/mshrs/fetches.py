"""Queue of the DRAM reads of an L2 slice."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ....emit.shared_block import SharedBlock
from ....lib.one_hot import lowest, number_of
from ....lib.streams import Queue, ResponseSignature
from ..layouts import L2SliceConfig, operation_layout
from ..signatures import MshrUpdateSignature
from .signatures import L2MshrSignature, RefillBeginSignature

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
    """Queue of DRAM reads: reads the whole line if it is kept, else the requested beats.

    A read is offered 1 cycle after its look-up, or after those before it. There is room for all,
    as each MSHR has at most one.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
    stage : In(MshrUpdateSignature(config))
    entry : In(L2MshrSignature(config))
    begin : Out(RefillBeginSignature(config))
    o : Out(stream.Signature(fetch_layout(config)))
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "stage": In(MshrUpdateSignature(config)),
            "entry": In(L2MshrSignature(config)),
            "begin": Out(RefillBeginSignature(config)),
            "o": Out(stream.Signature(fetch_layout(config))),
        })

    def build(self, platform):
        m = Module()
        config, operation, outcome = self.config, self.lookup.payload, self.stage.outcome
        beats, fetch, is_fetch = operation.beats, Signal(fetch_layout(config)), Signal()
        first = Signal(config.beats)
        needed = sum((beats[n] for n in range(1, config.beats)), start=beats[0])
        m.d.comb += [
            first.eq(lowest(beats)),
            is_fetch.eq(self.stage.settle & outcome.fetches),
            fetch.mshr.eq(self.entry.number),
            fetch.line.eq(operation.line),
            fetch.first.eq(Mux(outcome.keeps, 0, number_of(first))),
            fetch.more.eq(Mux(outcome.keeps, config.beats - 1, needed - 1)),
            self.begin.mshrs.eq(Mux(is_fetch, self.entry.one_hot, 0)),
            self.begin.first.eq(fetch.first),
        ]
        self.queue(m, is_fetch, fetch)
        return m

    def queue(self, m: Module, is_fetch: Signal, fetch: data.View):
        """Offer the oldest read; hold those behind it."""
        layout = fetch_layout(self.config)
        m.submodules.behind = behind = Queue(layout, self.config.l2.mshrs)
        younger: Any = stream.Signature(layout).create()
        oldest: Any = stream.Signature(layout).flip().create()
        connect(m, younger, behind.i)
        connect(m, behind.o, oldest)
        first, first_valid = Signal(layout, reset_less=True), Signal()
        moves, is_empty = Signal(), Signal()
        m.d.comb += [
            self.o.valid.eq(first_valid),
            self.o.payload.eq(first),
            moves.eq(~first_valid | self.o.ready),
            # The output of a deep queue may not be valid yet while its level is above 0.
            is_empty.eq(~behind.level.any()),
            younger.payload.eq(fetch),
            younger.valid.eq(is_fetch & ~(moves & is_empty)),
            oldest.ready.eq(moves),
        ]
        with m.If(moves):
            m.d.sync += [
                first_valid.eq(Mux(is_empty, is_fetch, oldest.valid)),
                first.eq(Mux(is_empty, fetch, oldest.payload)),
            ]
