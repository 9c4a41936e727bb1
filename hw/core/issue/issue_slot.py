"""Issue slot: an issued instruction between the issue stage and the collectors."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.execution_unit import OPERANDS
from ..layouts import issue_layout
from .scoreboard_events import done_layout

__all__ = ["EntrySignature", "IssueSlot"]


class EntrySignature(wiring.Signature):
    """Entry of an issued instruction into its slot.

    Members
    -------
    enter, issue : Out(1), Out(issue_layout(config))
        Accepts an instruction; only if `free`.
    free : In(1)
        Empty from the next cycle on.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({"enter": Out(1), "issue": Out(issue_layout(config)), "free": In(1)})


class IssueSlot(SharedBlock):
    """Issue slot: holds an instruction until collectors accept it, and tracks its operands.

    Latency 1 cycle; one instruction per cycle. An instruction with register groups is offered as
    its micro-operations, one per cycle, without other instructions in between; none of its
    registers may be pending. A source is `pending` in `o` until its result is on
    a bus. Results of this cycle and of the cycle in which the instruction entered clear it as
    well, so a collector waits only for results after its allocation.

    Members
    -------
    entry : In(EntrySignature(config))
    o : Out(stream.Signature(issue_layout(config)))
    written : In(ArrayLayout(done_layout(config), writeback_buses))
        Instructions written in this cycle.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "entry": In(EntrySignature(config)),
            "o": Out(stream.Signature(issue_layout(config))),
            "written": In(data.ArrayLayout(done_layout(config), config.writeback_buses)),
        })

    def build(self, platform):
        m = Module()
        held = Signal(issue_layout(self.config), reset_less=True)
        m.d.comb += [
            self.entry.free.eq(~self.o.valid | self.leaves(held)),
            Value.cast(self.o.payload).eq(held),
        ]
        if self.config.group_sizes:
            self.expand(m, held)
        if self.config.snoop:
            m.d.comb += self.o.payload.pending.eq(held.pending & ~self.appear(held))
            m.d.sync += held.pending.eq(self.o.payload.pending)
        with m.If(self.entry.free):
            m.d.sync += [self.o.valid.eq(self.entry.enter), held.eq(self.entry.issue)]
            if self.config.snoop:
                issue = self.entry.issue
                m.d.sync += held.pending.eq(issue.pending & ~self.appear(issue))
        return m

    def leaves(self, held: data.View) -> Value:
        """Return whether the instruction, or its last micro-operation, is accepted if offered."""
        is_accepted = self.o.ready
        if self.config.group_sizes:
            is_accepted = is_accepted & (held.beat == held.instruction.last)
        return is_accepted

    def expand(self, m: Module, held: data.View):
        """Offer the micro-operations of an instruction with register groups one after the other."""
        instruction, offered = held.instruction, self.o.payload.instruction
        offsets = [Mux(grouped, held.beat, 0) for grouped in instruction.grouped]
        m.d.comb += [
            offered.rd.eq(instruction.rd | offsets[0]),
            *(
                offered.sources[k].eq(instruction.sources[k] | offsets[1 + k])
                for k in range(OPERANDS)
            ),
            # Single operands are read by the first micro-operation only.
            offered.reads.eq(
                instruction.reads & (instruction.grouped[1:] | ~held.beat.any().replicate(OPERANDS))
            ),
            # A single result is that of the last micro-operation.
            offered.writes.eq(
                instruction.writes & (instruction.grouped[0] | (held.beat == instruction.last))
            ),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += held.beat.eq(held.beat + 1)

    def appear(self, held: data.View) -> Value:
        """Return the sources whose result is on a bus in this cycle."""
        appears = Const(0, OPERANDS)
        for number in range(self.config.writeback_buses):
            done = self.written[number]
            seen = Cat(done.valid, done.writes, done.warp, done.rd)
            sources = [held.instruction.sources[k] for k in range(OPERANDS)]
            names = [Cat(C(3, 2), held.warp, source) for source in sources]
            appears = appears | Cat(seen == name for name in names)
        return appears
