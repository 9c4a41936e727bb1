"""Round-robin arbiter."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..emit.shared_block import SharedBlock

__all__ = ["Arbiter"]


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
        requesters = self.config
        after = Signal(requesters)  # requesters after the one taken last
        preferred = Signal(requesters)
        seen = Signal(requesters)  # requests among which the lowest is granted
        m.d.comb += [
            preferred.eq(self.requests & after),
            seen.eq(Mux(preferred.any(), preferred, self.requests)),
        ]
        # Prefix OR: every bit from the granted one upwards becomes set.
        step = 1
        while step < requesters:
            further = Signal(requesters, name=f"seen_by_{2 * step}")
            m.d.comb += further.eq(seen | (seen << step))
            seen, step = further, 2 * step
        m.d.comb += self.grant.eq(seen & ~(seen << 1))
        with m.If(self.taken):
            m.d.sync += after.eq(seen << 1)
        return m
