"""Cluster barrier: barriers at which cores meet."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ..config import ClusterBarrierConfig
from ..core.control.barrier import (
    ClusterBarrierSignature,
    barrier_layout,
    barrier_request_layout,
)
from ..emit.component import Component
from ..lib.arbiter import Arbiter, ArbitrationSignature
from ..lib.one_hot import ones, select

__all__ = ["ClusterBarrier"]


class ClusterBarrier(Component):
    """Cluster barrier: counts the arrivals of cores and releases them together.

    One arrival per cycle, cores round-robin: an arrival waits for at most ``cores - 1`` others.
    The release follows in the cycle after the last arrival; cores that did not wait there may
    arrive again in that cycle. An arrival is refused in its cycle, without effect, if its count
    differs from that of the cores already waiting there. A core arrives at a barrier once per
    release; counts are 1 to `cores`. Any cores may meet at a barrier.

    Parameters
    ----------
    config : ClusterBarrierConfig

    Members
    -------
    core : In(ClusterBarrierSignature(barriers, cores)).array(cores)
        Of each core; all get the same releases.
    waiting : Out(ArrayLayout(cores, barriers))
        Cores waiting at each barrier.
    """

    def __init__(self, config: ClusterBarrierConfig):
        self.config = config
        super().__init__({
            "core": In(ClusterBarrierSignature(config.barriers, config.cores)).array(config.cores),
            "waiting": Out(data.ArrayLayout(config.cores, config.barriers)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.arbiter = arbiter = Arbiter(config.cores)
        cores: Any = ArbitrationSignature(config.cores).create(path=("cores",))
        connect(m, cores, arbiter)
        requests, grant = cores.requests, cores.grant
        chosen = Signal(barrier_request_layout(config.barriers, config.cores))
        payloads = [Value.cast(core.request.payload) for core in self.core]
        m.d.comb += [
            requests.eq(Cat(core.request.valid for core in self.core)),
            cores.accept.eq(requests.any()),
            Value.cast(chosen).eq(select(grant, payloads)),
        ]
        counts = [
            Signal(range(config.cores + 1), name=f"count_{b}") for b in range(config.barriers)
        ]
        # Of every request, in parallel with the arbiter.
        arrivals = [
            self.connect_counts(m, number, core.request.payload, counts)
            for number, core in enumerate(self.core)
        ]
        cores_here, refusals = zip(*arrivals, strict=True)
        here = Signal(config.cores)
        arrives, refused, opens = Signal(), Signal(), Signal()
        m.d.comb += [
            here.eq(select(grant, cores_here)),
            arrives.eq(requests.any() & ~refused),
            refused.eq((grant & Cat(refusals)).any()),
            opens.eq(arrives & (ones(here) + 1 == chosen.count)),
        ]
        with m.If(arrives), m.Switch(chosen.barrier):
            for barrier in range(config.barriers):
                with m.Case(barrier):
                    m.d.sync += [
                        self.waiting[barrier].eq(Mux(opens, 0, here | grant)),
                        counts[barrier].eq(chosen.count),
                    ]
        released, released_barrier = Signal(), Signal(barrier_layout(config.barriers))
        m.d.sync += [released.eq(opens), released_barrier.barrier.eq(chosen.barrier)]
        for number, core in enumerate(self.core):
            m.d.comb += [
                core.request.ready.eq(grant[number]),
                core.refused.eq(refusals[number]),
                core.release.valid.eq(released),
                core.release.payload.eq(released_barrier),
            ]
        return m

    def connect_counts(
        self, m: Module, number: int, payload: data.View, counts: list[Signal]
    ) -> tuple[Signal, Signal]:
        """Return the cores at a request's barrier, and whether their count refuses it."""
        here = Signal(self.config.cores, name=f"here_{number}")
        expected = Signal.like(counts[0], name=f"expected_{number}")
        refused = Signal(name=f"refused_{number}")
        with m.Switch(payload.barrier):
            for barrier, count in enumerate(counts):
                with m.Case(barrier):
                    m.d.comb += [here.eq(self.waiting[barrier]), expected.eq(count)]
        m.d.comb += refused.eq(here.any() & (expected != payload.count))
        return here, refused
