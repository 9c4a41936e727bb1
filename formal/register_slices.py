"""Proofs of register slices: no payload lost or duplicated, order and latency kept."""

from amaranth import *

from spica.hw.lib.register_slices import RegisterSlice, SkidBuffer

from .proof import Proof
from .properties import Assert, Properties

__all__ = ["PROOFS"]

WIDTH = 2


class Order(Properties):
    """A slice with arbitrary input and output handshakes, and a count of the payloads it holds."""

    def __init__(self, width: int, skid: str):
        self.width = width
        super().__init__(
            free={"valid": 1, "payload": width, "ready": 1},
            inside={"is_full": (f"{skid}.is_full", 1), "stored": (f"{skid}.stored", width)},
        )

    def drive(self, m, cut, places: int):
        """Connect a slice of capacity `places`; return whether a payload enters and leaves."""
        enters, leaves = Signal(), Signal()
        self.held = Signal(range(places + 1))
        m.d.comb += [
            cut.i.valid.eq(self.valid),
            cut.i.payload.eq(self.payload),
            cut.o.ready.eq(self.ready),
            enters.eq(cut.i.valid & cut.i.ready),
            leaves.eq(cut.o.valid & cut.o.ready),
        ]
        m.d.sync += self.held.eq(self.held + enters - leaves)
        return enters, leaves


class SkidOrder(Order):
    """A payload leaves in the same cycle or as the next, unchanged; at most one is held."""

    def __init__(self, width: int):
        super().__init__(width, "skid")

    def state(self, m):
        m.submodules.skid = skid = SkidBuffer(self.width)
        enters, _ = self.drive(m, skid, 1)
        held = self.held
        self.value = value = Signal(self.width)
        m.d.comb += [
            Assert(skid.i.ready == ~held),
            Assert(skid.o.valid == (held | self.valid)),
            Assert(~skid.o.valid | (skid.o.payload == Mux(held, value, self.payload))),
        ]
        with m.If(enters):
            m.d.sync += value.eq(self.payload)

    def relate(self, m):
        m.d.comb += [
            Assert(self.is_full == self.held),
            Assert(~self.held | (self.stored == self.value)),
        ]


class SliceOrder(Order):
    """A payload leaves in the next cycle at the earliest, in order; at most two are held."""

    def __init__(self, width: int):
        super().__init__(width, "slice.refused")

    def state(self, m):
        m.submodules.slice = cut = RegisterSlice(self.width)
        enters, leaves = self.drive(m, cut, 2)
        held = self.held
        first = Signal(self.width)
        self.second = second = Signal(self.width)
        m.d.comb += [
            Assert(held <= 2),
            Assert(cut.i.ready == (held != 2)),
            Assert(cut.o.valid == (held != 0)),
            Assert(~cut.o.valid | (cut.o.payload == first)),
        ]
        with m.If(leaves & (held == 2)):
            m.d.sync += first.eq(second)
        with m.Elif(enters & (leaves | (held == 0))):
            m.d.sync += first.eq(self.payload)
        with m.If(enters):
            m.d.sync += second.eq(self.payload)

    def relate(self, m):
        m.d.comb += [
            Assert(self.is_full == (self.held == 2)),
            Assert(~self.is_full | (self.stored == self.second)),
        ]


PROOFS = (
    Proof(
        name="skid_buffer",
        says="a payload leaves at once or as the next, once, unchanged; at most one is held",
        size="2 bits",
        kind=SkidOrder,
        arguments=(WIDTH,),
    ),
    Proof(
        name="register_slice",
        says="a payload leaves once, in order, unchanged, in a later cycle; at most two are held",
        size="2 bits",
        kind=SliceOrder,
        arguments=(WIDTH,),
    ),
)
