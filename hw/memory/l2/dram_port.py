"""AXI4 port of an L2 slice on the DRAM side."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.axi import channel, whole_beats
from ...lib.streams import ResponseSignature
from .layouts import L2SliceConfig
from .line_sender import address_layout
from .mshrs.fetches import fetch_layout
from .mshrs.refill import arrival_layout
from .signatures import DramLoadSignature
from .write_gather import beat_layout

__all__ = ["L2DramPort"]


class L2DramPort(SharedBlock):
    """DRAM port: converts streams to the channels of AXI4, and back. Combinational.

    Ids of reads are MSHR numbers; all writes have id 0. Read data is always accepted.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    axi : Out(config.outer)
    fetch : In(stream.Signature(fetch_layout(config)))
    arrival : Out(ResponseSignature(arrival_layout(config)))
    address : In(stream.Signature(address_layout(config)))
    beat : In(stream.Signature(beat_layout(config)))
    response : Out(stream.Signature(2))
    load : Out(DramLoadSignature())
    busy : Out(1)
        A channel is valid.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "axi": Out(config.outer),
            "fetch": In(stream.Signature(fetch_layout(config))),
            "arrival": Out(ResponseSignature(arrival_layout(config))),
            "address": In(stream.Signature(address_layout(config))),
            "beat": In(stream.Signature(beat_layout(config))),
            "response": Out(stream.Signature(2)),
            "load": Out(DramLoadSignature()),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        axi, arrival = self.axi, self.arrival.payload
        self.drive_address(m, "ar", self.fetch)
        self.drive_address(m, "aw", self.address)
        valid = (axi.arvalid, axi.awvalid, axi.wvalid, axi.rvalid, axi.bvalid)
        m.d.comb += [
            axi.arid.eq(self.fetch.payload.mshr),
            axi.rready.eq(1),  # each beat has its place in the refill buffer
            self.arrival.valid.eq(axi.rvalid),
            arrival.mshr.eq(axi.rid),
            arrival.data.eq(axi.rdata),
            arrival.code.eq(axi.rresp),
            arrival.last.eq(axi.rlast),
            axi.wvalid.eq(self.beat.valid),
            self.beat.ready.eq(axi.wready),
            axi.wdata.eq(self.beat.payload.data),
            axi.wstrb.eq(self.beat.payload.strobes),
            axi.wlast.eq(self.beat.payload.last),
            self.response.valid.eq(axi.bvalid),
            self.response.payload.eq(axi.bresp),
            axi.bready.eq(self.response.ready),
            self.load.requested.eq(axi.arvalid & axi.arready),
            self.load.returned.eq(axi.rvalid & axi.rlast),
            self.busy.eq(Cat(valid).any()),
        ]
        return m

    def drive_address(self, m: Module, letter: str, burst: stream.Interface):
        """Drive an address channel from a stream of line, first beat and beats after it."""
        offset, address = C(0, exact_log2(self.config.beat_bytes)), channel(self.axi, letter)
        m.d.comb += [
            address.valid.eq(burst.valid),
            burst.ready.eq(address.ready),
            address.addr.eq(Cat(offset, burst.payload.first, burst.payload.line)),
            address.len.eq(burst.payload.more),
            *whole_beats(self.axi, letter),
        ]
