"""A read that waits in a slice of the L2 cache."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..emit import SharedBlock
from .l2_layouts import L2SliceConfig

__all__ = ["L2Slot", "outcome_layout", "waiting_layout"]


def waiting_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of a read: who wants which beats of which line, and whether it is kept if missed."""
    return data.StructLayout({
        "line": config.l2.line_width,
        "id": config.id_width,
        "beats": config.beats,
        "allocates": 1,
    })


def outcome_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what was found when a line was looked up for a read that is not answered.

    It is read (``fetches``, and ``keeps`` its line), or looked up again: after ``for_line`` came,
    after what goes to DRAM came there (``for_back``), or when it is its turn. What came for it
    ``stays`` until then.
    """
    return data.StructLayout({"fetches": 1, "keeps": 1, "for_line": 1, "for_back": 1, "stays": 1})


class L2Slot(SharedBlock):
    """Know what a read waits for: its line, a write-back, or another read of the same id.

    Outputs tell of what is looked up in the same cycle; inputs take effect in the next.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    line, id : In
        What is looked up.
    read : In(waiting_layout(config))
        That, as a read.
    take : In(1)
        It waits here from now on, `after` the read of slot `before` where that is.
    after, before : In
    is_taken : In(1)
        It waits here or in another slot.
    settle : In(1)
        What waits here was looked up, or is taken, with this outcome:
    outcome : In(outcome_layout(config))
    free : In(1)
        What waits here is answered.
    answered : In(1)
        So is what waits in slot `answered_slot`.
    answered_slot : In(config.slot_width)
    line_came : In(1)
        The line that is looked up comes.
    back_came : In(1)
        A line came to DRAM.
    picked : In(1)
        This is looked up again from now on.
    picks : In(1)
        So is slot `picks_slot`: the one that follows may come right behind it, and will be told
        if that was too soon.
    picks_slot : In(config.slot_width)
    came : In(1)
        A beat came, `came_last` the last of them, and whether with an error.
    came_last, came_error : In(1)
    used : Out(1)
        Something waits here.
    waits : Out(1)
        It is to be looked up, by reason of a line that came if `fills`, that is kept if `keeps`.
    fills, keeps : Out(1)
    waiting : Out(waiting_layout(config))
    failed : Out(config.beats)
        Beats that came with an error.
    follows : Out(1)
        A read of the same id is before it.
    beat : Out(config.beats)
        Where the next beat goes, one-hot.
    same_id : Out(1)
        It is the last read of the id that is looked up.
    passes_line : Out(1)
        It reads the line that is looked up, and does not keep it.
    """

    line: Signal
    id: Signal
    read: data.View
    take: Signal
    after: Signal
    before: Signal
    is_taken: Signal
    settle: Signal
    outcome: data.View
    free: Signal
    answered: Signal
    answered_slot: Signal
    line_came: Signal
    back_came: Signal
    picked: Signal
    picks: Signal
    picks_slot: Signal
    came: Signal
    came_last: Signal
    came_error: Signal
    used: Signal
    waits: Signal
    fills: Signal
    keeps: Signal
    waiting: data.View
    failed: Signal
    follows: Signal
    beat: Signal
    same_id: Signal
    passes_line: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        waiting = waiting_layout(config)
        super().__init__({
            "line": In(config.l2.line_width),
            "id": In(config.id_width),
            "read": In(waiting),
            "take": In(1),
            "after": In(1),
            "before": In(config.slot_width),
            "is_taken": In(1),
            "settle": In(1),
            "outcome": In(outcome_layout(config)),
            "free": In(1),
            "answered": In(1),
            "answered_slot": In(config.slot_width),
            "line_came": In(1),
            "back_came": In(1),
            "picked": In(1),
            "picks": In(1),
            "picks_slot": In(config.slot_width),
            "came": In(1),
            "came_last": In(1),
            "came_error": In(1),
            "used": Out(1),
            "waits": Out(1),
            "fills": Out(1),
            "keeps": Out(1),
            "waiting": Out(waiting),
            "failed": Out(config.beats),
            "follows": Out(1),
            "beat": Out(config.beats),
            "same_id": Out(1),
            "passes_line": Out(1),
        })

    def build(self, platform):
        m = Module()
        waiting = Signal(waiting_layout(self.config), reset_less=True)
        used, picked, fetching, here, keeps = Signal(), Signal(), Signal(), Signal(), Signal()
        for_line, for_back, follows, soon = Signal(), Signal(), Signal(), Signal()
        youngest, before = Signal(), Signal(self.config.slot_width, reset_less=True)
        same_line, same_id, first = Signal(), Signal(), Signal(self.config.beats)
        beat, failed = Signal(self.config.beats, reset_less=True), Signal(self.config.beats)
        wanted = Mux(self.take, self.read.beats, waiting.beats)
        is_turn = ~follows | soon
        retries = ~fetching & ~here & ~for_line & ~for_back & is_turn
        m.d.comb += [
            same_line.eq(used & (waiting.line == self.line)),
            same_id.eq(used & (waiting.id == self.id)),
            self.used.eq(used),
            self.fills.eq(here),
            self.keeps.eq(keeps),
            self.waits.eq(used & ~picked & ((here & (keeps | is_turn)) | retries)),
            self.waiting.eq(waiting),
            self.failed.eq(failed),
            self.follows.eq(follows),
            self.beat.eq(beat),
            self.same_id.eq(same_id & youngest),
            self.passes_line.eq(same_line & (fetching | here) & ~keeps),
            first.eq(Mux(self.outcome.keeps, 1, wanted & -wanted)),
        ]
        with m.If(self.picked):
            m.d.sync += picked.eq(1)
        with m.If(self.picks & (before == self.picks_slot)):
            m.d.sync += soon.eq(1)
        with m.Elif(self.settle):
            m.d.sync += soon.eq(0)
        with m.If(self.came):
            m.d.sync += [
                beat.eq(beat << 1),
                failed.eq(failed | Mux(self.came_error, beat, 0)),
                fetching.eq(~self.came_last),
                here.eq(self.came_last),
            ]
        with m.If(self.back_came):
            m.d.sync += for_back.eq(0)
        with m.If(self.line_came & same_line):
            m.d.sync += for_line.eq(0)
        with m.If(self.is_taken & same_id):
            m.d.sync += youngest.eq(0)
        with m.If(self.answered & (before == self.answered_slot)):
            m.d.sync += follows.eq(0)
        with m.If(self.settle):
            m.d.sync += [
                picked.eq(0),
                here.eq(self.outcome.stays),
                fetching.eq(self.outcome.fetches),
                keeps.eq(self.outcome.keeps),
                for_line.eq(self.outcome.for_line),
                for_back.eq(self.outcome.for_back & ~self.back_came),
                beat.eq(first),
                failed.eq(Mux(self.outcome.stays, failed, 0)),
            ]
        with m.If(self.take):
            m.d.sync += [
                used.eq(1),
                waiting.eq(self.read),
                follows.eq(self.after),
                before.eq(self.before),
                youngest.eq(1),
                soon.eq(0),
            ]
        with m.Elif(self.free):
            m.d.sync += [used.eq(0), picked.eq(0), here.eq(0)]
        return m
