"""Request arbiter of the L1 instruction cache."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....config import MemoryUnitConfig
from ....emit.shared_block import SharedBlock
from ....lib.interfaces.core_memory import fetch_request_layout
from ....lib.streams import ResponseSignature
from ..cluster_layouts import PAIR_BYTES, instruction_mshr_config
from ..signatures import data_read_layout
from .signatures import FetchStateSignature, lookup_layout

__all__ = ["FetchArbiter"]


class FetchArbiter(SharedBlock):
    """Fetch arbiter: starts the look-up of a proposed line, else accepts a request.

    Combinational. A look-up starts if the lookup stage is free and the tags are neither written
    nor cleared. A request reads tags and data, a proposed line only the tags. Replays access the
    data; the arbiter accepts no request in their cycle.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    fetch : In(stream.Signature(fetch_request_layout(config.core)))
    proposal : In(ResponseSignature(config.core.l1i.line_width))
        Line to be looked up for a prefetch; held until its look-up is served.
    replay : In(ResponseSignature(data_read_layout))
        Read of a replay.
    lookup : In(FetchStateSignature())
    has_spare : In(1)
        An MSHR is free for a prefetch.
    blocks : In(1)
        The tags are written or cleared.
    tags : Out(ResponseSignature(config.core.l1i.set_width))
    data : Out(ResponseSignature(data_read_layout))
    request : Out(ResponseSignature(lookup_layout(config)))
        The look-up that starts.
    busy : Out(1)
        A proposed line is to be looked up.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        self.cache = cache = config.core.l1i
        self.mshr_config = mshr_config = instruction_mshr_config(config)
        super().__init__({
            "fetch": In(stream.Signature(fetch_request_layout(config.core))),
            "proposal": In(ResponseSignature(cache.line_width)),
            "replay": In(ResponseSignature(data_read_layout(mshr_config))),
            "lookup": In(FetchStateSignature()),
            "has_spare": In(1),
            "blocks": In(1),
            "tags": Out(ResponseSignature(cache.set_width)),
            "data": Out(ResponseSignature(data_read_layout(mshr_config))),
            "request": Out(ResponseSignature(lookup_layout(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        fetch, proposal, request = self.fetch, self.proposal, self.request.payload
        accepted, probes, is_idle = Signal(), Signal(), Signal()
        place_width = self.mshr_config.place_width
        pair = fetch.payload.address[exact_log2(PAIR_BYTES) :]
        first = Cat(C(0, place_width), proposal.payload)  # pair of the proposed line
        m.d.comb += [
            is_idle.eq(self.lookup.is_free & ~self.blocks),
            self.busy.eq(proposal.valid & self.has_spare & ~self.lookup.is_probe),
            probes.eq(self.busy & is_idle),
            fetch.ready.eq(is_idle & ~self.replay.valid & ~self.busy),
            accepted.eq(fetch.valid & fetch.ready),
            self.request.valid.eq(accepted | probes),
            request.is_demand.eq(accepted),
            request.tag.eq(fetch.payload.tag),
            request.pair.eq(Mux(accepted, pair, first)),
        ]
        self.read_arrays(m, pair, accepted, probes)
        return m

    def read_arrays(self, m: Module, pair: Value, accepted: Signal, probes: Signal):
        """Read the arrays for a request, the tags for a proposed line, or the word of a replay."""
        fetch_line, set_width = pair[self.mshr_config.place_width :], self.cache.set_width
        fetch_set, access = Signal(set_width), self.data.payload
        m.d.comb += [
            fetch_set.eq(fetch_line[:set_width]),
            self.tags.valid.eq(self.request.valid),
            self.tags.payload.eq(Mux(probes, self.proposal.payload[:set_width], fetch_set)),
            # A beat of the same number may be written to other ways in the cycle of a replay.
            self.data.valid.eq(accepted | self.replay.valid),
            access.ways.eq(~0),
            access.set.eq(fetch_set),
            access.place.eq(pair),
        ]
        with m.If(self.replay.valid):
            m.d.comb += access.eq(self.replay.payload)
