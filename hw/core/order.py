"""Which instructions in collectors are older than which."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import CoreConfig
from ..lib.interfaces.core_memory import warp_shape
from .operations import Port

__all__ = ["Order"]


class Order(wiring.Component):
    """Remembers for each collector which others hold older instructions that it must heed.

    Those are of two kinds: of the same warp and still gathering, before whose last read a younger
    instruction must not write (so it must not even start); and bound for the same port, which
    go first. Both are noted as masks at allocation and bits leave them with what they stand for,
    so nothing counts time.

    Latency: `first` and `rivals` belong to the instructions now in the collectors, a cycle after
    `allocate`; `first` follows `gathers` combinationally.

    Parameters
    ----------
    config : CoreConfig
        Its `collectors` and `issue_width`.

    Members
    -------
    allocate : In(collectors).array(issue_width)
        The collector each slot's instruction goes to in this cycle, one-hot; of two slots the
        first is older.
    new_warp : In(warp).array(issue_width), new_port : In(len(Port)).array(issue_width)
        Of these instructions, the port one-hot.
    warp : In(warp).array(collectors), port : In(len(Port)).array(collectors)
        Of the instructions in the collectors.
    gathers : In(collectors)
        Operands are still to be granted or taken after this cycle.
    stays : In(collectors)
        Has an instruction that does not leave in this cycle.
    first : Out(collectors)
        After this cycle, no older instruction of its warp gathers.
    rivals : Out(collectors).array(collectors)
        The collectors with older instructions for the same port.
    """

    allocate: list
    new_warp: list
    new_port: list
    warp: list
    port: list
    gathers: Signal
    stays: Signal
    first: Signal
    rivals: list

    def __init__(self, config: CoreConfig):
        self.config = config
        collectors, slots = config.collectors, config.issue_width
        super().__init__({
            "allocate": In(collectors).array(slots),
            "new_warp": In(warp_shape(config)).array(slots),
            "new_port": In(len(Port)).array(slots),
            "warp": In(warp_shape(config)).array(collectors),
            "port": In(len(Port)).array(collectors),
            "gathers": In(collectors),
            "stays": In(collectors),
            "first": Out(collectors),
            "rivals": Out(collectors).array(collectors),
        })

    def elaborate(self, platform):
        m = Module()
        collectors = range(self.config.collectors)
        noted = [self.note(m, slot) for slot in range(self.config.issue_width)]
        for c in collectors:
            before = Signal(self.config.collectors, name=f"before_{c}")
            gathering = Signal(self.config.collectors, name=f"gathering_before_{c}")
            m.d.comb += [gathering.eq(before & self.gathers), self.first[c].eq(~gathering.any())]
            m.d.sync += [before.eq(gathering), self.rivals[c].eq(self.rivals[c] & self.stays)]
            for slot, (same_warp, same_port) in enumerate(noted):
                with m.If(self.allocate[slot][c]):
                    m.d.sync += [before.eq(same_warp), self.rivals[c].eq(same_port)]
        return m

    def note(self, m: Module, slot: int) -> tuple[Signal, Signal]:
        """Return the collectors that the instruction of `slot` must heed, of both kinds."""
        same_warp = Signal(self.config.collectors, name=f"same_warp_{slot}")
        same_port = Signal(self.config.collectors, name=f"same_port_{slot}")
        warp, port = self.new_warp[slot], self.new_port[slot]
        warps = Cat(held == warp for held in self.warp) & self.gathers
        ports = Cat(held == port for held in self.port) & self.stays
        for older in range(slot):
            # What is allocated in the same cycle cannot be seen in the collectors yet.
            taken = self.allocate[older]
            warps |= Mux(self.new_warp[older] == warp, taken, 0)
            ports |= Mux(self.new_port[older] == port, taken, 0)
        m.d.comb += [same_warp.eq(warps), same_port.eq(ports)]
        return same_warp, same_port
