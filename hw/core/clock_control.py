"""Clock control of a core: its warps run, sleep or wake, and its clock runs or may stop."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..emit.shared_block import SharedBlock

__all__ = ["SLEEP_WIDTH", "ClockControl", "SleepSignature"]

#: Bits of the number of cycles that a core sleeps before it wakes to count them.
SLEEP_WIDTH = 10


class SleepSignature(wiring.Signature):
    """Sleep of a core, and its cycles, which are counted outside.

    Members
    -------
    asleep : Out(1)
        Combinational: the core is asleep in this cycle.
    wakes : In(1)
        No more cycles can be counted outside. The core must not be asleep in this cycle.
    slept : In(SLEEP_WIDTH)
        Cycles asleep before this one, to be added to the counters; each counts in one cycle only.
        0 while the core is asleep, except in the first cycle after one that was awake.
    """

    def __init__(self):
        super().__init__({"asleep": Out(1), "wakes": In(1), "slept": In(SLEEP_WIDTH)})


class ClockControl(SharedBlock):
    """Clock control: decides whether a core needs its clock, sleeps, or has ended. Combinational.

    A core is asleep if all its active warps wait, at barriers or in the wait table, none of them
    is released in this cycle, and nothing is in flight. Its state does not change then, except for
    what settles in the first two cycles. It wakes in the cycle in which a warp is released.

    Parameters
    ----------
    config : int
        Number of warps.

    Members
    -------
    start : In(1)
        The first warp is about to start.
    active, waiting : In(warps)
        Active warps, and of these the ones that wait at a barrier or in the wait table.
    released : In(warps)
        Waiting warps that continue.
    in_flight : In(1)
        An instruction or a fetch is in flight.
    settling : In(1)
        Events of an awake cycle are still uncounted.
    sleep : Out(SleepSignature())
    awake : Out(1)
        The core counts this cycle itself. Cycles asleep are counted outside.
    busy : Out(1)
        The core needs its clock in this cycle.
    runs : Out(1)
        The core has not ended: it is busy or asleep.
    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({
            "start": In(1),
            "active": In(config),
            "waiting": In(config),
            "released": In(config),
            "in_flight": In(1),
            "settling": In(1),
            "sleep": Out(SleepSignature()),
            "awake": Out(1),
            "busy": Out(1),
            "runs": Out(1),
        })

    def build(self, platform):
        m = Module()
        m.d.comb += [
            self.awake.eq(
                self.start
                | self.in_flight
                | self.sleep.wakes
                | (self.active & (~self.waiting | self.released)).any()
            ),
            self.sleep.asleep.eq(self.active.any() & ~self.awake),
            self.busy.eq(self.awake | self.settling),
            self.runs.eq(self.busy | self.active.any()),
        ]
        return m
