"""The reads that wait in a slice of the L2 cache, and what DRAM brings for them."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ..emit import SharedBlock
from ..sram import Sram
from ..streams import Queue
from .arbiter import Arbiter, lowest, one_hot, select
from .l2_layouts import L2SliceConfig, operation_layout
from .l2_slot import L2Slot, outcome_layout, waiting_layout
from .miss_table import number_of

__all__ = ["L2Slots", "came_layout", "fetch_layout"]


def fetch_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of a read of DRAM: from beat `first` of a line on, `more` after it."""
    return data.StructLayout({
        "slot": config.slot_width,
        "line": config.l2.line_width,
        "first": config.beat_width,
        "more": config.beat_width,
    })


def came_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of a beat of DRAM."""
    return data.StructLayout({
        "slot": config.slot_width,
        "data": config.data_width,
        "code": 2,
        "last": 1,
    })


class L2Slots(SharedBlock):
    """Keep reads until they are answered, read their lines, and choose what is looked up again.

    | cycle | a read that is kept                                                        |
    |-------|----------------------------------------------------------------------------|
    | 0     | `take` and `settle`                                                        |
    | 1     | `fetch` of its line is offered                                             |
    | n     | the last beat comes                                                        |
    | n + 2 | `again` is offered: the line is there                                      |

    Reads of one id are answered in their order: each waits for the one before it. Those that may
    be looked up take turns, one per cycle. What came is read in one cycle.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    operation : In(operation_layout(config))
        What is looked up; the following are about it.
    take : In(1)
        It is a new read that waits from now on; only with `room` in the cycle before.
    settle : In(1)
        It is a read that is taken, or one of a slot, with this outcome:
    outcome : In(outcome_layout(config))
    free : In(1)
        It is a read of a slot that is answered.
    line_came : In(1)
        Its line is here from now on.
    back_came : In(1)
        Something came to DRAM.
    is_ordered : Out(1)
        No read of its id waits.
    follows : Out(1)
        It is of a slot, and a read of its id is before it.
    passes : Out(1)
        Its line is being read for somebody, and not kept.
    room : Out(1)
        A read may be taken in the next cycle, whatever is in this one.
    busy : Out(1)
        Something waits.
    again : Out(stream.Signature(operation_layout(config)))
    fetch : Out(stream.Signature(fetch_layout(config)))
    came_valid : In(1)
    came : In(came_layout(config))
    read : In(1)
        What came for slot `read_slot` is at `line` and `codes` in the next cycle.
    read_slot : In(config.slot_width)
    line : Out(8 * config.l2.line_bytes)
    codes : Out(2 * config.beats)
    """

    operation: data.View
    take: Signal
    settle: Signal
    outcome: data.View
    free: Signal
    line_came: Signal
    back_came: Signal
    is_ordered: Signal
    follows: Signal
    passes: Signal
    room: Signal
    busy: Signal
    again: stream.Interface
    fetch: stream.Interface
    came_valid: Signal
    came: data.View
    read: Signal
    read_slot: Signal
    line: Signal
    codes: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "operation": In(operation_layout(config)),
            "take": In(1),
            "settle": In(1),
            "outcome": In(outcome_layout(config)),
            "free": In(1),
            "line_came": In(1),
            "back_came": In(1),
            "is_ordered": Out(1),
            "follows": Out(1),
            "passes": Out(1),
            "room": Out(1),
            "busy": Out(1),
            "again": Out(stream.Signature(operation_layout(config))),
            "fetch": Out(stream.Signature(fetch_layout(config))),
            "came_valid": In(1),
            "came": In(came_layout(config)),
            "read": In(1),
            "read_slot": In(config.slot_width),
            "line": Out(8 * config.l2.line_bytes),
            "codes": Out(2 * config.beats),
        })

    def build(self, platform):
        m = Module()
        count = self.config.l2.misses
        slots = [L2Slot(self.config) for _ in range(count)]
        for number, slot in enumerate(slots):
            m.submodules[f"slot_{number}"] = slot
        used = Cat(slot.used for slot in slots)
        same_id = Signal(count)
        m.d.comb += [
            same_id.eq(Cat(slot.same_id for slot in slots)),
            self.is_ordered.eq(~same_id.any()),
            self.passes.eq(Cat(slot.passes_line for slot in slots).any()),
            self.busy.eq(used.any()),
        ]
        spare = self.spare(m, used)
        its_number = Signal(self.config.slot_width)
        m.d.comb += its_number.eq(Mux(self.take, number_of(spare), self.operation.slot))
        self.settle_slots(m, slots, spare, number_of(same_id))
        self.read_lines(m, its_number, slots)
        self.choose(m, slots)
        self.receive(m, slots)
        return m

    def spare(self, m: Module, used: Value) -> Signal:
        """Return a free slot for who is looked up now, one-hot: kept a cycle ahead."""
        spare, others = Signal(len(used)), Signal(len(used))
        m.d.comb += [
            others.eq(~used & ~spare),
            self.room.eq(spare.any() & others.any()),
        ]
        with m.If(self.take | ~spare.any()):
            m.d.sync += spare.eq(lowest(others))
        return spare

    def settle_slots(self, m: Module, slots, spare, before):
        """Tell all slots what is looked up, and the one it is of what was found."""
        operation, read = self.operation, Signal(waiting_layout(self.config))
        chosen = one_hot(m, operation.slot, len(slots), "chosen")
        m.d.comb += [
            read.line.eq(operation.line),
            read.id.eq(operation.id),
            read.beats.eq(operation.beats),
            read.allocates.eq(operation.allocates),
            self.follows.eq((Cat(slot.follows for slot in slots) & chosen).any()),
        ]
        for number, slot in enumerate(slots):
            m.d.comb += [
                slot.line.eq(operation.line),
                slot.id.eq(operation.id),
                slot.read.eq(read),
                slot.take.eq(self.take & spare[number]),
                slot.after.eq(~self.is_ordered),
                slot.before.eq(before),
                slot.is_taken.eq(self.take),
                slot.settle.eq(self.settle & Mux(self.take, spare[number], chosen[number])),
                slot.outcome.eq(self.outcome),
                slot.free.eq(self.free & chosen[number]),
                slot.answered.eq(self.free),
                slot.answered_slot.eq(operation.slot),
                slot.line_came.eq(self.line_came),
                slot.back_came.eq(self.back_came),
            ]

    def read_lines(self, m: Module, its_number, slots):
        """Read from DRAM what is not here: the line if it is kept, else what is wanted."""
        config = self.config
        m.submodules.fetches = fetches = Queue(fetch_layout(config), len(slots))
        fetch, beats, keeps = fetches.i.payload, self.operation.beats, self.outcome.keeps
        first = Signal(config.beats)
        wanted = sum((beats[n] for n in range(1, config.beats)), start=beats[0])
        m.d.comb += [
            first.eq(lowest(beats)),
            fetches.i.valid.eq(self.settle & self.outcome.fetches),  # all slots have room
            fetch.slot.eq(its_number),
            fetch.line.eq(self.operation.line),
            fetch.first.eq(Mux(keeps, 0, number_of(first))),
            fetch.more.eq(Mux(keeps, config.beats - 1, wanted - 1)),
        ]
        connect(m, fetches.o, flipped(self.fetch))

    def choose(self, m: Module, slots):
        """Offer one of those that may be looked up."""
        m.submodules.turns = turns = Arbiter(len(slots))
        again, again_valid = Signal(operation_layout(self.config), reset_less=True), Signal()
        moves, picks, offers = Signal(), Signal(), []
        m.d.comb += [
            turns.requests.eq(Cat(slot.waits for slot in slots)),
            moves.eq(~again_valid | self.again.ready),
            turns.taken.eq(moves),
            picks.eq(moves & turns.requests.any()),
            self.again.valid.eq(again_valid),
            self.again.payload.eq(again),
        ]
        for number, slot in enumerate(slots):
            m.d.comb += [
                slot.picked.eq(moves & turns.grant[number]),
                slot.picks.eq(picks),
                slot.picks_slot.eq(number_of(turns.grant)),
            ]
            offers.append(Cat(slot.waiting, slot.failed, slot.fills, slot.keeps))
        chosen = Signal(
            data.StructLayout({
                "waiting": waiting_layout(self.config),
                "failed": self.config.beats,
                "fills": 1,
                "keeps": 1,
            })
        )
        m.d.comb += Value.cast(chosen).eq(select(turns.grant, offers))
        with m.If(moves):
            m.d.sync += [
                again_valid.eq(turns.requests.any()),
                again.retry.eq(~chosen.fills),
                again.fill.eq(chosen.fills),
                again.keeps.eq(chosen.keeps),
                again.failed.eq(chosen.failed),
                again.line.eq(chosen.waiting.line),
                again.id.eq(chosen.waiting.id),
                again.beats.eq(chosen.waiting.beats),
                again.allocates.eq(chosen.waiting.allocates),
                again.slot.eq(number_of(turns.grant)),
            ]

    def receive(self, m: Module, slots):
        """Keep the beats of DRAM until their line is whole."""
        config, came = self.config, self.came
        m.submodules.data = words = Sram(
            depth=len(slots), width=8 * config.l2.line_bytes, granularity=config.data_width
        )
        m.submodules.codes = codes = Sram(depth=len(slots), width=2 * config.beats, granularity=2)
        whose = one_hot(m, came.slot, len(slots), "whose")
        beat = Signal(config.beats)
        m.d.comb += [
            beat.eq(select(whose, [slot.beat for slot in slots])),
            self.line.eq(words.read_data),
            self.codes.eq(codes.read_data),
            words.write_data.eq(came.data.replicate(config.beats)),
            codes.write_data.eq(came.code.replicate(config.beats)),
        ]
        for memory in (words, codes):
            m.d.comb += [
                memory.read_enable.eq(self.read),
                memory.read_address.eq(self.read_slot),
                memory.write_mask.eq(Mux(self.came_valid, beat, 0)),
                memory.write_address.eq(came.slot),
            ]
        for number, slot in enumerate(slots):
            m.d.comb += [
                slot.came.eq(self.came_valid & whose[number]),
                slot.came_last.eq(came.last),
                slot.came_error.eq(came.code[1]),
            ]
