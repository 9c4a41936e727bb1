"""Register slices: break the paths of a stream, in one direction or both, and keep its order."""

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..emit.component import Component

__all__ = ["RegisterSlice", "SkidBuffer"]


class Slice(Component):
    """Base of stream components with one input and one output of the same shape.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    """

    def __init__(self, shape: ShapeLike):
        self.shape = shape
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
        })


class SkidBuffer(Slice):
    """Stream buffer that forwards in the same cycle and holds one refused payload.

    `i.ready` is a register: the path from `o.ready` to the producer ends here. Latency 0, one
    payload per cycle. Parameters and members are those of every slice: `shape`, `i`, `o`.
    """

    def elaborate(self, platform):
        m = Module()
        is_full = Signal()
        stored = Signal(self.shape, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~is_full),
            self.o.valid.eq(is_full | self.i.valid),
            Value.cast(self.o.payload).eq(
                Mux(is_full, Value.cast(stored), Value.cast(self.i.payload))
            ),
        ]
        m.d.sync += is_full.eq(self.o.valid & ~self.o.ready)
        with m.If(~is_full):
            m.d.sync += stored.eq(self.i.payload)
        return m


class RegisterSlice(Slice):
    """An output register behind a `SkidBuffer`: it breaks all combinational paths.

    `valid`, payload and `ready` are all registered. Latency 1 cycle, one payload per cycle. A
    slice is faster than a `Queue` of 2 whose memory maps to look-up tables. Parameters and
    members are those of every slice: `shape`, `i`, `o`.
    """

    def elaborate(self, platform):
        m = Module()
        m.submodules.refused = refused = SkidBuffer(self.shape)
        wiring.connect(m, wiring.flipped(self.i), refused.i)
        valid = Signal()
        payload = Signal(self.shape, reset_less=True)
        m.d.comb += [
            self.o.valid.eq(valid),
            Value.cast(self.o.payload).eq(Value.cast(payload)),
            refused.o.ready.eq(self.o.ready | ~valid),
        ]
        with m.If(refused.o.ready):
            m.d.sync += [valid.eq(refused.o.valid), payload.eq(refused.o.payload)]
        return m
