"""Arbitration among equals, and the selection of what the chosen one brought."""

from amaranth import *
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..shared_block import SharedBlock

__all__ = ["Arbiter", "lowest", "number_of", "one_hot", "select"]


#: Bits of which a carry finds the lowest that is set; more would be as deep as they are many.
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
    """Return a signal with the bit set that `index` names; `choices` is a power of two."""
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
    """Return which bit of a one-hot value is set; its width is that of the highest number."""
    return Cat(
        Cat(chosen[n] for n in range(len(chosen)) if n >> bit & 1).any()
        for bit in range(ceil_log2(len(chosen)))
    )


def select(grant: Value, values) -> Value:
    """Return the one of `values` whose bit of the one-hot `grant` is set, else any of them.

    A balanced tree of multiplexers: ``len(values) - 1`` of them.
    """
    if len(values) == 1:
        return Value.cast(values[0])
    half = (len(values) + 1) // 2
    return Mux(
        grant[half:].any(), select(grant[half:], values[half:]), select(grant[:half], values[:half])
    )


class Arbiter(SharedBlock):
    """Round-robin choice: the first request after the one last taken, in a circle.

    Combinational from `requests` to `grant`. A request that stays is granted after at most
    ``requesters - 1`` others have been taken. While the grant is not taken the circle stands
    still, and a lower number after the one last taken may still overtake.

    Parameters
    ----------
    config : int
        Number of requesters, 1 or more.

    Members
    -------
    requests : In(requesters)
        Who asks.
    grant : Out(requesters)
        Who is chosen: one-hot, 0 where nobody asks.
    taken : In(1)
        The grant was of use: the next choice begins after it; without a request, at the first.
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
        after = Signal(requesters)  # the requesters after the one last taken
        preferred = Signal(requesters)
        seen = Signal(requesters)  # requests from which the lowest is chosen
        m.d.comb += [
            preferred.eq(self.requests & after),
            seen.eq(Mux(preferred.any(), preferred, self.requests)),
        ]
        # From the chosen one upwards every bit becomes set.
        step = 1
        while step < requesters:
            further = Signal(requesters, name=f"seen_by_{2 * step}")
            m.d.comb += further.eq(seen | (seen << step))
            seen, step = further, 2 * step
        m.d.comb += self.grant.eq(seen & ~(seen << 1))
        with m.If(self.taken):
            m.d.sync += after.eq(seen << 1)
        return m
