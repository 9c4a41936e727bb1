"""Divide unit of a core: quotients, remainders and square roots of a warp."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import connect

from ....isa.operations import Port
from ..lane_unit import LaneUnit, hold
from .divide_lane import DivideControlSignature, DivideLane, DivideLaneConfig
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

    def connect_lanes(self, m: Module, beats: stream.Interface, parts: stream.Interface):
        """Connect all lanes, which step in lockstep."""
        if self.beats.beats > SELECTABLE:
            beats = hold(m, beats, self.beats.beat_layout, "selected")
        control = self.control(m, beats, parts)
        for number in range(self.lanes):
            m.submodules[f"lane_{number}"] = lane = DivideLane(self.lane)
            connect(m, control, lane.control)
            m.d.comb += [
                lane.a.eq(beats.payload.operands[number].a),
                lane.b.eq(beats.payload.operands[number].b),
                parts.payload.result[number].eq(lane.o),
            ]
        running = Signal(self.result_fields, reset_less=True)
        finished = Signal(self.result_fields, reset_less=True)
        with m.If(control.begin):
            m.d.sync += running.eq(beats.payload.common.result_fields)
        with m.If(control.finish):
            m.d.sync += finished.eq(running)
        m.d.comb += parts.payload.common.eq(finished)

    def control(self, m: Module, beats: stream.Interface, parts: stream.Interface) -> Any:
        """Return the operation of a beat, and the steps that begin, compute and finish it."""
        control: Any = DivideControlSignature().create(path=("control",))
        common = beats.payload.common
        config = self.lane
        busy = Signal()
        cycles_left = Signal(range(config.integer_cycles + 1))
        valid = Signal()
        m.d.comb += [
            control.operation.eq(common.operation),
            control.rounding.eq(common.rounding),
            control.iterate.eq(cycles_left.any()),
            # Not in the cycle in which the previous beat leaves: a stalled producer would then
            # depend on writeback's `ready` in the same cycle, and a beat takes many cycles anyway.
            control.finish.eq(busy & ~control.iterate & ~valid),
            beats.ready.eq(~busy | control.finish),
            control.begin.eq(beats.valid & beats.ready),
            parts.valid.eq(valid),
        ]
        m.d.sync += [
            busy.eq(control.begin | (busy & ~control.finish)),
            valid.eq(control.finish | (valid & ~parts.ready)),
        ]
        with m.If(control.begin):
            m.d.sync += cycles_left.eq(
                Mux(is_integer(common.operation), config.integer_cycles, config.float_cycles)
            )
        with m.Elif(control.iterate):
            m.d.sync += cycles_left.eq(cycles_left - 1)
        return control
