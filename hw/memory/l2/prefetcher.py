"""Prefetcher of an L2 slice."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...isa.memory_map import DRAM_END
from ...lib.stream_prefetcher import DemandSignature, StreamConfig, StreamPrefetcher
from .layouts import L2SliceConfig, operation_layout
from .signatures import L2PrefetchSignature

__all__ = ["L2Prefetcher"]


class L2Prefetcher(SharedBlock):
    """Prefetcher: issues look-ups of the lines that a `StreamPrefetcher` proposes, within DRAM.

    Prefetches use up to three quarters of the MSHRs.

    Parameters
    ----------
    config : L2SliceConfig
        With `config.l2.prefetch` at least 1.

    Members
    -------
    lookup : In(L2PrefetchSignature(config))
    drop : In(1)
        See `StreamPrefetcher`.
    o : Out(stream.Signature(operation_layout(config)))
        A read of no beats, whose outcome needs no report.
    busy : Out(1)
        A prefetch will be offered, or a line arrives.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(L2PrefetchSignature(config)),
            "drop": In(1),
            "o": Out(stream.Signature(operation_layout(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        lookup, l2, low = self.lookup, self.config.l2, exact_log2(self.config.masters)
        streams_config = StreamConfig(line_width=l2.line_width - low, ahead=l2.prefetch)
        m.submodules.streams = streams = StreamPrefetcher(streams_config)
        demand: Any = DemandSignature(streams_config.line_width).create()
        proposal: Any = stream.Signature(streams_config.line_width).flip().create()
        connect(m, demand, streams.demand)
        connect(m, streams.o, proposal)
        most = 3 * l2.mshrs // 4
        under_way, is_dram = Signal(range(l2.mshrs + 1)), Signal()
        slice_number = Signal(low)  # common to all lines of this slice
        proposed, may_go = Cat(slice_number, proposal.payload), Signal()
        with m.If(lookup.demand):
            m.d.sync += slice_number.eq(lookup.line)
        m.d.comb += [
            demand.valid.eq(lookup.demand),
            demand.missed.eq(lookup.missed),
            demand.line.eq(lookup.line[low:]),
            streams.drop.eq(self.drop),
            is_dram.eq(proposed < DRAM_END // l2.line_bytes),
            # Offers of this cycle and of the last are not counted yet.
            may_go.eq(under_way < most - 1),
            self.o.valid.eq(proposal.valid & is_dram & may_go),
            proposal.ready.eq((self.o.ready & may_go) | ~is_dram),
            self.o.payload.read.eq(1),
            self.o.payload.line.eq(proposed),
            self.o.payload.allocates.eq(1),
            self.busy.eq(streams.busy),
        ]
        m.d.sync += under_way.eq(under_way + lookup.begun - lookup.finished)
        return m
