"""The warp scheduler: whose turn it is among the warps that can issue."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import CoreConfig
from ..memory.arbiter import Arbiter
from .greedy_then_oldest import GreedyThenOldest
from .oldest import Oldest
from .two_level import TwoLevel

__all__ = ["Scheduler"]


class Scheduler(wiring.Component):
    """Choice of one ready warp by the policy that the config names.

    Combinational from `ready` to `grant`; `ready` may fall in any cycle. ``round_robin`` takes
    the next in a circle; ``oldest`` the one started first; ``greedy_then_oldest`` the one taken
    last while it is ready, else the oldest; ``two_level`` the next of a small active set.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    ready : In(warps)
        Has an instruction that can be issued.
    grant : Out(warps)
        One-hot, 0 where nobody is chosen.
    taken : In(1)
        An instruction of the granted warp is issued in this cycle; only with a grant.
    long_wait : In(warps)
        Will not be ready soon: waits for memory or a barrier, or is not active.
    started : In(warps)
        Begins to run.
    """

    ready: Signal
    grant: Signal
    taken: Signal
    long_wait: Signal
    started: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        warps = config.warps
        super().__init__({
            "ready": In(warps),
            "grant": Out(warps),
            "taken": In(1),
            "long_wait": In(warps),
            "started": In(warps),
        })

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
        m.d.comb += [requests.eq(self.ready), self.grant.eq(policy.grant)]
        for name in ("taken", "long_wait", "started"):
            if name in policy.signature.members:
                m.d.comb += getattr(policy, name).eq(getattr(self, name))
        return m
