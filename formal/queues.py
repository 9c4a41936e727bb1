"""Proofs of the queue: no payload is lost or duplicated, and the order is kept."""

from amaranth import *

from spica.hw.lib.streams import Queue

from .proof import Proof
from .properties import Assert, Properties

__all__ = ["PROOFS"]

WIDTH = 2


class QueueOrder(Properties):
    """Each payload comes out once, unchanged, after those before it and no others.

    One arbitrary payload is marked as it enters. The payloads ahead of it are counted, so the time
    of its output is known.
    """

    def __init__(self, depth: int):
        self.depth = depth
        self.buffered = depth > 16  # the first payload leaves the storage before it is taken
        self.places = depth - self.buffered
        words = {f"word_{k}": (f"queue.store.storage[{k}]", WIDTH) for k in range(self.places)}
        super().__init__(
            free={"valid": 1, "payload": WIDTH, "ready": 1, "mark": 1},
            inside={
                "produce": ("queue.store.produce", range(self.places)),
                "consume": ("queue.store.consume", range(self.places)),
                **words,
            },
        )

    def state(self, m):
        depth = self.depth
        m.submodules.queue = self.queue = queue = Queue(WIDTH, depth)
        m.d.comb += [
            queue.i.valid.eq(self.valid),
            queue.i.payload.eq(self.payload),
            queue.o.ready.eq(self.ready),
        ]
        enters, leaves = queue.i.valid & queue.i.ready, queue.o.valid & queue.o.ready
        self.held, self.ahead = held, ahead = Signal(range(depth + 2)), Signal(range(depth + 2))
        self.marked, self.value = marked, value = Signal(), Signal(WIDTH)
        m.d.sync += held.eq(held + enters - leaves)
        with m.If(marked & leaves):
            m.d.sync += [ahead.eq(ahead - 1), marked.eq(ahead != 0)]
        with m.Elif(self.mark & ~marked & enters):
            m.d.sync += [marked.eq(1), value.eq(self.payload), ahead.eq(held - leaves)]
        late = Signal()  # payloads were held, but none was offered
        m.d.sync += late.eq((held != 0) & ~queue.o.valid)
        stored = held - (queue.o.valid if self.buffered else 0)
        m.d.comb += [
            Assert(held <= depth),
            Assert(queue.level == held),
            Assert(queue.i.ready == (stored != self.places)),
            Assert(~queue.o.valid | (held != 0)),
            Assert(~late | queue.o.valid if self.buffered else ~late),
            Assert(~(marked & (ahead == 0) & queue.o.valid) | (queue.o.payload == value)),
        ]

    def relate(self, m):
        words = Array(getattr(self, f"word_{k}") for k in range(self.places))
        out = Signal()  # the first payload has left the storage
        m.d.comb += out.eq(self.queue.o.valid if self.buffered else 0)
        place = Signal(range(2 * self.places))
        m.d.comb += [
            place.eq(self.wrapped(self.consume + self.ahead - out)),
            Assert(self.consume < self.places),
            Assert(self.produce == self.wrapped(self.consume + self.held - out)),
            Assert(~self.marked | (self.ahead < self.held)),
            Assert(~self.marked | (out & (self.ahead == 0)) | (words[place] == self.value)),
        ]

    def wrapped(self, place):
        """Return an index into the circular storage."""
        return Mux(place >= self.places, place - self.places, place)


PROOFS = (
    Proof(
        name="queue",
        says="each payload comes out once, unchanged and in order; refused only when full",
        size="3 payloads of 2 bits",
        kind=QueueOrder,
        arguments=(3,),
    ),
    Proof(
        name="queue_17",
        says="the same for queues deeper than 16, which use another storage",
        size="17 payloads of 2 bits",
        kind=QueueOrder,
        arguments=(17,),
    ),
)
