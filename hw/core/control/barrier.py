"""Warp barriers of a core: arrival, wait, release, and requests to the cluster barrier."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import CoreBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import ones
from ...lib.streams import ResponseSignature
from .faults import FaultCause

__all__ = ["Barrier", "barrier_layout", "barrier_request_layout"]

#: Bit of a barrier's number that selects a barrier across cores, if barriers are per core.
OF_CORES = 31


def barrier_layout(barriers: int) -> data.StructLayout:
    """Return the layout of the number of a cluster barrier."""
    return data.StructLayout({"barrier": max(1, ceil_log2(barriers))})


def barrier_request_layout(barriers: int, cores: int) -> data.StructLayout:
    """Return the layout of a core's arrival at a cluster barrier of `count` cores."""
    return data.StructLayout({**barrier_layout(barriers).members, "count": range(cores + 1)})


class Barrier(SharedBlock):
    """Warp barriers: warps arrive one at a time and wait until the barrier is complete.

    An arrival is answered in its cycle by `ready`, with or without `refused`. Exception: an
    arrival that completes this core's part of a cluster barrier waits until `request` is
    accepted. If no other core takes part, the last warp releases the others in its cycle. A warp
    waits from the next cycle on.

    Barriers across cores are kept by the cluster barrier. It accepts one request per core and
    barrier. With the requests of `count` cores it opens the barrier and sends one `release` to
    every core, at the earliest in the cycle after the last request. It refuses a request, while
    accepting it, if the request's count differs from that of the waiting cores. A single core
    never sends requests.

    Parameters
    ----------
    config : CoreBlockConfig

    Members
    -------
    arrive : In(warps)
        One-hot, or 0: the warp that arrives. It must not be waiting.
    number, count : In(32)
        Operands of ``vx_bar``; held until `ready`.
    ready : Out(1)
        The arrival is accepted or refused.
    refused : Out(1)
        The arrival is refused for the reason in `cause`; no state changes.
    cause : Out(FaultCause)
    clear : In(1)
        Clears all waiting warps; no warp arrives in that cycle.
    waiting : Out(warps)
    released : Out(warps)
        Released warps: waiting so far, or arriving in this cycle.
    request : Out(stream.Signature(barrier_request_layout(config.barriers, config.cores)))
    request_refused : In(1)
        Valid in the cycle in which a request is accepted.
    release : In(ResponseSignature(barrier_layout(config.barriers)))
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        self.warps = warps = config.core.warps
        super().__init__({
            "arrive": In(warps),
            "number": In(32),
            "count": In(32),
            "ready": Out(1),
            "refused": Out(1),
            "cause": Out(FaultCause),
            "clear": In(1),
            "waiting": Out(warps),
            "released": Out(warps),
            "request": Out(stream.Signature(barrier_request_layout(config.barriers, config.cores))),
            "request_refused": In(1),
            "release": In(ResponseSignature(barrier_layout(config.barriers))),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        is_of_core = config.barrier_scope == "core"
        self.of_cores = self.number[OF_CORES] if is_of_core else Const(0, 1)
        number_width = len(self.release.payload.barrier)
        # Barrier identifier: warps with the same one meet.
        self.place = Signal(number_width + 1)
        self.places = [
            Signal(number_width + 1, name=f"place_{w}", reset_less=True) for w in range(self.warps)
        ]
        self.counts = [
            Signal(range(max(self.warps, config.cores) + 1), name=f"count_{w}", reset_less=True)
            for w in range(self.warps)
        ]
        self.here = Signal(self.warps)  # warps waiting at the arriving warp's barrier
        released_place = Cat(self.release.payload.barrier, is_of_core)
        m.d.comb += [
            self.place.eq(Cat(self.number[:number_width], self.of_cores)),
            self.here.eq(self.waiting & Cat(place == self.place for place in self.places)),
        ]
        self.check(m)
        self.arrive_at_cluster(m)

        with m.If(self.release.valid & (config.cores > 1)):
            is_released = Cat(place == released_place for place in self.places)
            m.d.comb += self.let_go.eq(self.waiting & is_released)
        return m

    def check(self, m: Module):
        """Check the arrival against the state of this core."""
        config = self.config
        index = self.number[:OF_CORES] if config.barrier_scope == "core" else self.number
        most = Mux(self.of_cores, config.cores, self.warps)
        disagrees = Cat(kept != self.count[: len(kept)] for kept in self.counts)
        self.arrived = Signal(range(self.warps + 1))
        self.is_wrong = Signal()
        m.d.comb += [
            self.arrived.eq(ones(self.here)),
            self.is_wrong.eq(1),
        ]
        with m.If(index >= config.barriers):
            m.d.comb += self.cause.eq(FaultCause.BARRIER_NUMBER)
        with m.Elif((self.count == 0) | (self.count > most)):
            m.d.comb += self.cause.eq(FaultCause.BARRIER_COUNT)
        with m.Elif((self.here & disagrees).any()):
            m.d.comb += self.cause.eq(FaultCause.BARRIER_DISAGREES)
        with m.Elif(Mux(self.of_cores, self.here.any(), self.arrived == self.count)):
            m.d.comb += self.cause.eq(FaultCause.BARRIER_FULL)
        with m.Else():
            m.d.comb += [
                self.is_wrong.eq(0),
                self.cause.eq(FaultCause.BARRIER_DISAGREES),  # if the cluster barrier refuses
            ]

    def arrive_at_cluster(self, m: Module):
        """Hold the arriving warp, or release all warps of the barrier."""
        config = self.config
        arrives = self.arrive.any() & ~self.is_wrong
        is_complete = self.of_cores | (self.arrived + 1 == self.count)
        spans_cores = self.of_cores if config.barrier_scope == "core" else Const(1, 1)
        requests = is_complete & spans_cores & (config.cores > 1)
        opens, waits = Signal(), Signal()
        self.let_go = Signal(self.warps)  # released by the cluster barrier
        m.d.comb += [
            self.request.valid.eq(arrives & requests),
            self.request.payload.barrier.eq(self.number),
            self.request.payload.count.eq(Mux(self.of_cores, self.count, config.cores)),
            self.ready.eq(self.is_wrong | ~requests | self.request.ready),
            self.refused.eq(self.is_wrong | (requests & self.request_refused)),
            opens.eq(arrives & is_complete & ~requests),
            waits.eq(arrives & ~opens & self.ready & ~self.refused),
            self.released.eq(self.let_go | Mux(opens, self.here | self.arrive, 0)),
        ]
        arrives_here = Mux(waits, self.arrive, 0)
        m.d.sync += self.waiting.eq(
            Mux(self.clear, 0, (self.waiting & ~self.released) | arrives_here)
        )
        for warp in range(self.warps):
            with m.If(self.arrive[warp]):
                m.d.sync += [self.places[warp].eq(self.place), self.counts[warp].eq(self.count)]
