"""Scoreboard of one warp: registers with an outstanding result."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.operations import Latency, Port, ports_with
from ...lib.interfaces.execution_unit import OPERANDS, REGISTER_WIDTH, REGISTERS
from ...lib.one_hot import ones
from ..layouts import group_fields

__all__ = [
    "FIXED_PORTS",
    "UNDER_WAY",
    "VARIABLE_PORTS",
    "HazardSignature",
    "RegisterEventsSignature",
    "WarpScoreboard",
    "issued_shape",
    "needs_layout",
    "releases",
]

#: Ports with a fixed time from dispatch to result, and ports that announce their results.
FIXED_PORTS = ports_with(Latency.FIXED)
VARIABLE_PORTS = ports_with(Latency.ANNOUNCED)
#: Instructions of a warp that may be in flight before it stalls; a power of two.
UNDER_WAY = 64


def needs_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the registers and port of an instruction: a part of `decoded_layout`."""
    return data.StructLayout({
        "port": Port,
        "rd": REGISTER_WIDTH,
        "writes": 1,
        "sources": data.ArrayLayout(REGISTER_WIDTH, OPERANDS),
        "reads": OPERANDS,
        **group_fields(config),
    })


def releases(config: PipelineConfig) -> int:
    """Return the number of results per cycle that can be announced before they are written."""
    return len(FIXED_PORTS) + len(VARIABLE_PORTS) if config.snoop else 0


def issued_shape(config: PipelineConfig) -> range:
    """Return the shape of the number of results of the instructions issued in a cycle."""
    return range(max(config.issue_width, *config.group_sizes, 1) + 1)


class RegisterEventsSignature(wiring.Signature):
    """Events of a warp's registers.

    Members
    -------
    issued : Out(issued_shape(config))
        Results of the instructions of this warp issued in this cycle: one for each instruction, or
        for each register of its destination group.
    claimed, loaded : Out(64)
        Destinations of issued instructions, if `issued`; and those of loads among them.
    release, released : Out(releases), Out(ArrayLayout(64, releases))
        Announced results, each valid with its bit of `release`.
    done, written : Out(writeback_buses), Out(ArrayLayout(64, writeback_buses))
        Instructions that complete in this cycle, and their written registers, if any.
    """

    def __init__(self, config: PipelineConfig):
        buses = config.writeback_buses
        super().__init__({
            "issued": Out(issued_shape(config)),
            "claimed": Out(REGISTERS),
            "loaded": Out(REGISTERS),
            "release": Out(releases(config)),
            "released": Out(data.ArrayLayout(REGISTERS, releases(config))),
            "done": Out(buses),
            "written": Out(data.ArrayLayout(REGISTERS, buses)),
        })


class HazardSignature(wiring.Signature):
    """Hazards of a warp's next instructions, and its instructions in flight.

    Members
    -------
    hazard : Out(issue_width)
        Instructions with a register hazard; the second also if it depends on the result or the
        port of the first.
    memory : Out(1)
        A hazard of the first instruction is on the destination of a load.
    pending : Out(ArrayLayout(3, issue_width))
        Pending sources, including those written in this cycle.
    drained : Out(1)
        Nothing is in flight.
    settled : Out(1)
        With ``hgmma``: nothing but products is in flight. It may follow a cycle late.
    crowded : Out(1)
        Too much is in flight to issue.
    """

    def __init__(self, config: PipelineConfig):
        settled = {"settled": Out(1)} if config.awaits_products else {}
        super().__init__({
            **settled,
            "hazard": Out(config.issue_width),
            "memory": Out(1),
            "pending": Out(data.ArrayLayout(OPERANDS, config.issue_width)),
            "drained": Out(1),
            "crowded": Out(1),
        })


