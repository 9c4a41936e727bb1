"""Two-level warp scheduling policy: round-robin in a small active set."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter
from ...lib.one_hot import lowest

__all__ = ["PATIENCE", "TwoLevel", "members"]

#: Cycles after which a member leaves the active set although it does not wait; a power of two.
#: Otherwise members that poll a result of an outside warp would keep it out forever.
PATIENCE = 256


def members(warps: int) -> int:
    """Return the size of the active set: half of the warps."""
    return (warps + 1) // 2


class TwoLevel(SharedBlock):
    """Two-level policy: round-robin in an active set of half the warps; long waits leave the set.

    Combinational from `ready` to `grant`. In each cycle one member with a long wait is exchanged
    for an outside warp without one, in round-robin order; without such an outside warp members
    stay. Every `PATIENCE` cycles the member granted last leaves, if no other does.

    Parameters
    ----------
    config : int
        Number of warps, 1 or more.

    Members
    -------
    ready : In(warps)
    long_wait : In(warps)
        Warps that wait for memory or a barrier, or are inactive.
    grant : Out(warps)
        One-hot; 0 if no member is ready.
    taken : In(1)
        The grant was used; only with a grant.
    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({
            "ready": In(config),
            "long_wait": In(config),
            "grant": Out(config),
            "taken": In(1),
        })

    def build(self, platform):
        m = Module()
        warps = self.config
        m.submodules.inside = inside = Arbiter(warps)
        active = Signal(warps, init=(1 << members(warps)) - 1)
        m.d.comb += [
            inside.requests.eq(self.ready & active),
            self.grant.eq(inside.grant),
            inside.accept.eq(self.taken),
        ]
        if members(warps) == warps:
            return m
        m.submodules.outside = outside = Arbiter(warps)
        waits, leaver = Signal(warps), Signal(warps)
        last = Signal(warps)  # the warp last taken, one-hot
        patience = Signal(exact_log2(PATIENCE))
        change = Signal()
        m.d.comb += [
            outside.requests.eq(~active & ~self.long_wait),
            waits.eq(active & self.long_wait),
            leaver.eq(Mux(waits.any(), lowest(waits), Mux(patience.all(), last & active, 0))),
            change.eq(leaver.any() & outside.requests.any()),
            outside.accept.eq(change),
        ]
        m.d.sync += patience.eq(patience + 1)
        with m.If(self.taken):
            m.d.sync += last.eq(self.grant)
        with m.If(change):
            m.d.sync += active.eq(active & ~leaver | outside.grant)
        return m
