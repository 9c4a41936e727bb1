"""Which operations are under way, and when each has ended."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SLOT_WIDTH", "Tracker"]

SLOT_WIDTH = 3
SLOTS = 1 << SLOT_WIDTH


class Tracker(wiring.Component):
    """Hold what each of eight operations still waits for: loads of A and B, rows, a store.

    Slots are given in a circle; parts may end in any order.

    Members
    -------
    slot : Out(3)
        The next slot.
    free : Out(1)
        It is free.
    begin : In(1)
        An operation takes it, with the parts that follow.
    load_a, load_b, compute, store : In(1)
    loaded, computed, stored : In(1)
        One such part has ended, that of slot `loaded_slot`, `computed_slot`, `stored_slot`.
    loading : Out(8)
        Slots whose loads have not all ended.
    finished : Out(1)
        An operation has ended, and its slot is free again; one per cycle at most.

    """

    slot: Signal
    free: Signal
    begin: Signal
    load_a: Signal
    load_b: Signal
    compute: Signal
    store: Signal
    loaded: Signal
    loaded_slot: Signal
    computed: Signal
    computed_slot: Signal
    stored: Signal
    stored_slot: Signal
    loading: Signal
    finished: Signal

    def __init__(self):
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
            "loading": Out(SLOTS),
            "finished": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        def one_hot(valid, slot):
            # Chosen by `valid`: a slot not yet known must not spread in a four-state simulator.
            return Mux(valid, 1 << slot, 0)[:SLOTS]

        begun, used = Signal(SLOTS), Signal(SLOTS)
        load, other_load, rows, stores = (
            Signal(SLOTS, name=name) for name in ("load", "other_load", "rows", "stores")
        )
        m.d.comb += begun.eq(one_hot(self.begin, self.slot))

        def begin_with(part):
            return begun & part.replicate(SLOTS)

        # A slot with two loads loses `other_load` first: which of them ended does not matter.
        loaded = one_hot(self.loaded, self.loaded_slot)
        done = Signal(SLOTS)
        ended = Signal(SLOTS)
        m.d.comb += [
            self.loading.eq(load | other_load),
            done.eq(used & ~(self.loading | rows | stores)),
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
        return m