class WarpScoreboard(SharedBlock):
    """Scoreboard of one warp: registers `pending` (a result is outstanding), `blocked` (not soon).

    An instruction has a hazard if a source is blocked or its destination is pending. Exception: if
    it reads its destination, it waits for the older result anyway and cannot be written before it.
    Such a register has two outstanding results. A claimed register is pending and blocked from the
    next cycle on. A released one is not blocked from the next cycle on; after its last write it is
    neither. Without `PipelineConfig.snoop`, blocked equals pending. Register masks have 64 bits.

    An instruction with register groups has a hazard if any of their registers is pending. It never
    issues together with another one.

    Members
    -------
    needs : In(ArrayLayout(needs_layout(config), issue_width))
        Ports and registers of the next instructions.
    events : In(RegisterEventsSignature(config))
    hazards : Out(HazardSignature(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "needs": In(data.ArrayLayout(needs_layout(config), config.issue_width)),
            "events": In(RegisterEventsSignature(config)),
            "hazards": Out(HazardSignature(config)),
        })

    def build(self, platform):
        m = Module()
        pending = Signal(REGISTERS)
        remaining = Signal(REGISTERS)  # pending, without those written in this cycle
        claimed = Signal(REGISTERS)
        written = Signal(REGISTERS)
        m.d.comb += [
            written.eq(gated(self.events.done, self.events.written)),
            claimed.eq(self.events.claimed & self.events.issued.any().replicate(REGISTERS)),
        ]
        m.d.sync += pending.eq(remaining | claimed)
        if self.config.snoop:
            twice = Signal(REGISTERS)  # two results are outstanding
            blocked = Signal(REGISTERS)  # the last outstanding result is not near
            m.d.comb += remaining.eq(pending & ~(written & ~twice))
            # Of two outstanding results, only the first can be announced.
            released = gated(self.events.release, self.events.released) & ~twice
            m.d.sync += [
                twice.eq((twice & ~written) | (claimed & remaining)),
                blocked.eq((blocked & remaining & ~released) | claimed),
            ]
        else:
            blocked = pending
            m.d.comb += remaining.eq(pending & ~written)
        loaded = Signal(REGISTERS, reset_less=True)
        with m.If(self.events.issued.any()):
            m.d.sync += loaded.eq((loaded & ~self.events.claimed) | self.events.loaded)
        self.find_hazards(m, pending, blocked, loaded)
        self.count(m, platform)
        return m

    def find_hazards(self, m: Module, pending: Value, blocked: Value, loaded: Value):
        """Compute the hazards of the next instructions."""
        sizes = self.config.group_sizes
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
            if sizes:
                waits.append(touches_groups(needs, pending, sizes))
            m.d.comb += self.hazards.hazard[slot].eq(Cat(waits).any())
            if slot == 0:
                registers = [*(needs.sources[k] for k in range(OPERANDS)), needs.rd]
                loads = [loaded.bit_select(register, 1) for register in registers]
                if sizes:
                    loads.append(touches_groups(needs, pending & loaded, sizes))
                m.d.comb += self.hazards.memory.eq((Cat(waits) & Cat(loads)).any())
            if self.config.snoop:
                m.d.comb += self.hazards.pending[slot].eq(
                    needs.reads & Cat(pending.bit_select(needs.sources[k], 1) for k in range(3))
                )

    def count(self, m: Module, platform):
        """Count the instructions in flight."""
        under_way = Signal(range(2 * UNDER_WAY))
        done = sum(self.events.done[bus] for bus in range(self.config.writeback_buses))
        m.d.sync += under_way.eq(under_way + self.events.issued - done)
        if platform is None:
            m.d.sync += Assert(under_way >= done, "more instructions completed than were issued")
        m.d.comb += [
            self.hazards.drained.eq(under_way == 0),
            self.hazards.crowded.eq(under_way[-1]),
        ]
        if self.config.awaits_products:
            self.follow_products(m, under_way)

    def follow_products(self, m: Module, under_way: Value):
        """Find out whether only products are in flight, from the state of the previous cycle.

        A product has the upper half of the registers for itself, each until it is written.
        """
        half = REGISTERS // 2
        awaited = Signal(half)  # registers with an outstanding result of a product
        begins = self.events.issued == half
        written = gated(self.events.done, self.events.written)[half:]
        m.d.sync += [
            awaited.eq((awaited & ~written) | begins.replicate(half)),
            self.hazards.settled.eq((under_way == ones(awaited)) & ~self.events.issued.any()),
        ]


def reads_own(needs: data.View) -> list[Value]:
    """Return for each operand whether it is the destination."""
    return [needs.reads[k] & (needs.sources[k] == needs.rd) for k in range(OPERANDS)]


def depends(first: data.View, second: data.View) -> Value:
    """Return 1 if `second` cannot issue in the same cycle as `first`, the older one."""
    touches = Cat(
        second.writes & (second.rd == first.rd),
        *(second.reads[k] & (second.sources[k] == first.rd) for k in range(OPERANDS)),
    )
    depend = (first.port == second.port) | (first.writes & touches.any())
    if "last" in first.shape().members:
        depend |= first.last.any() | second.last.any()
    return depend


def touches_groups(needs: data.View, registers: Value, sizes: list[int]) -> Value:
    """Return 1 if an instruction with groups reads or writes a register of this mask."""
    touched = []
    for k, number in enumerate((needs.rd, *(needs.sources[k] for k in range(OPERANDS)))):
        is_used = needs.writes if k == 0 else needs.reads[k - 1]
        single = ~needs.grouped[k] & registers.bit_select(number, 1)
        groups = [
            (needs.last == size - 1)
            & Cat(
                registers[first : first + size].any() for first in range(0, REGISTERS, size)
            ).bit_select(number[exact_log2(size) :], 1)
            for size in sizes
        ]
        touched.append(is_used & (single | (needs.grouped[k] & Cat(groups).any())))
    return needs.last.any() & Cat(touched).any()


def gated(enables: Value, masks: Sequence[Value]) -> Value:
    """Return the union of the masks with their enable set."""
    joined = Const(0, REGISTERS)
    for number in range(len(enables)):
        joined = joined | (masks[number] & enables[number].replicate(REGISTERS))
    return joined
