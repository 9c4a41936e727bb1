"""AXI4 channels on both sides of an L2 slice."""

from amaranth import *
from amaranth.utils import exact_log2

from ...lib.axi import channel, whole_beats
from .layouts import L2SliceConfig

__all__ = ["answer", "check_bursts", "read_dram", "take_reads", "take_writes", "write_dram"]


def line_of(config: L2SliceConfig, address: Value) -> Value:
    """Return the line of an address."""
    return address[exact_log2(config.l2.line_bytes) :]


def beat_of(config: L2SliceConfig, address: Value) -> Value:
    """Return the number of an address's beat in its line."""
    return address[exact_log2(config.beat_bytes) :][: config.beat_width]


def check_bursts(m: Module, config: L2SliceConfig, i):
    """Assert, in the simulator, that no burst crosses the end of its line."""
    for burst in (channel(i, "ar"), channel(i, "aw")):
        m.d.sync += Assert(
            ~burst.valid | (beat_of(config, burst.addr) + burst.len < config.beats),
            "a burst crosses the end of its line",
        )


def take_reads(m: Module, config: L2SliceConfig, i, read):
    """Convert read bursts to a stream of `operation_layout`."""
    operation, first = read.payload, Signal(config.beat_width, name="first_read")
    # The first beat of a line is never after the last one read, nor its last before the first.
    begun = Cat(*(n >= first for n in range(config.beats - 1)), C(1, 1))
    not_over = Cat(C(1, 1), *(n <= first + i.arlen for n in range(1, config.beats)))
    m.d.comb += [
        first.eq(beat_of(config, i.araddr)),
        read.valid.eq(i.arvalid),
        i.arready.eq(read.ready),
        operation.read.eq(1),
        operation.line.eq(line_of(config, i.araddr)),
        operation.id.eq(i.arid),
        operation.beats.eq(begun & not_over),
        operation.allocates.eq(config.allocates(i.arid)),
    ]


def take_writes(m: Module, config: L2SliceConfig, i, gather):
    """Connect write bursts and their beats to an `L2WriteGather`."""
    m.d.comb += [
        gather.burst.valid.eq(i.awvalid),
        gather.burst.payload.id.eq(i.awid),
        gather.burst.payload.line.eq(line_of(config, i.awaddr)),
        gather.burst.payload.first.eq(beat_of(config, i.awaddr)),
        i.awready.eq(gather.burst.ready),
        gather.beat.valid.eq(i.wvalid),
        gather.beat.payload.data.eq(i.wdata),
        gather.beat.payload.strobes.eq(i.wstrb),
        gather.beat.payload.last.eq(i.wlast),
        i.wready.eq(gather.beat.ready),
    ]


def answer(m: Module, i, answers):
    """Connect the beats of an `L2Responder` to the read data channel."""
    m.d.comb += [
        i.rvalid.eq(answers.valid),
        i.rid.eq(answers.payload.id),
        i.rdata.eq(answers.payload.data),
        i.rresp.eq(answers.payload.code),
        i.rlast.eq(answers.payload.last),
        answers.ready.eq(i.rready),
    ]


def connect_address(m: Module, config: L2SliceConfig, o, letter: str, burst):
    """Drive an address channel from a stream of line, first beat and beats after it."""
    offset, address = C(0, exact_log2(config.beat_bytes)), channel(o, letter)
    m.d.comb += [
        address.valid.eq(burst.valid),
        burst.ready.eq(address.ready),
        address.addr.eq(Cat(offset, burst.payload.first, burst.payload.line)),
        address.len.eq(burst.payload.more),
        *whole_beats(o, letter),
    ]


def read_dram(m: Module, config: L2SliceConfig, o, mshrs):
    """Connect the fetches and refill data of an `L2MshrFile` to DRAM."""
    connect_address(m, config, o, "ar", mshrs.fetch)
    m.d.comb += [
        o.arid.eq(mshrs.fetch.payload.mshr),
        o.rready.eq(1),  # each beat has its place in the refill buffer
        mshrs.arrival_valid.eq(o.rvalid),
        mshrs.arrival.mshr.eq(o.rid),
        mshrs.arrival.data.eq(o.rdata),
        mshrs.arrival.code.eq(o.rresp),
        mshrs.arrival.last.eq(o.rlast),
    ]


def write_dram(m: Module, config: L2SliceConfig, o, writebacks):
    """Connect the bursts and responses of an `L2WritebackBuffer` to DRAM."""
    connect_address(m, config, o, "aw", writebacks.address)
    m.d.comb += [
        o.wvalid.eq(writebacks.beat.valid),
        writebacks.beat.ready.eq(o.wready),
        o.wdata.eq(writebacks.beat.payload.data),
        o.wstrb.eq(writebacks.beat.payload.strobes),
        o.wlast.eq(writebacks.beat.payload.last),
        writebacks.response.valid.eq(o.bvalid),
        writebacks.response.payload.eq(o.bresp),
        o.bready.eq(writebacks.response.ready),
    ]
