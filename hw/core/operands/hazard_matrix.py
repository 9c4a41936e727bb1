"""Hazard matrix: orders the instructions in the collectors by age."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from .collector_signatures import (
    AllocationSignature,
    HazardOrderSignature,
    HeldInstructionSignature,
)

__all__ = ["HazardMatrix"]


class HazardMatrix(Component):
    """Hazard matrix: for each collector the older instructions that it must wait for.

    There are two kinds. Instructions of the same warp that still gather operands: a younger
    instruction must not write before their last read, so it must not start. Instructions for the
    same port: they go first. Allocation stores both as masks; a bit is cleared when its reason
    ends, so there are no age counters.

    Latency: `order` describes the instructions now in the collectors, one cycle after
    `allocation`; ``first`` follows ``gathers`` combinationally.

    Parameters
    ----------
    config : PipelineConfig
        Its `collectors` and `issue_width`.

    Members
    -------
    allocation : In(AllocationSignature(config)).array(issue_width)
        The first slot is older.
    held : In(HeldInstructionSignature(config)).array(collectors)
    leaves : In(collectors)
        The collector's instruction leaves in this cycle.
    order : Out(HazardOrderSignature(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "allocation": In(AllocationSignature(config)).array(config.issue_width),
            "held": In(HeldInstructionSignature(config)).array(config.collectors),
            "leaves": In(config.collectors),
            "order": Out(HazardOrderSignature(config)),
        })

    def elaborate(self, platform):
        m = Module()
        order = self.order
        gathers, stays = Signal(self.config.collectors), Signal(self.config.collectors)
        m.d.comb += [
            gathers.eq(Cat(held.gathers for held in self.held)),
            stays.eq(Cat(held.occupied for held in self.held) & ~self.leaves),
        ]
        recorded = [self.record(m, slot, gathers, stays) for slot in range(self.config.issue_width)]
        for c in range(self.config.collectors):
            before = Signal(self.config.collectors, name=f"before_{c}")
            gathering = Signal(self.config.collectors, name=f"gathering_before_{c}")
            m.d.comb += [gathering.eq(before & gathers), order.first[c].eq(~gathering.any())]
            m.d.sync += [before.eq(gathering), order.rivals[c].eq(order.rivals[c] & stays)]
            for slot, (same_warp, same_port) in enumerate(recorded):
                with m.If(self.allocation[slot].collectors[c]):
                    m.d.sync += [before.eq(same_warp), order.rivals[c].eq(same_port)]
        return m

    def record(self, m: Module, slot: int, gathers: Value, stays: Value) -> tuple[Signal, Signal]:
        """Return masks of the collectors that the instruction of `slot` waits for, by kind."""
        same_warp = Signal(self.config.collectors, name=f"same_warp_{slot}")
        same_port = Signal(self.config.collectors, name=f"same_port_{slot}")
        new = self.allocation[slot]
        warps = Cat(held.warp == new.warp for held in self.held) & gathers
        ports = Cat(held.port == new.port for held in self.held) & stays
        for older in self.allocation[:slot]:
            # An instruction allocated in the same cycle is not in its collector yet.
            warps |= Mux(older.warp == new.warp, older.collectors, 0)
            ports |= Mux(older.port == new.port, older.collectors, 0)
        m.d.comb += [same_warp.eq(warps), same_port.eq(ports)]
        return same_warp, same_port
