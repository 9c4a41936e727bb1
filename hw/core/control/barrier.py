"""Warp barriers of a core: arrival, wait, release, and requests to the cluster barrier."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import CoreBlockConfig, PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.one_hot import ones
from ...lib.streams import ResponseSignature
from .faults import FaultCause

__all__ = ["Barrier", "BarrierArrivalSignature", "ClusterBarrierSignature", "barrier_layout"]

#: Bit of a barrier's number that selects a barrier across cores, if barriers are per core.
OF_CORES = 31


def barrier_layout(barriers: int) -> data.StructLayout:
    """Return the layout of the number of a cluster barrier."""
    return data.StructLayout({"barrier": max(1, ceil_log2(barriers))})


def barrier_request_layout(barriers: int, cores: int) -> data.StructLayout:
    """Return the layout of a core's arrival at a cluster barrier of `count` cores."""
    return data.StructLayout({**barrier_layout(barriers).members, "count": range(cores + 1)})


class ClusterBarrierSignature(wiring.Signature):
    """Arrivals of a core at the barriers of its cluster, and their release.

    Members
    -------
    request : Out(stream.Signature(barrier_request_layout(barriers, cores)))
        All warps of the core have arrived, and `count` cores shall meet.
    refused : In(1)
        Valid in the cycle in which the request is accepted.
    release : In(ResponseSignature(barrier_layout(barriers)))
    """

    def __init__(self, barriers: int, cores: int):
        super().__init__({
            "request": Out(stream.Signature(barrier_request_layout(barriers, cores))),
            "refused": In(1),
            "release": In(ResponseSignature(barrier_layout(barriers))),
        })


