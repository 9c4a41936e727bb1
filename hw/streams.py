"""Stream building blocks: a queue, a register slice, a response that cannot be refused."""

from amaranth import *
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

__all__ = ["Queue", "RegisterSlice", "ResponseSignature"]


class ResponseSignature(wiring.Signature):
    """What comes back a known time after a request: `valid` and `payload`, never refused."""

    def __init__(self, payload):
        self.payload_shape = payload
        super().__init__({"valid": Out(1), "payload": Out(payload)})


class Queue(wiring.Component):
    """First in, first out.

    Latency 1 cycle for a depth of 16 or less, 2 cycles above; one payload per cycle; `i` is
    refused while the queue is full.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Payloads held.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    level : Out(ceil_log2(depth + 1))
        Payloads held now.
    """

    i: stream.Interface
    o: stream.Interface
    level: Signal

    def __init__(self, shape, depth: int):
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


class RegisterSlice(wiring.Component):
    """Two registers that cut a stream: what leaves comes from one, and `i.ready` is another.

    Neither `valid` and payload nor `ready` pass in the cycle. Latency 1 cycle, one payload per
    cycle, order kept. Where a `Queue` of 2 reads a memory that tools make of look-up tables, a
    slice is faster by that.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape):
        self.shape = shape
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        valid, is_full = Signal(), Signal()
        payload = Signal(self.shape, reset_less=True)
        kept = Signal(self.shape, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~is_full),
            self.o.valid.eq(valid),
            Value.cast(self.o.payload).eq(Value.cast(payload)),
        ]
        with m.If(~is_full):
            m.d.sync += kept.eq(self.i.payload)
        with m.If(self.o.ready | ~valid):
            m.d.sync += [
                valid.eq(is_full | self.i.valid),
                Value.cast(payload).eq(Mux(is_full, Value.cast(kept), Value.cast(self.i.payload))),
                is_full.eq(0),
            ]
        with m.Else():
            m.d.sync += is_full.eq(is_full | self.i.valid)
        return m
