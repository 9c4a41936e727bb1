"""Tracker of the operations in flight and of their parts, and the ends of these parts."""

from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect

from ...emit.component import Component
from ...lib.interfaces.shared_memory import Direction, dma_done
from ...lib.streams import Queue, ResponseSignature

__all__ = [
    "SLOTS",
    "SLOT_WIDTH",
    "ComputeEnds",
    "DescriptorEnds",
    "SlotSignature",
    "Tracker",
    "descriptor_tag",
    "parts_of",
]

SLOT_WIDTH = 3
SLOTS = 1 << SLOT_WIDTH


def descriptor_tag(slot: Value) -> Value:
    """Return the tag of a descriptor of `slot`: odd, as even tags belong to other units."""
    return Cat(C(1, 1), slot)


def parts_of(*, loads_d: bool) -> tuple[str, ...]:
    """Return the names of the parts of operations."""
    return ("load_a", "load_b", "compute", "store", *(["load_d"] if loads_d else []))


class SlotSignature(wiring.Signature):
    """Allocation of a slot to an operation.

    Members
    -------
    slot : In(3)
        The next slot.
    free : In(1)
        The next slot is free.
    begin : Out(1)
        An operation occupies it, with the following parts.
    load_a, load_b, compute, store : Out(1)
    load_d : Out(1)
        If there are loads of D.
    """

    def __init__(self, *, loads_d: bool):
        super().__init__({
            "slot": In(SLOT_WIDTH),
            "free": In(1),
            "begin": Out(1),
            **dict.fromkeys(parts_of(loads_d=loads_d), Out(1)),
        })


class Tracker(Component):
    """Unfinished parts of eight operations: loads of A, B and D, rows, a store.

    Slots are allocated round-robin; parts may end in any order.

    Parameters
    ----------
    loads_d : bool
        Whether there are loads of D.

    Members
    -------
    slots : In(SlotSignature(loads_d=loads_d))
    loaded, computed, stored : In(ResponseSignature(3))
        A part of this slot has ended.
    loaded_d : In(ResponseSignature(3))
        The same for a load of D, if there are any.
    loading : Out(8)
        Slots with unfinished loads.
    finished : Out(1)
        An operation has ended and its slot is free; at most one per cycle.

    """

    def __init__(self, *, loads_d: bool = False):
        self.loads_d = loads_d
        ends = ("loaded", "computed", "stored", *(["loaded_d"] if loads_d else []))
        super().__init__({
            "slots": In(SlotSignature(loads_d=loads_d)),
            **dict.fromkeys(ends, In(ResponseSignature(SLOT_WIDTH))),
            "loading": Out(SLOTS),
            "finished": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        slots = self.slots

        def one_hot(event: Any):
            # Gated by `valid`: an unknown slot must not spread X in a four-state simulator.
            return Mux(event.valid, 1 << event.payload, 0)[:SLOTS]

        begun, used = Signal(SLOTS), Signal(SLOTS)
        load, other_load, rows, stores = (
            Signal(SLOTS, name=name) for name in ("load", "other_load", "rows", "stores")
        )
        loads_d = Signal(SLOTS) if self.loads_d else C(0, SLOTS)
        m.d.comb += begun.eq(Mux(slots.begin, 1 << slots.slot, 0))

        def begin_with(part: Value):
            return begun & part.replicate(SLOTS)

        # A slot with two loads clears `other_load` first; their order is irrelevant.
        loaded = one_hot(self.loaded)
        done = Signal(SLOTS)
        ended = Signal(SLOTS)
        m.d.comb += [
            self.loading.eq(load | other_load),
            done.eq(used & ~(self.loading | rows | stores | loads_d)),
            ended.eq(done & ~(done - 1)),
            self.finished.eq(done.any()),
            slots.free.eq(~used.bit_select(slots.slot, 1)),
        ]
        m.d.sync += [
            slots.slot.eq(slots.slot + slots.begin),
            used.eq((used & ~ended) | begun),
            load.eq((load & (~loaded | other_load)) | begin_with(slots.load_a | slots.load_b)),
            other_load.eq((other_load & ~loaded) | begin_with(slots.load_a & slots.load_b)),
            rows.eq((rows & ~one_hot(self.computed)) | begin_with(slots.compute)),
            stores.eq((stores & ~one_hot(self.stored)) | begin_with(slots.store)),
        ]
        if self.loads_d:
            loaded_d = one_hot(self.loaded_d)
            m.d.sync += loads_d.eq((loads_d & ~loaded_d) | begin_with(slots.load_d))
        return m


class DescriptorEnds(Component):
    """Descriptor ends: the unit's completed descriptors, by the part of the operation.

    Parameters
    ----------
    loads_d : bool
        Whether there are loads of D.

    Members
    -------
    done : In(ResponseSignature(dma_done))
        Completions; those with even tags belong to other units.
    loaded, stored : Out(ResponseSignature(3))
        A load or a store of this slot has ended.
    d_done : Out(1)
        A descriptor of D has completed, if there are any.
    failed : Out(1)
        A descriptor ended with an error.
    """

    def __init__(self, *, loads_d: bool):
        self.loads_d = loads_d
        super().__init__({
            "done": In(ResponseSignature(dma_done)),
            "loaded": Out(ResponseSignature(SLOT_WIDTH)),
            "stored": Out(ResponseSignature(SLOT_WIDTH)),
            **({"d_done": Out(1)} if loads_d else {}),
            "failed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        done = self.done.payload
        is_own = self.done.valid & done.tag[0]
        is_store = (done.direction == Direction.DRAIN) | (done.direction == Direction.SPILL)
        m.d.comb += [
            self.failed.eq(is_own & done.error),
            self.loaded.valid.eq(is_own & (done.direction == Direction.LOAD)),
            self.loaded.payload.eq(done.tag[1:]),
            self.stored.valid.eq(is_own & is_store),
            self.stored.payload.eq(done.tag[1:]),
        ]
        if self.loads_d:
            is_d = (done.direction == Direction.FILL) | (done.direction == Direction.REFILL)
            m.d.comb += self.d_done.eq(is_own & is_d)
        return m


class ComputeEnds(Component):
    """Compute ends: a compute ends when its last row is written, a fixed time after its offer.

    Parameters
    ----------
    write_latency : int
        Cycles from the offer of a row to the write of its sums.

    Members
    -------
    last_row : In(ResponseSignature(3))
        The last row of the compute of this slot is offered.
    computed : Out(ResponseSignature(3))
        Its sums are written.
    """

    def __init__(self, write_latency: int):
        self.write_latency = write_latency
        super().__init__({
            "last_row": In(ResponseSignature(SLOT_WIDTH)),
            "computed": Out(ResponseSignature(SLOT_WIDTH)),
        })

    def elaborate(self, platform):
        m = Module()
        written = Signal(self.write_latency)
        m.d.sync += written.eq(Cat(self.last_row.valid, written))
        m.submodules.computing = computing = Queue(SLOT_WIDTH, 1 << SLOT_WIDTH)
        oldest: Any = stream.Signature(SLOT_WIDTH).flip().create()
        connect(m, computing.o, oldest)
        m.d.comb += [
            computing.i.valid.eq(self.last_row.valid),
            computing.i.payload.eq(self.last_row.payload),
            oldest.ready.eq(self.computed.valid),
            self.computed.valid.eq(written[-1]),
            self.computed.payload.eq(oldest.payload),
        ]
        return m
