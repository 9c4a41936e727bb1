"""Golden model of all barriers of a cluster, cycle by cycle: per core and across cores."""

from collections.abc import Sequence
from dataclasses import dataclass

from spica.hw.config import CoreBlockConfig
from spica.hw.core.control.faults import FaultCause
from spica.sim.golden.core.control.barrier import BarrierModel, RefusedError
from support.cluster.cluster_barrier_model import Arrival, ClusterBarrierModel

__all__ = ["BarrierResponse", "BarrierSystemModel", "Coming"]


@dataclass(frozen=True)
class Coming:
    """A warp at ``vx_bar``, with its operands."""

    warp: int
    number: int
    count: int


@dataclass
class BarrierResponse:
    """Response to a core in a cycle: its arrival is accepted or refused; released warps."""

    ready: bool = False
    cause: FaultCause | None = None
    released: int = 0


class UndecidedError(Exception):
    """The decision needs the arrivals of the other cores."""


class BarrierSystemModel:
    """Barriers of every core and the cluster barrier; see `Barrier` and `ClusterBarrier`.

    Attributes
    ----------
    cores : list of BarrierModel
    cluster_barrier : ClusterBarrierModel
    opened : int or None
        The cluster barrier that opened in the last cycle, and is released in the next.

    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        self.cores = [BarrierModel(config, self.request_cluster) for _ in range(config.cores)]
        self.cluster_barrier = ClusterBarrierModel(config.cores, config.barriers)
        self.opened: int | None = None
        self.answer: bool | None = None
        self.question: Arrival | None = None

    def request_cluster(self, index: int, count: int) -> bool:
        """Answer for the cluster barrier, whose decision needs the arrivals of all cores."""
        if self.answer is None:
            self.question = Arrival(index, count)
            raise UndecidedError
        return self.answer

    def step(self, coming: Sequence[Coming | None]) -> list[BarrierResponse]:
        """Advance one cycle; an arrival that is not `ready` is repeated in the next."""
        responses = [BarrierResponse() for _ in self.cores]
        scope = self.config.barrier_scope == "core"
        leaving = [
            [warp for warp, (where, _) in core.waiting.items() if where == (scope, self.opened)]
            for core in self.cores
        ]
        requests: list[Arrival | None] = [None] * len(self.cores)
        for number, arriving in enumerate(coming):
            if arriving is not None and not self.arrive(number, arriving, responses[number], None):
                requests[number] = self.question
        grant = self.cluster_barrier.step(requests)
        self.opened = None
        if grant.core is not None:
            arriving, arrival = coming[grant.core], requests[grant.core]
            assert arriving is not None
            assert arrival is not None
            self.arrive(grant.core, arriving, responses[grant.core], not grant.refused)
            self.opened = arrival.barrier if grant.opens else None
        for core, warps, one in zip(self.cores, leaving, responses, strict=True):
            for warp in warps:
                del core.waiting[warp]
                one.released |= 1 << warp
        return responses

    def arrive(
        self, core: int, coming: Coming, response: BarrierResponse, answer: bool | None
    ) -> bool:
        """Process a warp's arrival with the cluster barrier's answer; return if it is decided."""
        self.answer = answer
        try:
            response.released |= self.cores[core].arrive(coming.warp, coming.number, coming.count)
        except UndecidedError:
            return False
        except RefusedError as refused:
            response.cause = refused.cause
        response.ready = True
        return True
