"""Hazard matrix: orders the instructions in the collectors by age."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.interfaces.core_memory import warp_shape

__all__ = ["HazardMatrix"]


class HazardMatrix(Component):
    """Hazard matrix: for each collector the older instructions that it must wait for.

    There are two kinds. Instructions of the same warp that still gather operands: a younger
    instruction must not write before their last read, so it must not start. Instructions for the
    same port: they go first. Allocation stores both as masks; a bit is cleared when its reason
    ends, so there are no age counters.

    Latency: `first` and `rivals` describe the instructions now in the collectors, one cycle after
    `allocate`; `first` follows `gathers` combinationally.

    Parameters
    ----------
    config : PipelineConfig
        Its `collectors` and `issue_width`.

    Members
    -------
    allocate : In(collectors).array(issue_width)
        Collector allocated to each slot's instruction in this cycle, one-hot; the first slot is
        older.
    new_warp : In(warp).array(issue_width), new_port : In(len(config.ports)).array(issue_width)
        Warp and one-hot port of these instructions.
    warp : In(warp).array(collectors), port : In(len(config.ports)).array(collectors)
        Warp and port of the instructions in the collectors.
    gathers : In(collectors)
        Operands remain to be granted or taken after this cycle.
    stays : In(collectors)
        Holds an instruction that does not leave in this cycle.
    first : Out(collectors)
        After this cycle, no older instruction of its warp gathers operands.
    rivals : Out(collectors).array(collectors)
        Collectors with older instructions for the same port.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        collectors, slots = config.collectors, config.issue_width
        super().__init__({
            "allocate": In(collectors).array(slots),
            "new_warp": In(warp_shape(config)).array(slots),
            "new_port": In(len(config.ports)).array(slots),
            "warp": In(warp_shape(config)).array(collectors),
            "port": In(len(config.ports)).array(collectors),
            "gathers": In(collectors),
            "stays": In(collectors),
            "first": Out(collectors),
            "rivals": Out(collectors).array(collectors),
        })

    def elaborate(self, platform):
        m = Module()
        collectors = range(self.config.collectors)
        recorded = [self.record(m, slot) for slot in range(self.config.issue_width)]
        for c in collectors:
            before = Signal(self.config.collectors, name=f"before_{c}")
            gathering = Signal(self.config.collectors, name=f"gathering_before_{c}")
            m.d.comb += [gathering.eq(before & self.gathers), self.first[c].eq(~gathering.any())]
            m.d.sync += [before.eq(gathering), self.rivals[c].eq(self.rivals[c] & self.stays)]
            for slot, (same_warp, same_port) in enumerate(recorded):
                with m.If(self.allocate[slot][c]):
                    m.d.sync += [before.eq(same_warp), self.rivals[c].eq(same_port)]
        return m

    def record(self, m: Module, slot: int) -> tuple[Signal, Signal]:
        """Return masks of the collectors that the instruction of `slot` waits for, by kind."""
        same_warp = Signal(self.config.collectors, name=f"same_warp_{slot}")
        same_port = Signal(self.config.collectors, name=f"same_port_{slot}")
        warp, port = self.new_warp[slot], self.new_port[slot]
        warps = Cat(held == warp for held in self.warp) & self.gathers
        ports = Cat(held == port for held in self.port) & self.stays
        for older in range(slot):
            # An instruction allocated in the same cycle is not in its collector yet.
            taken = self.allocate[older]
            warps |= Mux(self.new_warp[older] == warp, taken, 0)
            ports |= Mux(self.new_port[older] == port, taken, 0)
        m.d.comb += [same_warp.eq(warps), same_port.eq(ports)]
        return same_warp, same_port
