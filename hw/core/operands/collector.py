"""Operand collector: holds an instruction while it reads its operands."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.operations import PORTS
from ...lib.interfaces.core_memory import warp_shape
from ...lib.interfaces.execution_unit import OPERANDS, beat_field, result_layout
from ...lib.one_hot import lowest, select
from ...lib.streams import ResponseSignature
from ..layouts import issue_layout, read_layout
from .collector_signatures import CollectedSignature, HeldInstructionSignature
from .register_map import request_layout

__all__ = ["Collector"]

#: Fields copied unchanged from the decoded instruction to the operation.
PASSED = ("pc", "operation", "rd", "writes", "immediate", "rounding", "a_is_pc", "b_is_immediate")


class Collector(SharedBlock):
    """Operand collector: reads the operands of one instruction, at most one per cycle from banks.

    An instruction allocated in cycle 0 requests its first operand in cycle 1. A request granted
    in one cycle is answered in the next, and `operation` holds the operand in that same cycle. A
    bus result of one cycle is in `operation` in the next. `complete` is high one cycle before all
    operands are in `operation`. The operation then stays until `leaves`; the next instruction may
    be allocated in that cycle.

    =====  =====================  ==========================================
    cycle  three operands (bank)  one operand, on a bus in cycle 4
    =====  =====================  ==========================================
    0      allocate               allocate
    1-3    request 0, 1, 2        snoops the buses
    3      complete
    4      operation              result on the bus: complete
    5                             operation
    =====  =====================  ==========================================

    An operand that is pending at allocation is taken from the bus that carries its warp and
    register, if that result covers all threads of the instruction. Otherwise it is requested from
    the banks from the next cycle on. Without `PipelineConfig.snoop` the collector ignores the
    buses, and no operand may be pending.

    Members
    -------
    allocate : In(1), issue : In(issue_layout(config))
        Accepts an instruction. `pending` applies to this cycle: a result on a bus in this cycle
        is no longer pending.
    request : Out(stream.Signature(request_layout(config)))
        Register to read; held until granted.
    data : In(ResponseSignature(read_layout(config)))
        One cycle after the grant. With word-wide banks the data arrives in parts: the last one
        cycle after the request was accepted, earlier ones while it waited.
    bus : In(ResponseSignature(result_layout(config))).array(writeback_buses)
        Results written in this cycle.
    held : Out(HeldInstructionSignature(config))
    collected : Out(CollectedSignature(config))
    snooped : Out(2)
        Operands taken from buses in this cycle.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "allocate": In(1),
            "issue": In(issue_layout(config)),
            "request": Out(stream.Signature(request_layout(config))),
            "data": In(ResponseSignature(read_layout(config))),
            "bus": In(ResponseSignature(result_layout(config))).array(config.writeback_buses),
            "held": Out(HeldInstructionSignature(config)),
            "collected": Out(CollectedSignature(config)),
            "snooped": Out(2),
        })

    def build(self, platform):
        m = Module()
        held = self.hold_instruction(m)
        unread = Signal(OPERANDS)  # still to be requested from the banks
        waiting = Signal(OPERANDS)  # pending: expected on a bus
        requested = Signal(OPERANDS, reset_less=True)  # requested in the last cycle
        again = Signal(OPERANDS)  # refused in the last cycle: the request must not change
        requests, left = Signal(OPERANDS), Signal(OPERANDS)
        granted = (self.request.valid & self.request.ready).replicate(OPERANDS)
        takes, shown = self.watch_buses(m, held, waiting)
        from_bus, unseen = Signal(OPERANDS), Signal(OPERANDS)
        m.d.comb += [
            again.eq(requested & unread),
            requests.eq(Mux(again.any(), again, lowest(unread))),
            from_bus.eq(reduce(or_, takes, C(0))),
            unseen.eq(waiting & ~shown),
            left.eq((unread & ~(requests & granted)) | (waiting & ~from_bus)),
            self.request.valid.eq(unread.any()),
            self.request.payload.warp.eq(held.warp),
            self.request.payload.register.eq(select(requests, [*held.sources])),
            self.request.payload.mask.eq(self.read_mask(held)),
            self.held.gathers.eq(left.any()),
            self.collected.complete.eq(self.held.occupied & ~self.held.gathers),
            self.snooped.eq(sum(from_bus[k] for k in range(OPERANDS))),
        ]
        reads, pending = self.issue.instruction.reads, self.issue.pending
        if not self.config.snoop:
            pending = C(0, OPERANDS)
        # A result for fewer threads than read it can be read from the banks from the next cycle on.
        m.d.sync += [requested.eq(requests), unread.eq(left & ~unseen), waiting.eq(unseen)]
        with m.If(self.collected.leaves):
            m.d.sync += self.held.occupied.eq(0)
        with m.If(self.allocate):
            m.d.sync += [
                self.held.occupied.eq(1),
                unread.eq(reads & ~pending),
                waiting.eq(reads & pending),
            ]
        self.keep_operands(m, requested, takes)
        return m

    def read_mask(self, held: data.View) -> Value:
        """Return the threads whose operands are read."""
        mask = held.mask
        for number, port in enumerate(self.config.ports):
            if PORTS[port].reads_all:
                mask = mask | held.port[number].replicate(self.config.threads)
        return mask

    def hold_instruction(self, m: Module):
        """Store the fields known at allocation; return them."""
        operation = self.collected.operation.shape().members
        layout = data.StructLayout({
            "warp": warp_shape(self.config),
            "mask": self.config.threads,
            "port": len(self.config.ports),
            "sources": self.issue.instruction.sources.shape(),
            **{name: operation[name] for name in PASSED},
            **beat_field(self.config),
        })
        held = Signal(layout, reset_less=True)
        instruction = self.issue.instruction
        with m.If(self.allocate):
            m.d.sync += [
                held.warp.eq(self.issue.warp),
                held.mask.eq(self.issue.mask),
                held.port.eq(1 << Value.cast(instruction.port)),
                held.sources.eq(instruction.sources),
                *(held[name].eq(instruction[name]) for name in PASSED),
                *(held[name].eq(self.issue[name]) for name in beat_field(self.config)),
            ]
        m.d.comb += [
            self.held.warp.eq(held.warp),
            self.held.port.eq(held.port),
            self.collected.operation.warp.eq(held.warp),
            self.collected.operation.mask.eq(held.mask),
            *(
                self.collected.operation[name].eq(held[name])
                for name in (*PASSED, *beat_field(self.config))
            ),
        ]
        return held

    def watch_buses(self, m: Module, held: data.View, waiting: Value) -> tuple[list[Signal], Value]:
        """Return the operands to take from each bus, and the operands present on any bus."""
        takes, hits = [], []
        if not self.config.snoop:
            return takes, C(0, OPERANDS)
        for number, bus in enumerate(self.bus):
            result = bus.payload
            named = Signal(OPERANDS, name=f"named_{number}")
            hit = Signal(OPERANDS, name=f"hit_{number}")
            take = Signal(OPERANDS, name=f"take_{number}")
            covers = ~(held.mask & ~result.mask).any()
            name = Cat(result.warp, result.rd, result.writes)
            names = [Cat(held.warp, source, 1) for source in held.sources]
            # `bus.valid` arrives later than the payload, so the match is computed first.
            m.d.comb += [
                named.eq(Cat(name == watched for watched in names) & waiting),
                hit.eq(named & bus.valid.replicate(OPERANDS)),
                take.eq((named & covers.replicate(OPERANDS)) & bus.valid.replicate(OPERANDS)),
            ]
            hits.append(hit)
            takes.append(take)
        return takes, reduce(or_, hits)

    def keep_operands(self, m: Module, requested: Value, takes: list[Signal]):
        """Drive operands from banks directly into `operation`, from buses through a register."""
        answer = self.data.payload
        arrives = Signal(OPERANDS)
        m.d.comb += arrives.eq(requested & self.data.valid.replicate(OPERANDS))
        answered = Cat(answer.mask[t].replicate(32) for t in range(self.config.threads))
        values = Value.cast(answer.values)
        for k in range(OPERANDS):
            stored = Signal(len(values), name=f"operand_{k}", reset_less=True)
            merged = values
            if self.config.bank_mapping == "thread":
                merged = (values & answered) | (stored & ~answered)
            operand = Value.cast(self.collected.operation.operands[k])
            m.d.comb += operand.eq(Mux(arrives[k], merged, stored))
            with m.If(self.allocate):
                m.d.sync += stored.eq(0)  # unread operands are 0
            for bus, take in zip(self.bus, takes, strict=False):
                with m.Elif(take[k]):
                    m.d.sync += stored.eq(Value.cast(bus.payload.values))
            with m.Elif(arrives[k]):
                m.d.sync += stored.eq(merged)
