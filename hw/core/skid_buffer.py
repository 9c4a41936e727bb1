"""A place for what is refused, so that `ready` does not follow `ready`."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SkidBuffer"]


class SkidBuffer(wiring.Component):
    """Passes a stream on in the same cycle, and keeps one payload that is refused.

    `i.ready` is a register: the path from `o.ready` to those who send ends here. Latency 0, one
    payload per cycle.

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
        is_full = Signal()
        kept = Signal(self.shape, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~is_full),
            self.o.valid.eq(is_full | self.i.valid),
            Value.cast(self.o.payload).eq(
                Mux(is_full, Value.cast(kept), Value.cast(self.i.payload))
            ),
        ]
        m.d.sync += is_full.eq(self.o.valid & ~self.o.ready)
        with m.If(~is_full):
            m.d.sync += kept.eq(self.i.payload)
        return m
