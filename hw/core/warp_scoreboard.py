"""The scoreboard of one warp: which of its registers have a result to come."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import CoreConfig
from ..shared_block import SharedBlock
from .layouts import OPERANDS, REGISTER_WIDTH, REGISTERS
from .operations import Port

__all__ = ["UNDER_WAY", "WarpScoreboard", "needs_layout", "releases"]

#: Instructions of a warp that may be under way before it has to wait; a power of two.
UNDER_WAY = 64


def needs_layout() -> data.StructLayout:
    """Layout of what an instruction needs: a part of `decoded_layout`."""
    return data.StructLayout({
        "port": Port,
        "rd": REGISTER_WIDTH,
        "writes": 1,
        "sources": data.ArrayLayout(REGISTER_WIDTH, OPERANDS),
        "reads": OPERANDS,
    })


def releases(config: CoreConfig) -> int:
    """Return how many results per cycle can be announced before they are written."""
    return 5 if config.snoop else 0


class WarpScoreboard(SharedBlock):
    """For each register of a warp: `pending` (a result will be written), `blocked` (not soon).

    An instruction has a hazard if a source is blocked, or its destination pending, unless it
    reads that: then it waits for the older result, and cannot be written before. Such a register
    has two results to come. What is claimed in one cycle is pending and blocked from the next on;
    what is released is not blocked from the next cycle on, what is written for the last time
    neither pending nor blocked. Without `CoreConfig.snoop` blocked is pending. All registers
    named are one-hot in 64 bits.

    Members
    -------
    needs : In(ArrayLayout(needs_layout(), issue_width))
        Ports and registers of the next instructions.
    hazard : Out(issue_width)
        Which of them must wait for registers; the second also for the first, on whose result or
        port it depends.
    memory : Out(1)
        Among those the first waits for there is one whose producer is a load.
    pending : Out(ArrayLayout(3, issue_width))
        Sources that are pending, be they written in this cycle.
    issued : In(range(issue_width + 1))
        Instructions of this warp issued in this cycle.
    claimed, loaded : In(64)
        Destinations of what is issued, if `issued`; those among them that are loaded.
    release, released : In(releases), In(ArrayLayout(64, releases))
        Results announced, each if its bit of `release` is set.
    done, written : In(writeback_buses), In(ArrayLayout(64, writeback_buses))
        Instructions done in this cycle, and what they write, perhaps nothing.
    drained : Out(1)
        Nothing is under way.
    crowded : Out(1)
        So much is under way that nothing may be issued.
    """

    needs: data.View
    hazard: Signal
    memory: Signal
    pending: data.View
    issued: Signal
    claimed: Signal
    loaded: Signal
    release: Signal
    released: data.View
    done: Signal
    written: data.View
    drained: Signal
    crowded: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        width, buses = config.issue_width, config.writeback_buses
        super().__init__({
            "needs": In(data.ArrayLayout(needs_layout(), width)),
            "hazard": Out(width),
            "memory": Out(1),
            "pending": Out(data.ArrayLayout(OPERANDS, width)),
            "issued": In(range(width + 1)),
            "claimed": In(REGISTERS),
            "loaded": In(REGISTERS),
            "release": In(releases(config)),
            "released": In(data.ArrayLayout(REGISTERS, releases(config))),
            "done": In(buses),
            "written": In(data.ArrayLayout(REGISTERS, buses)),
            "drained": Out(1),
            "crowded": Out(1),
        })

    def build(self, platform):
        m = Module()
        pending = Signal(REGISTERS)
        remaining = Signal(REGISTERS)  # pending, without what is written in this cycle
        claimed = Signal(REGISTERS)
        written = Signal(REGISTERS)
        m.d.comb += [
            written.eq(gated(self.done, self.written)),
            claimed.eq(self.claimed & self.issued.any().replicate(REGISTERS)),
        ]
        m.d.sync += pending.eq(remaining | claimed)
        if self.config.snoop:
            twice = Signal(REGISTERS)  # two results are to come
            blocked = Signal(REGISTERS)  # the last result to come is not near
            m.d.comb += remaining.eq(pending & ~(written & ~twice))
            # While there are two, only the first of them can announce itself.
            released = gated(self.release, self.released) & ~twice
            m.d.sync += [
                twice.eq((twice & ~written) | (claimed & remaining)),
                blocked.eq((blocked & remaining & ~released) | claimed),
            ]
        else:
            blocked = pending
            m.d.comb += remaining.eq(pending & ~written)
        loaded = Signal(REGISTERS, reset_less=True)
        with m.If(self.issued.any()):
            m.d.sync += loaded.eq((loaded & ~self.claimed) | self.loaded)
        self.look_up(m, pending, blocked, loaded)
        self.count(m, platform)
        return m

    def look_up(self, m: Module, pending, blocked, loaded):
        """Find what the next instructions wait for."""
        for slot in range(self.config.issue_width):
            needs = self.needs[slot]
            waits = [
                needs.reads[k] & blocked.bit_select(needs.sources[k], 1) for k in range(OPERANDS)
            ]
            overtakes = needs.writes & pending.bit_select(needs.rd, 1)
            if self.config.snoop:
                overtakes &= ~Cat(reads_own(needs)).any()
            waits.append(overtakes)
            if slot == 1:
                waits.append(depends(self.needs[0], needs))
            m.d.comb += self.hazard[slot].eq(Cat(waits).any())
            if slot == 0:
                registers = [*(needs.sources[k] for k in range(OPERANDS)), needs.rd]
                loads = Cat(loaded.bit_select(register, 1) for register in registers)
                m.d.comb += self.memory.eq((Cat(waits) & loads).any())
            if self.config.snoop:
                m.d.comb += self.pending[slot].eq(
                    needs.reads & Cat(pending.bit_select(needs.sources[k], 1) for k in range(3))
                )

    def count(self, m: Module, platform):
        """Count what is under way."""
        under_way = Signal(range(2 * UNDER_WAY))
        done = sum(self.done[bus] for bus in range(self.config.writeback_buses))
        m.d.sync += under_way.eq(under_way + self.issued - done)
        if platform is None:
            m.d.sync += Assert(under_way >= done, "more instructions are done than were issued")
        m.d.comb += [self.drained.eq(under_way == 0), self.crowded.eq(under_way[-1])]


def reads_own(needs) -> list[Value]:
    """Return for each operand whether it is the destination."""
    return [needs.reads[k] & (needs.sources[k] == needs.rd) for k in range(OPERANDS)]


def depends(first, second) -> Value:
    """Return whether `second` cannot be issued in the same cycle as `first`, its elder."""
    touches = Cat(
        second.writes & (second.rd == first.rd),
        *(second.reads[k] & (second.sources[k] == first.rd) for k in range(OPERANDS)),
    )
    return (first.port == second.port) | (first.writes & touches.any())


def gated(enables: Value, masks) -> Value:
    """Return the masks whose enable is set, joined."""
    joined = Const(0, REGISTERS)
    for number in range(len(enables)):
        joined = joined | (masks[number] & enables[number].replicate(REGISTERS))
    return joined
