"""What each read that waits in a slice of the L2 cache waits for."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..shared_block import SharedBlock
from .l2_keys import matches
from .l2_layouts import L2SliceConfig

__all__ = ["L2SlotStates", "outcome_layout"]


def outcome_layout(config: L2SliceConfig) -> data.StructLayout:
    """Layout of what was found when a line was looked up for a read that is not answered.

    It is read (``fetches``, and ``keeps`` its line), or looked up again: after ``for_line`` came,
    after what goes to DRAM came there (``for_back``), or when it is its turn. What came for it
    ``stays`` until then.
    """
    return data.StructLayout({"fetches": 1, "keeps": 1, "for_line": 1, "for_back": 1, "stays": 1})


class L2SlotStates(SharedBlock):
    """Know what waits for its line, for a write-back, or for another read of the same id.

    A bit for each slot. Outputs tell of what is looked up in the same cycle; inputs take effect
    in the next. Of lines only keys are compared: what waits for another with the same key looks
    again too early, and a write waits for it in vain; neither is wrong.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    line : In(config.l2.line_width)
        What is looked up.
    take : In(config.l2.misses)
        It waits here from now on.
    settle : In(config.l2.misses)
        What waits here was looked up, or is taken, with this outcome:
    outcome : In(outcome_layout(config))
    in_turn : In(1)
        No read of its id is before it.
    free : In(config.l2.misses)
        What waits here is answered.
    line_came : In(1)
        The line that is looked up comes.
    back_came : In(1)
        A line came to DRAM.
    wake : In(config.l2.misses)
        It is its turn, or will be before it is looked up; it will be told if that was too soon.
    pick : In(config.l2.misses)
        It is looked up again from now on.
    came : In(config.l2.misses)
        Its last beat came.
    used : Out(config.l2.misses)
        Something waits.
    ready : Out(config.l2.misses)
        It may be looked up, by reason of a line that came if `here`, if it is its turn.
    waits : Out(config.l2.misses)
        It may be, and is.
    here : Out(config.l2.misses)
    passing : Out(config.l2.misses)
        Its line is not kept.
    passes : Out(1)
        Somebody reads the line that is looked up, and does not keep it.
    """

    line: Signal
    take: Signal
    settle: Signal
    outcome: data.View
    in_turn: Signal
    free: Signal
    line_came: Signal
    back_came: Signal
    wake: Signal
    pick: Signal
    came: Signal
    used: Signal
    ready: Signal
    waits: Signal
    here: Signal
    passing: Signal
    passes: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        slots = config.l2.misses
        super().__init__(
            {name: In(slots) for name in ("take", "settle", "free", "wake", "pick", "came")}
            | {name: In(1) for name in ("in_turn", "line_came", "back_came")}
            | {name: Out(slots) for name in ("used", "ready", "waits", "here", "passing")}
            | {
                "line": In(config.l2.line_width),
                "outcome": In(outcome_layout(config)),
                "passes": Out(1),
            }
        )

    def build(self, platform):
        m = Module()
        outcome, settle = self.outcome, self.settle
        picked, fetching, woken = (
            Signal.like(self.used, name=name) for name in ("picked", "fetching", "woken")
        )
        for_line, for_back, ends = (
            Signal.like(self.used, name=name) for name in ("for_line", "for_back", "ends")
        )
        key = self.config.key_of(self.line)
        same = matches(m, self.take, key, key)
        m.d.comb += [
            ends.eq(settle | self.free),
            self.ready.eq(self.used & ~picked & (self.here | ~(fetching | for_line | for_back))),
            self.waits.eq(self.ready & (woken | (self.here & ~self.passing))),
            self.passes.eq((same & self.passing).any()),
        ]
        m.d.sync += [
            self.used.eq((self.used & ~self.free) | self.take),
            picked.eq((picked & ~ends) | self.pick),
            fetching.eq((fetching & ~self.came) | where(settle, outcome.fetches)),
            self.here.eq((self.here & ~ends) | self.came | where(settle, outcome.stays)),
            self.passing.eq(
                (self.passing & ~ends)
                | where(settle, outcome.stays | (outcome.fetches & ~outcome.keeps))
            ),
            for_line.eq(
                (for_line & ~settle & ~where(same, self.line_came))
                | where(settle, outcome.for_line)
            ),
            for_back.eq(
                where((for_back & ~settle) | where(settle, outcome.for_back), ~self.back_came)
            ),
            woken.eq((woken & ~settle) | where(settle, self.in_turn) | self.wake),
        ]
        return m


def where(slots: Value, condition: Value) -> Value:
    """Return the slots if the condition holds, else none."""
    return Mux(condition, slots, 0)
