"""Round-robin arbiter."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..emit.shared_block import SharedBlock

__all__ = ["Arbiter", "ArbitrationSignature", "round_robin"]

#: Most requesters that are searched in parallel with those after the one accepted last. Synthesis
#: makes this less deep for up to 24 (21 gates instead of 30), deeper from 32 on.
PARALLEL = 24


class ArbitrationSignature(wiring.Signature):
    """Requests to an arbiter and its grant, seen from the requesters.

    Parameters
    ----------
    requesters : int

    Members
    -------
    requests : Out(requesters)
        Requests.
    grant : In(requesters)
        The granted request: one-hot, 0 without a request.
    accept : Out(1)
        The grant is used: the next search begins after it; without a request, at the first.
    """

    def __init__(self, requesters: int):
        super().__init__({"requests": Out(requesters), "grant": In(requesters), "accept": Out(1)})


class Arbiter(SharedBlock):
    """Round-robin arbiter: grants the next request after the one accepted last, in circular order.

    Combinational from `requests` to `grant`. A request that stays is granted after at most
    ``requesters - 1`` others were accepted. The priority advances only when a grant is accepted;
    until then a lower requester after the last one accepted may still overtake.

    Parameters
    ----------
    config : int
        Number of requesters, 1 or more.

    Members are those of `ArbitrationSignature`, seen from the other side.
    """

    def __init__(self, config: int):
        self.config = config
        super().__init__(ArbitrationSignature(config).flip())

    def build(self, platform):
        m = Module()
        m.d.comb += self.grant.eq(round_robin(m, self.requests, self.accept))
        return m


def round_robin(m: Module, requests: Signal, accept: Value, name: str = "arbiter") -> Value:
    """Return the grant of an `Arbiter` that is part of module `m`."""
    count = len(requests)
    after = Signal(count, name=f"{name}_after")  # requesters after the one accepted last
    preferred = Signal(count, name=f"{name}_preferred")
    seen = Signal(count, name=f"{name}_seen")  # the granted requester and all higher ones
    m.d.comb += preferred.eq(requests & after)
    if count <= PARALLEL:
        above = from_lowest(m, preferred, f"{name}_after")
        every = from_lowest(m, requests, f"{name}_all")
        m.d.comb += seen.eq(Mux(above[-1], above, every))
    else:
        searched = Mux(preferred.any(), preferred, requests)
        m.d.comb += seen.eq(from_lowest(m, searched, f"{name}_all"))
    with m.If(accept):
        m.d.sync += after.eq(seen.shift_left(1))
    grant = Signal(count, name=f"{name}_grant")
    m.d.comb += grant.eq(seen & ~seen.shift_left(1))
    return grant


def from_lowest(m: Module, requests: Value, name: str) -> Value:
    """Return the lowest request and all higher bits, by a prefix OR."""
    seen, step = requests, 1
    while step < len(requests):
        further = Signal(len(requests), name=f"{name}_seen_by_{2 * step}")
        m.d.comb += further.eq(seen | seen.shift_left(step))
        seen, step = further, 2 * step
    return seen
