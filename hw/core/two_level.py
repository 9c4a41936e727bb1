"""Two levels: a small set of active warps in turn, the others wait outside."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..memory.arbiter import Arbiter, lowest
from ..shared_block import SharedBlock

__all__ = ["PATIENCE", "TwoLevel", "members"]

#: Cycles after which a member makes room although it does not wait; a power of two. Without it,
#: members that poll what only a warp outside can change would keep it out forever.
PATIENCE = 256


def members(warps: int) -> int:
    """Return the size of the active set: half of the warps."""
    return (warps + 1) // 2


class TwoLevel(SharedBlock):
    """Round-robin choice among a set of half the warps; who waits long makes room in it.

    Combinational from `ready` to `grant`. In each cycle one member that waits long changes places
    with a warp outside that does not, outsiders taking turns; members stay where nobody can come
    in. Every `PATIENCE` cycles the member last taken makes room, if no other does.

    Parameters
    ----------
    config : int
        Number of warps, 1 or more.

    Members
    -------
    ready : In(warps)
    long_wait : In(warps)
        Waits for memory or a barrier, or is not active.
    grant : Out(warps)
        One-hot, 0 where no member is ready.
    taken : In(1)
        The grant was of use; only with a grant.
    """

    ready: Signal
    long_wait: Signal
    grant: Signal
    taken: Signal

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
            inside.taken.eq(self.taken),
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
            outside.taken.eq(change),
        ]
        m.d.sync += patience.eq(patience + 1)
        with m.If(self.taken):
            m.d.sync += last.eq(self.grant)
        with m.If(change):
            m.d.sync += active.eq(active & ~leaver | outside.grant)
        return m
