"""Tracker of the operations in flight and of the parts each still waits for."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.component import Component

__all__ = ["SLOT_WIDTH", "Tracker"]

SLOT_WIDTH = 3
SLOTS = 1 << SLOT_WIDTH


class Tracker(Component):
    """Unfinished parts of eight operations: loads of A, B and D, rows, a store.

    Slots are allocated round-robin; parts may end in any order.

    Parameters
    ----------
    loads_d : bool
        Whether there are loads of D.

    Members
    -------
    slot : Out(3)
        The next slot.
    free : Out(1)
        The next slot is free.
    begin : In(1)
        An operation occupies it, with the following parts.
    load_a, load_b, compute, store : In(1)
    loaded, computed, stored : In(1)
        A part has ended, that of slot `loaded_slot`, `computed_slot`, `stored_slot`.
    load_d, d_loaded : In(1)
    d_slot : In(3)
        The same for a load of D, if there are any.
    loading : Out(8)
        Slots with unfinished loads.
    finished : Out(1)
        An operation has ended and its slot is free; at most one per cycle.

    """

    def __init__(self, *, loads_d: bool = False):
        self.loads_d = loads_d
        super().__init__({
            "slot": Out(SLOT_WIDTH),
            "free": Out(1),
            "begin": In(1),
            "load_a": In(1),
            "load_b": In(1),
            "compute": In(1),
            "store": In(1),
            "loaded": In(1),
            "loaded_slot": In(SLOT_WIDTH),
            "computed": In(1),
            "computed_slot": In(SLOT_WIDTH),
            "stored": In(1),
            "stored_slot": In(SLOT_WIDTH),
            **({"load_d": In(1), "d_loaded": In(1), "d_slot": In(SLOT_WIDTH)} if loads_d else {}),
            "loading": Out(SLOTS),
            "finished": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        def one_hot(valid, slot):
            # Gated by `valid`: an unknown slot must not spread X in a four-state simulator.
            return Mux(valid, 1 << slot, 0)[:SLOTS]

        begun, used = Signal(SLOTS), Signal(SLOTS)
        load, other_load, rows, stores = (
            Signal(SLOTS, name=name) for name in ("load", "other_load", "rows", "stores")
        )
        loads_d = Signal(SLOTS) if self.loads_d else C(0, SLOTS)
        m.d.comb += begun.eq(one_hot(self.begin, self.slot))

        def begin_with(part):
            return begun & part.replicate(SLOTS)

        # A slot with two loads clears `other_load` first; their order is irrelevant.
        loaded = one_hot(self.loaded, self.loaded_slot)
        done = Signal(SLOTS)
        ended = Signal(SLOTS)
        m.d.comb += [
            self.loading.eq(load | other_load),
            done.eq(used & ~(self.loading | rows | stores | loads_d)),
            ended.eq(done & ~(done - 1)),
            self.finished.eq(done.any()),
            self.free.eq(~used.bit_select(self.slot, 1)),
        ]
        m.d.sync += [
            self.slot.eq(self.slot + self.begin),
            used.eq((used & ~ended) | begun),
            load.eq((load & (~loaded | other_load)) | begin_with(self.load_a | self.load_b)),
            other_load.eq((other_load & ~loaded) | begin_with(self.load_a & self.load_b)),
            rows.eq(
                (rows & ~one_hot(self.computed, self.computed_slot)) | begin_with(self.compute)
            ),
            stores.eq((stores & ~one_hot(self.stored, self.stored_slot)) | begin_with(self.store)),
        ]
        if self.loads_d:
            loaded_d = one_hot(self.d_loaded, self.d_slot)
            m.d.sync += loads_d.eq((loads_d & ~loaded_d) | begin_with(self.load_d))
        return m
