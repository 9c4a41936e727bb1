"""Two-level warp scheduling policy: round-robin in a small active set."""

from amaranth import *
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.arbiter import round_robin
from ...lib.one_hot import lowest
from .scheduling import SchedulingSignature

__all__ = ["PATIENCE", "TwoLevel", "members"]

#: Cycles after which a member leaves the active set although it does not wait; a power of two.
#: Otherwise members that poll a result of an outside warp would keep it out forever.
PATIENCE = 256


def members(warps: int) -> int:
    """Return the size of the active set: half of the warps."""
    return (warps + 1) // 2


class TwoLevel(SharedBlock):
    """Two-level policy: round-robin in an active set of half the warps; long waits leave the set.

    Combinational from ``ready`` to ``grant``. In each cycle one member with a long wait is
    exchanged for an outside warp without one, in round-robin order; without such an outside warp
    members stay. Every `PATIENCE` cycles the member granted last leaves, if no other does. Cycles
    in which all warps have a long wait do not count.

    Parameters
    ----------
    config : int
        Number of warps, 1 or more.

    Members
    -------
    warps : In(SchedulingSignature(warps))
    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({"warps": In(SchedulingSignature(config))})

    def build(self, platform):
        m = Module()
        warps, scheduling = self.config, self.warps
        active = Signal(warps, init=(1 << members(warps)) - 1)
        inside, outside = Signal(warps), Signal(warps)  # members that are ready; warps to exchange
        m.d.comb += [
            inside.eq(scheduling.ready & active),
            scheduling.grant.eq(round_robin(m, inside, scheduling.accept, "inside")),
        ]
        if members(warps) == warps:
            return m
        waits, leaver = Signal(warps), Signal(warps)
        last = Signal(warps)  # the warp last taken, one-hot
        patience = Signal(exact_log2(PATIENCE))
        change = Signal()
        m.d.comb += [
            outside.eq(~active & ~scheduling.long_wait),
            waits.eq(active & scheduling.long_wait),
            leaver.eq(Mux(waits.any(), lowest(waits), Mux(patience.all(), last & active, 0))),
            change.eq(leaver.any() & outside.any()),
        ]
        entrant = round_robin(m, outside, change, "outside")
        with m.If(~scheduling.long_wait.all()):  # the clock may stop if all warps wait
            m.d.sync += patience.eq(patience + 1)
        with m.If(scheduling.accept):
            m.d.sync += last.eq(scheduling.grant)
        with m.If(change):
            m.d.sync += active.eq(active & ~leaver | entrant)
        return m
