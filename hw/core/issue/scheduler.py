"""Warp scheduler: selects one of the warps that can issue."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.arbiter import Arbiter
from .greedy_then_oldest import GreedyThenOldest
from .oldest import Oldest
from .two_level import TwoLevel

__all__ = ["Scheduler", "SchedulingSignature"]


class SchedulingSignature(wiring.Signature):
    """Selection of a warp for issue.

    Members
    -------
    ready : Out(warps)
        Warps with an instruction that can issue.
    grant : In(warps)
        One-hot; 0 if no warp is selected.
    taken : Out(1)
        An instruction of the granted warp is issued in this cycle; only with a grant.
    long_wait : Out(warps)
        Warps that will not be ready soon: waiting for memory or a barrier, or inactive.
    started : Out(warps)
        Warps that start.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "ready": Out(config.warps),
            "grant": In(config.warps),
            "taken": Out(1),
            "long_wait": Out(config.warps),
            "started": Out(config.warps),
        })


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
    warps : In(SchedulingSignature(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({"warps": In(SchedulingSignature(config))})

    def elaborate(self, platform):
        m = Module()
        policy = {
            "round_robin": Arbiter,
            "oldest": Oldest,
            "greedy_then_oldest": GreedyThenOldest,
            "two_level": TwoLevel,
        }[self.config.scheduler](self.config.warps)
        m.submodules.policy = policy
        requests = policy.requests if isinstance(policy, Arbiter) else policy.ready
        m.d.comb += [requests.eq(self.warps.ready), self.warps.grant.eq(policy.grant)]
        for name in ("taken", "long_wait", "started"):
            if name in policy.signature.members:
                m.d.comb += getattr(policy, name).eq(getattr(self.warps, name))
        return m
