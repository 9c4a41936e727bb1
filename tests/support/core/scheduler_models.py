"""Golden models of the four warp scheduling policies."""

from spica.hw.config import PipelineConfig
from spica.hw.core.issue.two_level import PATIENCE, members

__all__ = ["POLICIES", "make_scheduler"]


class RoundRobin:
    """Round-robin policy."""

    def __init__(self, warps: int):
        self.warps = warps
        self.last = -1

    def choose(self, ready: set[int]) -> int | None:
        """Return the next warp in cyclic order, None if none is ready."""
        circle = [*range(self.last + 1, self.warps), *range(self.last + 1)]
        return next((warp for warp in circle if warp in ready), None)

    def step(self, issued: int | None, long_wait: set[int], started: set[int]):
        """End the cycle in which warp `issued` issued, if there is one."""
        if issued is not None:
            self.last = issued


class Oldest:
    """Oldest-first policy, by start."""

    def __init__(self, warps: int):
        self.by_age = list(range(warps))

    def choose(self, ready: set[int]) -> int | None:
        """Return the oldest, None if none is ready."""
        return next((warp for warp in self.by_age if warp in ready), None)

    def step(self, issued: int | None, long_wait: set[int], started: set[int]):
        """End a cycle: `started` become the youngest."""
        stayed = [warp for warp in self.by_age if warp not in started]
        self.by_age = stayed + sorted(started)


class GreedyThenOldest(Oldest):
    """Greedy-then-oldest policy: the warp last taken while ready, else the oldest."""

    def __init__(self, warps: int):
        super().__init__(warps)
        self.last: int | None = None

    def choose(self, ready: set[int]) -> int | None:
        """Return the same warp or the oldest."""
        return self.last if self.last in ready else super().choose(ready)

    def step(self, issued: int | None, long_wait: set[int], started: set[int]):
        """End a cycle."""
        super().step(issued, long_wait, started)
        if issued is not None:
            self.last = issued


class TwoLevel:
    """Two-level policy: round-robin among half of the warps; long waits leave the active set."""

    def __init__(self, warps: int):
        self.warps = warps
        self.active = set(range(members(warps)))
        self.inside, self.outside = RoundRobin(warps), RoundRobin(warps)
        self.last: int | None = None
        self.cycle = 0

    def choose(self, ready: set[int]) -> int | None:
        """Return the next member in cyclic order."""
        return self.inside.choose(ready & self.active)

    def step(self, issued: int | None, long_wait: set[int], started: set[int]):
        """End a cycle: exchange at most one member for an outside warp."""
        waiting = self.active & long_wait
        candidate = self.outside.choose(set(range(self.warps)) - self.active - long_wait)
        leaver = min(waiting) if waiting else None
        if leaver is None and self.cycle % PATIENCE == PATIENCE - 1 and self.last in self.active:
            leaver = self.last
        if leaver is not None and candidate is not None:
            self.active = self.active - {leaver} | {candidate}
            self.outside.last = candidate
        self.cycle += len(long_wait) < self.warps
        if issued is not None:
            self.inside.last = self.last = issued


POLICIES = {
    "round_robin": RoundRobin,
    "oldest": Oldest,
    "greedy_then_oldest": GreedyThenOldest,
    "two_level": TwoLevel,
}


def make_scheduler(config: PipelineConfig):
    """Return the model of the configured policy."""
    return POLICIES[config.scheduler](config.warps)
