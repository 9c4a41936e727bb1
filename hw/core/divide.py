"""The divide unit of a core: quotients, remainders and square roots of a warp."""

from amaranth import *

from .divide_lane import DivideLane, DivideLaneConfig
from .integer_divide import is_integer
from .lane_unit import LaneUnit
from .operations import Port

__all__ = ["DivideUnit"]


class DivideUnit(LaneUnit):
    """Carries out operations of `DivideOperation`; see `LaneUnit` for its ports.

    Iterative, a beat after the other. A beat of floats takes 7 cycles (of which in the last the
    next beat is accepted), of integers 9; the result of a beat is there one cycle later. So a warp
    with one lane takes 8 * 7 + 1 or 8 * 9 + 1 cycles, and one more in a register in front, from
    where its beats are taken. Results come in the order of operations; while one is not taken the
    next goes on until it is finished as well.

    """

    port = Port.DIVIDE
    operands = "ab"
    holds = True
    lane = DivideLaneConfig()

    def connect_lanes(self, m, beats, parts):
        """Connect all lanes, which take their steps together."""
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
        """Return whether a beat begins, finds digits, is finished."""
        config = self.lane
        busy = Signal()
        cycles_left = Signal(range(config.integer_cycles + 1))
        valid = Signal()
        begin, iterate, finish = Signal(), Signal(), Signal()
        m.d.comb += [
            iterate.eq(cycles_left.any()),
            # Not in the cycle in which the beat before leaves: who may wait would then see
            # writeback's `ready` in the same cycle, and there are many cycles to a beat.
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
