"""AXI4 port of an L2 slice on the requesters' side."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.axi import channel
from .layouts import L2SliceConfig, operation_layout
from .responder import answer_layout
from .write_gather import beat_layout, burst_layout
from .writeback_replies import reply_layout

__all__ = ["L2RequesterPort"]


class L2RequesterPort(SharedBlock):
    """Requesters' port: converts the channels of AXI4 to streams, and back. Combinational.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    axi : In(config.inner)
    read : Out(stream.Signature(operation_layout(config)))
    burst : Out(stream.Signature(burst_layout(config)))
    beat : Out(stream.Signature(beat_layout(config)))
    answer : In(stream.Signature(answer_layout(config)))
    reply : In(stream.Signature(reply_layout(config)))
    busy : Out(1)
        A channel is valid.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "axi": In(config.inner),
            "read": Out(stream.Signature(operation_layout(config))),
            "burst": Out(stream.Signature(burst_layout(config))),
            "beat": Out(stream.Signature(beat_layout(config))),
            "answer": In(stream.Signature(answer_layout(config))),
            "reply": In(stream.Signature(reply_layout(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        if platform is None:
            self.check_bursts(m)
        self.accept_reads(m)
        self.accept_writes(m)
        self.respond(m)
        axi = self.axi
        valid = (axi.arvalid, axi.awvalid, axi.wvalid, axi.rvalid, axi.bvalid)
        m.d.comb += self.busy.eq(Cat(valid).any())
        return m

    def line_of(self, address: Value) -> Value:
        """Return the line of an address."""
        return address[exact_log2(self.config.l2.line_bytes) :]

    def beat_of(self, address: Value) -> Value:
        """Return the number of an address's beat in its line."""
        return address[exact_log2(self.config.beat_bytes) :][: self.config.beat_width]

    def check_bursts(self, m: Module):
        """Assert, in the simulator, that no burst crosses the end of its line."""
        for burst in (channel(self.axi, "ar"), channel(self.axi, "aw")):
            m.d.sync += Assert(
                ~burst.valid | (self.beat_of(burst.addr) + burst.len < self.config.beats),
                "a burst crosses the end of its line",
            )
        if self.config.has_atomics:
            m.d.sync += Assert(
                ~(self.axi.awvalid & self.axi.awuser.atomic & self.axi.awlen.any()),
                "an atomic has more than one beat",
            )

    def accept_reads(self, m: Module):
        """Convert read bursts to operations."""
        config, axi, operation = self.config, self.axi, self.read.payload
        first = Signal(config.beat_width, name="first_read")
        # The first beat of a line is never after the last one read, nor its last before the first.
        begun = Cat(*(n >= first for n in range(config.beats - 1)), C(1, 1))
        not_over = Cat(C(1, 1), *(n <= first + axi.arlen for n in range(1, config.beats)))
        m.d.comb += [
            first.eq(self.beat_of(axi.araddr)),
            self.read.valid.eq(axi.arvalid),
            axi.arready.eq(self.read.ready),
            operation.read.eq(1),
            operation.line.eq(self.line_of(axi.araddr)),
            operation.id.eq(axi.arid),
            operation.beats.eq(begun & not_over),
            operation.allocates.eq(config.allocates(axi.arid)),
        ]

    def accept_writes(self, m: Module):
        """Convert write bursts, and their beats."""
        axi, burst, beat = self.axi, self.burst.payload, self.beat.payload
        m.d.comb += [
            self.burst.valid.eq(axi.awvalid),
            burst.id.eq(axi.awid),
            burst.line.eq(self.line_of(axi.awaddr)),
            burst.first.eq(self.beat_of(axi.awaddr)),
            axi.awready.eq(self.burst.ready),
            self.beat.valid.eq(axi.wvalid),
            beat.data.eq(axi.wdata),
            beat.strobes.eq(axi.wstrb),
            beat.last.eq(axi.wlast),
            axi.wready.eq(self.beat.ready),
        ]
        if self.config.has_atomics:
            user, sources = axi.awuser, self.config.id_width - self.config.source_width
            m.d.comb += [
                burst.atomic.valid.eq(user.atomic),
                burst.atomic.operation.eq(user.operation),
                burst.atomic.owner.eq(Cat(user.owner, axi.awid[sources:])),
            ]

    def respond(self, m: Module):
        """Drive the read data and write response channels."""
        axi, answer, reply = self.axi, self.answer.payload, self.reply.payload
        m.d.comb += [
            axi.rvalid.eq(self.answer.valid),
            axi.rid.eq(answer.id),
            axi.rdata.eq(answer.data),
            axi.rresp.eq(answer.code),
            axi.rlast.eq(answer.last),
            self.answer.ready.eq(axi.rready),
            axi.bvalid.eq(self.reply.valid),
            axi.bid.eq(reply.id),
            axi.bresp.eq(reply.code),
            self.reply.ready.eq(axi.bready),
        ]
        if self.config.has_atomics:
            m.d.comb += axi.buser.eq(reply.word)
