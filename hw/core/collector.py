"""One collector: holds an instruction while its operands come from the banks or the buses."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ..config import CoreConfig
from ..lib.interfaces.core_memory import warp_shape
from ..memory.arbiter import lowest, select
from ..shared_block import SharedBlock
from ..streams import ResponseSignature
from .layouts import OPERANDS, issue_layout, operation_layout, read_layout, result_layout
from .operations import Port
from .register_map import request_layout

__all__ = ["Collector"]

#: Fields that pass from the decoded instruction to the operation as they are.
PASSED = ("pc", "operation", "rd", "writes", "immediate", "rounding", "a_is_pc", "b_is_immediate")


class Collector(SharedBlock):
    """Gathers the operands of one instruction, at most one from the banks per cycle.

    An instruction allocated in cycle 0 asks for its first operand in cycle 1. What is granted in
    one cycle is answered in the next, and `operation` has it in that very cycle; what a bus shows
    in one cycle `operation` has in the next. `complete` is high one cycle ahead, when all
    operands will be in `operation`; the operation then stays until the collector is told that it
    `leaves`, in which cycle the next instruction may be allocated.

    =====  =====================  ==========================================
    cycle  three operands (bank)  one operand, on a bus in cycle 4
    =====  =====================  ==========================================
    0      allocate               allocate
    1-3    request 0, 1, 2        watches the buses
    3      complete
    4      operation              the bus has it: complete
    5                             operation
    =====  =====================  ==========================================

    An operand that is pending when the instruction is allocated is taken from the bus that shows
    its warp and register, if that result covers all threads of the instruction; otherwise it is
    asked of the banks from the next cycle on. Without `CoreConfig.snoop` buses are not watched
    and nothing may be pending.

    Members
    -------
    allocate : In(1), issue : In(issue_layout(config))
        Take an instruction. `pending` is that of this cycle: a result on a bus in this cycle is
        not pending any more.
    request : Out(stream.Signature(request_layout(config)))
        A register to read; stays until granted.
    data : In(ResponseSignature(read_layout(config)))
        One cycle after the grant; where banks are a word wide, in parts, of which the last comes
        one cycle after the request was accepted, and earlier ones while it waited.
    bus : In(ResponseSignature(result_layout(config))).array(writeback_buses)
        Results that are written in this cycle.
    leaves : In(1)
        The operation is accepted in this cycle.
    occupied, gathers, complete : Out(1)
        Has an instruction; some of whose operands will not be in `operation` in the next cycle;
        all of whose operands will be.
    warp : Out, port : Out(len(Port))
        Of the instruction, the port one-hot.
    operation : Out(operation_layout(config))
    snooped : Out(2)
        Operands taken from buses in this cycle.
    """

    allocate: Signal
    issue: Any
    request: stream.Interface
    data: Any
    bus: list
    leaves: Signal
    occupied: Signal
    gathers: Signal
    complete: Signal
    warp: Signal
    port: Signal
    operation: Any
    snooped: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__({
            "allocate": In(1),
            "issue": In(issue_layout(config)),
            "request": Out(stream.Signature(request_layout(config))),
            "data": In(ResponseSignature(read_layout(config))),
            "bus": In(ResponseSignature(result_layout(config))).array(config.writeback_buses),
            "leaves": In(1),
            "occupied": Out(1),
            "gathers": Out(1),
            "complete": Out(1),
            "warp": Out(warp_shape(config)),
            "port": Out(len(Port)),
            "operation": Out(operation_layout(config)),
            "snooped": Out(2),
        })

    def build(self, platform):
        m = Module()
        held = self.hold_instruction(m)
        wanted = Signal(OPERANDS)  # to be asked of the banks
        waiting = Signal(OPERANDS)  # to come over a bus
        asked = Signal(OPERANDS, reset_less=True)  # whose answer there may be in this cycle
        again = Signal(OPERANDS)  # refused in the last cycle: the request must not change
        asks, left = Signal(OPERANDS), Signal(OPERANDS)
        granted = (self.request.valid & self.request.ready).replicate(OPERANDS)
        takes, shown = self.watch_buses(m, held, waiting)
        taken, unseen = Signal(OPERANDS), Signal(OPERANDS)
        m.d.comb += [
            again.eq(asked & wanted),
            asks.eq(Mux(again.any(), again, lowest(wanted))),
            taken.eq(reduce(or_, takes, C(0))),
            unseen.eq(waiting & ~shown),
            left.eq((wanted & ~(asks & granted)) | (waiting & ~taken)),
            self.request.valid.eq(wanted.any()),
            self.request.payload.warp.eq(held.warp),
            self.request.payload.register.eq(select(asks, [*held.sources])),
            self.request.payload.mask.eq(held.mask),
            self.gathers.eq(left.any()),
            self.complete.eq(self.occupied & ~self.gathers),
            self.snooped.eq(sum(taken[k] for k in range(OPERANDS))),
        ]
        reads, pending = self.issue.instruction.reads, self.issue.pending
        if not self.config.snoop:
            pending = C(0, OPERANDS)
        # What a bus shows to fewer threads than read it is in the banks from the next cycle on.
        m.d.sync += [asked.eq(asks), wanted.eq(left & ~unseen), waiting.eq(unseen)]
        with m.If(self.leaves):
            m.d.sync += self.occupied.eq(0)
        with m.If(self.allocate):
            m.d.sync += [
                self.occupied.eq(1),
                wanted.eq(reads & ~pending),
                waiting.eq(reads & pending),
            ]
        self.keep_operands(m, asked, takes)
        return m

    def hold_instruction(self, m: Module):
        """Keep what is known of the instruction when it is allocated; return it."""
        operation = self.operation.shape().members
        layout = data.StructLayout({
            "warp": warp_shape(self.config),
            "mask": self.config.threads,
            "port": len(Port),
            "sources": self.issue.instruction.sources.shape(),
            **{name: operation[name] for name in PASSED},
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
            ]
        m.d.comb += [
            self.warp.eq(held.warp),
            self.port.eq(held.port),
            self.operation.warp.eq(held.warp),
            self.operation.mask.eq(held.mask),
            *(self.operation[name].eq(held[name]) for name in PASSED),
        ]
        return held

    def watch_buses(self, m: Module, held, waiting: Value) -> tuple[list[Signal], Value]:
        """Return which operands to take from each bus, and which any bus shows."""
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
            # Whether it is written in this cycle is known later than what it is.
            m.d.comb += [
                named.eq(Cat(name == watched for watched in names) & waiting),
                hit.eq(named & bus.valid.replicate(OPERANDS)),
                take.eq((named & covers.replicate(OPERANDS)) & bus.valid.replicate(OPERANDS)),
            ]
            hits.append(hit)
            takes.append(take)
        return takes, reduce(or_, hits)

    def keep_operands(self, m: Module, asked: Value, takes: list[Signal]):
        """Operands pass from the banks to `operation`, from the buses through a register."""
        answer = self.data.payload
        arrives = Signal(OPERANDS)
        m.d.comb += arrives.eq(asked & self.data.valid.replicate(OPERANDS))
        answered = Cat(answer.mask[t].replicate(32) for t in range(self.config.threads))
        values = Value.cast(answer.values)
        for k in range(OPERANDS):
            kept = Signal(len(values), name=f"operand_{k}", reset_less=True)
            merged = values
            if self.config.bank_mapping == "thread":
                merged = (values & answered) | (kept & ~answered)
            operand = Value.cast(self.operation.operands[k])
            m.d.comb += operand.eq(Mux(arrives[k], merged, kept))
            with m.If(self.allocate):
                m.d.sync += kept.eq(0)  # what is not read is 0
            for bus, take in zip(self.bus, takes, strict=False):
                with m.Elif(take[k]):
                    m.d.sync += kept.eq(Value.cast(bus.payload.values))
            with m.Elif(arrives[k]):
                m.d.sync += kept.eq(merged)
