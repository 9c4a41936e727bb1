"""Golden model of all barriers of a cluster, cycle by cycle: of each core, and of all cores."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...hw.config import ClusterConfig
from ...hw.core.faults import FaultCause
from .core_barrier import BarrierModel, RefusedError
from .synchronizer import Arrival, SynchronizerModel

__all__ = ["ClusterBarriersModel", "Coming", "Told"]


@dataclass(frozen=True)
class Coming:
    """A warp at ``vx_bar``, with its operands."""

    warp: int
    number: int
    count: int


@dataclass
class Told:
    """What a core is told in a cycle: its arrival is taken, or refused; warps that go on."""

    ready: bool = False
    cause: FaultCause | None = None
    released: int = 0


class UndecidedError(Exception):
    """The other cores have to be asked."""


class ClusterBarriersModel:
    """Barriers of every core and the synchronizer; see `Barrier` and `Synchronizer`.

    Attributes
    ----------
    cores : list of BarrierModel
    synchronizer : SynchronizerModel
    opened : int or None
        The barrier of cores that opened in the last cycle, and is released in the next.

    """

    def __init__(self, config: ClusterConfig):
        self.config = config
        self.cores = [BarrierModel(config, self.ask) for _ in range(config.cores)]
        self.synchronizer = SynchronizerModel(config.cores, config.barriers)
        self.opened: int | None = None
        self.answer: bool | None = None
        self.question: Arrival | None = None

    def ask(self, index: int, count: int) -> bool:
        """Stand for the synchronizer, whose choice of a core is known only after all have asked."""
        if self.answer is None:
            self.question = Arrival(index, count)
            raise UndecidedError
        return self.answer

    def step(self, coming: Sequence[Coming | None]) -> list[Told]:
        """Let a cycle pass; an arrival that is not `ready` comes again in the next."""
        told = [Told() for _ in self.cores]
        scope = self.config.barrier_scope == "core"
        leaving = [
            [warp for warp, (where, _) in core.waiting.items() if where == (scope, self.opened)]
            for core in self.cores
        ]
        requests: list[Arrival | None] = [None] * len(self.cores)
        for number, each in enumerate(coming):
            if each is not None and not self.arrive(number, each, told[number], None):
                requests[number] = self.question
        taken = self.synchronizer.step(requests)
        self.opened = None
        if taken.core is not None:
            each, arrival = coming[taken.core], requests[taken.core]
            assert each is not None
            assert arrival is not None
            self.arrive(taken.core, each, told[taken.core], not taken.refused)
            self.opened = arrival.barrier if taken.opens else None
        for core, warps, one in zip(self.cores, leaving, told, strict=True):
            for warp in warps:
                del core.waiting[warp]
                one.released |= 1 << warp
        return told

    def arrive(self, core: int, coming: Coming, told: Told, answer: bool | None) -> bool:
        """Let a warp arrive, with what the synchronizer says; return whether that was enough."""
        self.answer = answer
        try:
            told.released |= self.cores[core].arrive(coming.warp, coming.number, coming.count)
        except UndecidedError:
            return False
        except RefusedError as refused:
            told.cause = refused.cause
        told.ready = True
        return True
