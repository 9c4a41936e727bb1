"""Round-robin arbiter."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..emit.shared_block import SharedBlock

__all__ = ["Arbiter"]

#: Most requesters that are searched in parallel with those after the one taken last. Synthesis
#: makes this less deep for up to 24 (21 gates instead of 30), deeper from 32 on.
PARALLEL = 24


class Arbiter(SharedBlock):
    """Round-robin arbiter: grants the next request after the one taken last, in circular order.

    Combinational from `requests` to `grant`. A request that stays is granted after at most
    ``requesters - 1`` others have been taken. The priority advances only when a grant is taken;
    until then a lower requester after the last one taken may still overtake.

    Parameters
    ----------
    config : int
        Number of requesters, 1 or more.

    Members
    -------
    requests : In(requesters)
        Requests.
    grant : Out(requesters)
        The granted request: one-hot, 0 without a request.
    taken : In(1)
        The grant is used: the next search begins after it; without a request, at the first.
    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({"requests": In(config), "grant": Out(config), "taken": In(1)})

    def build(self, platform):
        m = Module()
        after = Signal(self.config)  # requesters after the one taken last
        preferred = Signal(self.config)
        seen = Signal(self.config)  # the granted requester and all higher ones
        m.d.comb += preferred.eq(self.requests & after)
        if self.config <= PARALLEL:
            above, every = from_lowest(m, preferred, "after"), from_lowest(m, self.requests, "all")
            m.d.comb += seen.eq(Mux(above[-1], above, every))
        else:
            searched = Mux(preferred.any(), preferred, self.requests)
            m.d.comb += seen.eq(from_lowest(m, searched, "all"))
        m.d.comb += self.grant.eq(seen & ~(seen << 1))
        with m.If(self.taken):
            m.d.sync += after.eq(seen << 1)
        return m


def from_lowest(m: Module, requests: Value, name: str) -> Value:
    """Return the lowest request and all higher bits, by a prefix OR."""
    seen, step = requests, 1
    while step < len(requests):
        further = Signal(len(requests), name=f"{name}_seen_by_{2 * step}")
        m.d.comb += further.eq(seen | (seen << step))
        seen, step = further, 2 * step
    return seen