class BarrierArrivalSignature(wiring.Signature):
    """Arrival of a warp at a barrier.

    Members
    -------
    warps : Out(warps)
        One-hot, or 0: the warp that arrives. It must not be waiting.
    number, count : Out(32)
        Operands of ``vx_bar``; held until `ready`.
    ready : In(1)
        The arrival is accepted or refused.
    refused : In(1)
        The arrival is refused for the reason in `cause`; no state changes.
    cause : In(FaultCause)
    clear : Out(1)
        Clears all waiting warps; no warp arrives in that cycle.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "warps": Out(config.warps),
            "number": Out(32),
            "count": Out(32),
            "ready": In(1),
            "refused": In(1),
            "cause": In(FaultCause),
            "clear": Out(1),
        })


class Barrier(SharedBlock):
    """Warp barriers: warps arrive one at a time and wait until the barrier is complete.

    An arrival is answered in its cycle by `ready`, with or without `refused`. Exception: an
    arrival that completes this core's part of a cluster barrier waits until the cluster barrier
    accepts the request. If no other core takes part, the last warp releases the others in its
    cycle. A warp waits from the next cycle on.

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
    arrival : In(BarrierArrivalSignature(config.core))
    waiting : Out(warps)
    released : Out(warps)
        Released warps: waiting so far, or arriving in this cycle.
    cluster : Out(ClusterBarrierSignature(config.barriers, config.cores))
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        self.warps = warps = config.core.warps
        #: Whether barriers are per core, with a bit in their number for those across cores.
        self.is_per_core = config.barrier_scope == "core"
        super().__init__({
            "arrival": In(BarrierArrivalSignature(config.core)),
            "waiting": Out(warps),
            "released": Out(warps),
            "cluster": Out(ClusterBarrierSignature(config.barriers, config.cores)),
        })

    def build(self, platform):
        m = Module()
        config, arrival = self.config, self.arrival
        of_cores = self.of_cores()
        # Barrier identifier: warps with the same one meet.
        barrier = Signal(len(self.cluster.release.payload.barrier) + 1)
        barriers = [
            Signal.like(barrier, name=f"barrier_{w}", reset_less=True) for w in range(self.warps)
        ]
        counts = [
            Signal(range(max(self.warps, config.cores) + 1), name=f"count_{w}", reset_less=True)
            for w in range(self.warps)
        ]
        waiting_here = Signal(self.warps)  # warps at the arriving warp's barrier
        m.d.comb += [
            barrier.eq(Cat(arrival.number[: len(barrier) - 1], of_cores)),
            waiting_here.eq(self.waiting & Cat(own == barrier for own in barriers)),
        ]
        arrived = Signal(range(self.warps + 1))
        m.d.comb += arrived.eq(ones(waiting_here))
        is_refused = self.check(m, counts, waiting_here, arrived)
        opened = self.open(m, barriers)
        self.arrive(m, waiting_here, arrived, is_refused, opened)
        for warp in range(self.warps):
            with m.If(arrival.warps[warp]):
                m.d.sync += [barriers[warp].eq(barrier), counts[warp].eq(arrival.count)]
        return m

    def of_cores(self) -> Value:
        """Return whether the arrival is at a barrier across cores, in a core with its own."""
        return self.arrival.number[OF_CORES] if self.is_per_core else Const(0, 1)

    def check(
        self, m: Module, counts: list[Signal], waiting_here: Signal, arrived: Signal
    ) -> Signal:
        """Return whether the state of this core refuses the arrival; drive the cause."""
        config, arrival, of_cores = self.config, self.arrival, self.of_cores()
        index = arrival.number[:OF_CORES] if self.is_per_core else arrival.number
        limit = Mux(of_cores, config.cores, self.warps)
        disagrees = Cat(count != arrival.count[: len(count)] for count in counts)
        is_refused = Signal(init=1)
        with m.If(index >= config.barriers):
            m.d.comb += arrival.cause.eq(FaultCause.BARRIER_NUMBER)
        with m.Elif((arrival.count == 0) | (arrival.count > limit)):
            m.d.comb += arrival.cause.eq(FaultCause.BARRIER_COUNT)
        with m.Elif((waiting_here & disagrees).any()):
            m.d.comb += arrival.cause.eq(FaultCause.BARRIER_DISAGREES)
        with m.Elif(Mux(of_cores, waiting_here.any(), arrived == arrival.count)):
            m.d.comb += arrival.cause.eq(FaultCause.BARRIER_FULL)
        with m.Else():
            m.d.comb += [
                is_refused.eq(0),
                arrival.cause.eq(FaultCause.BARRIER_DISAGREES),  # if the cluster barrier refuses
            ]
        return is_refused

    def open(self, m: Module, barriers: list[Signal]) -> Signal:
        """Return the warps that the cluster barrier releases."""
        opened = Signal(self.warps)
        release = self.cluster.release
        released_barrier = Cat(release.payload.barrier, self.is_per_core)
        with m.If(release.valid & (self.config.cores > 1)):
            is_released = Cat(barrier == released_barrier for barrier in barriers)
            m.d.comb += opened.eq(self.waiting & is_released)
        return opened

    def arrive(
        self,
        m: Module,
        waiting_here: Signal,
        arrived: Signal,
        is_refused: Signal,
        opened: Signal,
    ):
        """Hold the arriving warp, or release all warps of the barrier."""
        config, arrival, request = self.config, self.arrival, self.cluster.request
        of_cores = self.of_cores()
        arrives = arrival.warps.any() & ~is_refused
        is_complete = of_cores | (arrived + 1 == arrival.count)
        spans_cores = of_cores if self.is_per_core else Const(1, 1)
        requests = is_complete & spans_cores & (config.cores > 1)
        opens, waits = Signal(), Signal()
        m.d.comb += [
            request.valid.eq(arrives & requests),
            request.payload.barrier.eq(arrival.number),
            request.payload.count.eq(Mux(of_cores, arrival.count, config.cores)),
            arrival.ready.eq(is_refused | ~requests | request.ready),
            arrival.refused.eq(is_refused | (requests & self.cluster.refused)),
            opens.eq(arrives & is_complete & ~requests),
            waits.eq(arrives & ~opens & arrival.ready & ~arrival.refused),
            self.released.eq(opened | Mux(opens, waiting_here | arrival.warps, 0)),
        ]
        arrives_here = Mux(waits, arrival.warps, 0)
        m.d.sync += self.waiting.eq(
            Mux(arrival.clear, 0, (self.waiting & ~self.released) | arrives_here)
        )
