"""Divide unit of a core: quotients, remainders and square roots of a warp."""

from amaranth import *

from ....isa.operations import Port
from ..lane_unit import LaneUnit, hold
from .divide_lane import DivideLane, DivideLaneConfig
from .integer_divide import is_integer

__all__ = ["DivideUnit"]

#: Most beats of a warp from which a lane selects its operands in the cycle in which it begins.
SELECTABLE = 8


class DivideUnit(LaneUnit):
    """Divide unit: executes `DivideOperation`; see `LaneUnit` for its ports.

    Iterative, one beat at a time. A beat of floats takes 7 cycles, a beat of integers 9; the next
    beat is accepted in the last of them. The result of a beat is valid one cycle later. A warp on
    one lane with 8 beats takes 8 * 7 + 1 or 8 * 9 + 1 cycles, plus one for the register in front
    that feeds the beats, and with more than 8 beats one for a register behind their selection.
    Results leave in order. While a result stalls, the next beat runs until it is finished as well.

    """

    port = Port.DIVIDE
    holds = True
    lane = DivideLaneConfig()

    def connect_lanes(self, m, beats, parts):
        """Connect all lanes, which step in lockstep."""
        if self.beats.beats > SELECTABLE:
            beats = hold(m, beats, self.beats.beat_layout, "selected")
        begin, iterate, finish = self.control(m, beats, parts)
        common = beats.payload.common
        for number in range(self.lanes):
            m.submodules[f"lane_{number}"] = lane = DivideLane(self.lane)
            m.d.comb += [
                lane.operation.eq(common.operation),
                lane.rounding.eq(common.rounding),
                lane.a.eq(beats.payload.operands[number].a),
                lane.b.eq(beats.payload.operands[number].b),
                lane.begin.eq(begin),
                lane.iterate.eq(iterate),
                lane.finish.eq(finish),
                parts.payload.result[number].value.eq(lane.o),
                parts.payload.result[number].flags.eq(lane.flags),
            ]
        running = Signal(self.kept, reset_less=True)
        finished = Signal(self.kept, reset_less=True)
        with m.If(begin):
            m.d.sync += running.eq(common.kept)
        with m.If(finish):
            m.d.sync += finished.eq(running)
        m.d.comb += parts.payload.common.eq(finished)

    def control(self, m, beats, parts):
        """Return the strobes that begin a beat, compute its digits and finish it."""
        config = self.lane
        busy = Signal()
        cycles_left = Signal(range(config.integer_cycles + 1))
        valid = Signal()
        begin, iterate, finish = Signal(), Signal(), Signal()
        m.d.comb += [
            iterate.eq(cycles_left.any()),
            # Not in the cycle in which the previous beat leaves: a stalled producer would then
            # depend on writeback's `ready` in the same cycle, and a beat takes many cycles anyway.
            finish.eq(busy & ~iterate & ~valid),
            beats.ready.eq(~busy | finish),
            begin.eq(beats.valid & beats.ready),
            parts.valid.eq(valid),
        ]
        m.d.sync += [
            busy.eq(begin | (busy & ~finish)),
            valid.eq(finish | (valid & ~parts.ready)),
        ]
        with m.If(begin):
            m.d.sync += cycles_left.eq(
                Mux(
                    is_integer(beats.payload.common.operation),
                    config.integer_cycles,
                    config.float_cycles,
                )
            )
        with m.Elif(iterate):
            m.d.sync += cycles_left.eq(cycles_left - 1)
        return begin, iterate, finish
