"""Warp scheduler: selects one of the warps that can issue."""

from amaranth import *
from amaranth.lib.wiring import In, connect, flipped

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.arbiter import Arbiter
from .greedy_then_oldest import GreedyThenOldest
from .oldest import Oldest
from .scheduling import SchedulingSignature
from .two_level import TwoLevel

__all__ = ["Scheduler"]

#: Policies that select by more than the ready warps.
POLICIES = {"oldest": Oldest, "greedy_then_oldest": GreedyThenOldest, "two_level": TwoLevel}


class Scheduler(Component):
    """Warp scheduler: grants one ready warp by the configured policy.

    Combinational from `ready` to `grant`; `ready` may fall in any cycle. ``round_robin`` grants
    in cyclic order; ``oldest`` the warp started first; ``greedy_then_oldest`` the warp granted last
    while it is ready, else the oldest; ``two_level`` in cyclic order within a small active set.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    warps : In(SchedulingSignature(config.warps))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({"warps": In(SchedulingSignature(config.warps))})

    def elaborate(self, platform):
        m = Module()
        if self.config.scheduler == "round_robin":
            m.submodules.policy = arbiter = Arbiter(self.config.warps)
            m.d.comb += [
                arbiter.requests.eq(self.warps.ready),
                arbiter.accept.eq(self.warps.accept),
                self.warps.grant.eq(arbiter.grant),
            ]
            return m
        m.submodules.policy = policy = POLICIES[self.config.scheduler](self.config.warps)
        connect(m, flipped(self.warps), policy.warps)
        return m
