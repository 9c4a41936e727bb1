"""Round-robin arbiter, and helpers for one-hot values."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..emit.shared_block import SharedBlock

__all__ = ["Arbiter", "lowest", "number_of", "one_hot", "select"]


#: Widest value whose lowest set bit is found by a carry chain; wider ones are split in halves.
CARRIED = 8


def lowest(requests: Value) -> Value:
    """Return the lowest set bit of `requests`, one-hot."""
    width = len(requests)
    if width <= CARRIED:
        return (requests & -requests)[:width]
    half = width // 2
    low, high = requests[:half], requests[half:]
    return Cat(lowest(low), lowest(high) & ~low.any().replicate(width - half))


def one_hot(m: Module, index: Value, choices: int, name: str) -> Signal:
    """Return a signal with only bit `index` set; `choices` is a power of two."""
    chosen = Signal(choices, name=name)
    if choices == 1:
        m.d.comb += chosen.eq(1)
        return chosen
    with m.Switch(index):
        for number in range(choices):
            with m.Case(number):
                m.d.comb += chosen.eq(1 << number)
    return chosen


def number_of(chosen: Value) -> Value:
    """Return the index of the set bit of a one-hot value, as wide as the highest index needs."""
    return Cat(
        Cat(chosen[n] for n in range(len(chosen)) if n >> bit & 1).any()
        for bit in range(ceil_log2(len(chosen)))
    )


def select(grant: Value, values) -> Value:
    """Return the one of `values` at the highest bit set in `grant`, for example a one-hot value.

    A balanced tree of ``len(values) - 1`` multiplexers. The result is undefined if `grant` is 0.
    """
    if len(values) == 1:
        return Value.cast(values[0])
    half = (len(values) + 1) // 2
    return Mux(
        grant[half:].any(), select(grant[half:], values[half:]), select(grant[:half], values[:half])
    )


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

    requests: Signal
    grant: Signal
    taken: Signal

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
