"""Golden model of the barriers of a core, without timing."""

from collections.abc import Callable

from .....hw.config import CoreBlockConfig
from .....hw.core.control.faults import FaultCause

__all__ = ["OF_CORES", "BarrierModel", "RefusedError"]

#: Bit of a barrier's number that selects a barrier across cores, if barriers are per core.
OF_CORES = 1 << 31


class RefusedError(Exception):
    """A fault of an instruction, which has changed no state."""

    def __init__(self, cause: FaultCause):
        super().__init__(cause.name)
        self.cause = cause


class BarrierModel:
    """Golden model of `Barrier`.

    `request_cluster` stands for the cluster barrier: called with a barrier and a count, it returns
    True if it accepts the arrival.
    """

    def __init__(self, config: CoreBlockConfig, request_cluster: Callable[[int, int], bool]):
        self.config = config
        self.warps = config.core.warps
        self.request_cluster = request_cluster
        self.waiting: dict[int, tuple[tuple[bool, int], int]] = {}

    def arrive(self, warp: int, number: int, count: int) -> int:
        """Return the released warps; raise `RefusedError`."""
        config = self.config
        of_cores = config.barrier_scope == "core" and bool(number & OF_CORES)
        index = number & ~OF_CORES if of_cores else number
        if index >= config.barriers:
            raise RefusedError(FaultCause.BARRIER_NUMBER)
        if not 1 <= count <= (config.cores if of_cores else self.warps):
            raise RefusedError(FaultCause.BARRIER_COUNT)
        place = (of_cores, index)
        others = {w: expected for w, (where, expected) in self.waiting.items() if where == place}
        if any(expected != count for expected in others.values()):
            raise RefusedError(FaultCause.BARRIER_DISAGREES)
        if len(others) == (1 if of_cores else count):
            raise RefusedError(FaultCause.BARRIER_FULL)
        if of_cores or len(others) + 1 == count:
            if config.cores == 1 or (config.barrier_scope == "core" and not of_cores):
                return self.leave(place) | 1 << warp
            if not self.request_cluster(index, count if of_cores else config.cores):
                raise RefusedError(FaultCause.BARRIER_DISAGREES)
        self.waiting[warp] = (place, count)
        return 0

    def release(self, index: int) -> int:
        """Return the warps released by the cluster barrier."""
        return self.leave((self.config.barrier_scope == "core", index))

    def leave(self, place: tuple[bool, int]) -> int:
        gone = [warp for warp, (where, _) in self.waiting.items() if where == place]
        for warp in gone:
            del self.waiting[warp]
        return sum(1 << warp for warp in gone)
