"""Stream building blocks: a FIFO queue and a response that cannot be refused."""

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..emit.component import Component

__all__ = ["Queue", "ResponseSignature"]


class ResponseSignature(wiring.Signature):
    """A response a known time after its request: `valid` and `payload`, without back-pressure."""

    def __init__(self, payload: ShapeLike):
        self.payload_shape = payload
        super().__init__({"valid": Out(1), "payload": Out(payload)})


class Queue(Component):
    """FIFO queue.

    Latency 1 cycle for a depth of 16 or less, 2 cycles above; one payload per cycle; `i` is
    refused while the queue is full.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Capacity in payloads.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    level : Out(ceil_log2(depth + 1))
        Payloads currently held.
    """

    def __init__(self, shape: ShapeLike, depth: int):
        if depth < 1:
            raise ValueError(f"depth must be at least 1, not {depth!r}")
        self.shape = shape
        self.depth = depth
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
            "level": Out(ceil_log2(depth + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        width = Shape.cast(self.shape).width
        kind = fifo.SyncFIFO if self.depth <= 16 else fifo.SyncFIFOBuffered
        m.submodules.store = store = kind(width=width, depth=self.depth)
        m.d.comb += [
            store.w_data.eq(Value.cast(self.i.payload)),
            store.w_en.eq(self.i.valid),
            self.i.ready.eq(store.w_rdy),
            Value.cast(self.o.payload).eq(store.r_data),
            self.o.valid.eq(store.r_rdy),
            store.r_en.eq(self.o.ready),
            self.level.eq(store.level),  # pyright: ignore[reportAttributeAccessIssue]  # not in stubs
        ]
        return m
