"""Connection of the DMA's read and write channels to AXI4 signals."""

from typing import Any

from amaranth import *

from ...lib.axi import channel, whole_beats
from .read_channel import ReadChannel
from .write_channel import WriteChannel

__all__ = ["connect_axi"]


def connect_axi(m: Module, axi: Any, read: ReadChannel, write: WriteChannel) -> None:
    """Connect a `ReadChannel` and a `WriteChannel` to an AXI4 master, an `Axi4Signature`."""
    for letter, burst in (("ar", read.address), ("aw", write.address)):
        address = channel(axi, letter)
        m.d.comb += [
            address.addr.eq(burst.payload.address),
            address.len.eq(burst.payload.length),
            *whole_beats(axi, letter),
            address.valid.eq(burst.valid),
            burst.ready.eq(address.ready),
        ]
    m.d.comb += [
        read.beat.payload.data.eq(axi.rdata),
        read.beat.payload.error.eq(axi.rresp[1]),
        read.beat.valid.eq(axi.rvalid),
        axi.rready.eq(read.beat.ready),
        axi.wdata.eq(write.beat.payload.data),
        axi.wstrb.eq(write.beat.payload.mask),
        axi.wlast.eq(write.beat.payload.last),
        axi.wvalid.eq(write.beat.valid),
        write.beat.ready.eq(axi.wready),
        axi.bready.eq(1),
        write.responded.eq(axi.bvalid),
    ]
