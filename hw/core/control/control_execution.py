"""Execution of control instructions: their state changes, result, redirect or fault."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import CoreBlockConfig
from ...emit.component import Component
from ...isa.csr import CSRS
from ...isa.operations import ControlOperation
from ...lib.interfaces.execution_unit import operation_layout, result_layout
from ..csr_signatures import CsrSignature
from .barrier import BarrierArrivalSignature
from .control_effects import EffectsSignature
from .control_operand import CSR_WIDTH, control_layout, reduce_operands
from .divergence_stack import StackChange, StackSignature
from .redirects import ControlOutcomeSignature
from .wait_table import WaitArrivalSignature
from .warp_table import MaskChangeSignature, ThreadMasksSignature

__all__ = ["ControlExecution"]


class ControlExecution(Component):
    """Execution of control instructions, one every two cycles, in order; see `WarpControl`.

    | cycle | event                                                                    |
    |-------|--------------------------------------------------------------------------|
    | 0     | accepted on `i`; the warp's stack and registers are looked up            |
    | 1     | executed: drives all changes, unless it stalls                           |
    | 2     | result on `o`                                                            |

    Parameters
    ----------
    config : CoreBlockConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config.core)))
    o : Out(stream.Signature(result_layout(config.core)))
    effects : Out(EffectsSignature(config.core))
    masks : In(ThreadMasksSignature(config.core))
        Instructions of inactive warps are dropped.
    change : Out(MaskChangeSignature(config.core))
    stack : Out(StackSignature(config.core))
    registers : Out(CsrSignature(config.core))
    arrival : Out(BarrierArrivalSignature(config.core))
    outcome : Out(ControlOutcomeSignature(config.core))
    command : Out(stream.Signature(32))
        Command words for the cluster's matrix units.
    exit_code : Out(32)
    invalidate, invalidate_data : Out(1)
        A fence of instructions, or of data, takes effect.
    divergent_split : Out(1)
    wait : Out(WaitArrivalSignature(config.core))
        In cores that await units.
    product, started : In(warps)
        In cores that await products: a product of this warp begins, one-hot; warps that start.
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        self.shape = shape = config.core
        product = {"product": In(shape.warps), "started": In(shape.warps)}
        wait = {"wait": Out(WaitArrivalSignature(shape))} if shape.awaits_units else {}
        super().__init__({
            **(product if shape.awaits_products else {}),
            **wait,
            "i": In(stream.Signature(operation_layout(shape))),
            "o": Out(stream.Signature(result_layout(shape))),
            "effects": Out(EffectsSignature(shape)),
            "masks": In(ThreadMasksSignature(shape)),
            "change": Out(MaskChangeSignature(shape)),
            "stack": Out(StackSignature(shape)),
            "registers": Out(CsrSignature(shape)),
            "arrival": Out(BarrierArrivalSignature(shape)),
            "outcome": Out(ControlOutcomeSignature(shape)),
            "command": Out(stream.Signature(32)),
            "exit_code": Out(32),
            "invalidate": Out(1),
            "invalidate_data": Out(1),
            "divergent_split": Out(1),
        })
        #: The instruction in execution.
        self.instruction = Signal(control_layout(shape), reset_less=True)
        #: It executes unless a barrier or a command stalls it.
        self.executes = Signal()
        #: Its warp is active.
        self.is_alive = Signal()
        #: It leaves this stage: dropped, failed, or committed.
        self.completes = Signal()
        self.fails = Signal()
        self.commits = Signal()

    def elaborate(self, platform):
        m = Module()
        operands = reduce_operands(m, self.shape, self.i.payload)
        with m.FSM():
            with m.State("ACCEPT"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += self.instruction.eq(operands)
                    m.next = "EXECUTE"
            with m.State("EXECUTE"):
                m.d.comb += self.executes.eq(~self.o.valid & ~self.outcome.busy)
                with m.If(self.completes):
                    m.next = "ACCEPT"
        self.read_state(m)
        self.complete(m)
        self.change_state(m)
        self.report_outcome(m)
        self.offer_result(m)
        if self.shape.awaits_products:
            self.track_products(m)
        if self.shape.awaits_units:
            self.begin_wait(m)
        return m

    @property
    def is_barrier(self) -> Value:
        """Whether the instruction is an arrival at a barrier."""
        return self.instruction.operation == ControlOperation.BAR

    @property
    def is_wait(self) -> Value:
        """Whether the instruction begins a wait for a unit, in cores that await units."""
        return self.instruction.operation == ControlOperation.WAIT

    @property
    def sleeps(self) -> Value:
        """Whether the instruction's warp resumes with a release, not with its completion."""
        return self.is_barrier | self.is_wait if self.shape.awaits_units else self.is_barrier

    def is_refused(self) -> Value:
        """Return whether the instruction has a fault."""
        fails = self.effects.effects.fault | (self.is_barrier & self.arrival.refused)
        return fails | (self.is_wait & self.wait.refused) if self.shape.awaits_units else fails

    def read_state(self, m: Module):
        """Read the state of the warp while its instruction is accepted."""
        accepted, operation = self.i.valid & self.i.ready, self.i.payload
        scratch = operation.immediate[:CSR_WIDTH] == CSRS["mscratch"].number
        m.d.comb += [
            self.stack.lookup.valid.eq(accepted),
            self.stack.lookup.payload.eq(operation.warp),
            self.registers.lookup.valid.eq(accepted),
            self.registers.lookup.payload.warp.eq(operation.warp),
            self.registers.lookup.payload.scratch.eq(scratch),
            *(
                getattr(self.registers, name).eq(self.instruction[name])
                for name in ("number", "warp", "warps", "mask")
            ),
            self.effects.instruction.eq(self.instruction),
            self.effects.situation.stack.eq(self.stack.answer),
            self.effects.situation.register.eq(self.registers.answer),
        ]

    def complete(self, m: Module):
        """Decide when the instruction completes, and whether it fails or commits."""
        effects, arrival, command = self.effects.effects, self.arrival, self.command
        arrives = self.executes & self.is_alive & self.is_barrier
        m.d.comb += [
            self.is_alive.eq((self.masks.active & self.instruction.warps).any()),
            command.valid.eq(
                self.executes & self.is_alive & effects.writes_register & self.registers.is_command
            ),
            command.payload.eq(effects.written),
            arrival.warps.eq(Mux(arrives, self.instruction.warps, 0)),
            arrival.number.eq(self.instruction.a),
            arrival.count.eq(self.instruction.b),
            self.completes.eq(
                self.executes
                & (arrival.ready | ~self.is_barrier | ~self.is_alive)
                & (command.ready | ~command.valid)
            ),
            self.fails.eq(self.is_refused()),
            self.commits.eq(self.completes & self.is_alive & ~self.fails),
        ]

    def change_state(self, m: Module):
        """Apply the instruction's changes to masks, stack, registers, barriers and caches."""
        instruction, effects, commits = self.instruction, self.effects.effects, self.commits
        m.d.comb += [
            self.change.warps.eq(Mux(commits & effects.changes_mask, instruction.warps, 0)),
            self.change.mask.eq(effects.mask),
            self.change.end.eq(commits & effects.ends),
            self.stack.change.eq(Mux(commits, effects.stack, StackChange.NONE)),
            self.stack.push.eq(effects.split),
            self.divergent_split.eq(self.stack.change == StackChange.PUSH),
            self.registers.write.eq(commits & effects.writes_register),
            self.registers.write_value.eq(effects.written),
            self.arrival.clear.eq(commits & effects.ends),
            self.invalidate.eq(commits & (instruction.operation == ControlOperation.FENCE_I)),
            self.invalidate_data.eq(commits & (instruction.operation == ControlOperation.FENCE)),
        ]
        with m.If(commits & effects.exits):
            m.d.sync += self.exit_code.eq(instruction.exit_code)

    def report_outcome(self, m: Module):
        """Redirect warps, resume the instruction's own warp, or report its fault."""
        instruction, effects, outcome = self.instruction, self.effects.effects, self.outcome
        fault = outcome.fault.payload
        turns_itself = (effects.turn.warps & instruction.warps).any()
        # A warp that waits resumes with its release.
        is_resumed = self.completes & ~(self.is_alive & (self.fails | self.sleeps | turns_itself))
        m.d.comb += [
            outcome.turn.valid.eq(self.commits),
            outcome.turn.payload.eq(effects.turn),
            outcome.resumed.eq(Mux(is_resumed, instruction.warps, 0)),
            outcome.fault.valid.eq(self.completes & self.is_alive & self.fails),
            fault.warp.eq(instruction.warp),
            fault.pc.eq(instruction.pc),
            fault.cause.eq(Mux(self.is_barrier, self.arrival.cause, effects.cause)),
            fault.lanes.eq(instruction.mask),
            fault.address.eq(instruction.b),
        ]
        if self.shape.awaits_units:
            with m.If(self.is_wait):
                m.d.comb += fault.address.eq(instruction.a)

    def offer_result(self, m: Module):
        """Drive the result, or only the completion of an instruction without one."""
        instruction, result, threads = self.instruction, self.o.payload, self.shape.threads
        value = Signal(32, reset_less=True)
        per_thread = Signal(reset_less=True)
        numbers = Cat(Const(thread, 32) for thread in range(threads))
        with m.If(self.completes):
            m.d.sync += [
                self.o.valid.eq(1),
                value.eq(self.effects.effects.value),
                per_thread.eq(self.effects.effects.per_thread),
                result.writes.eq(instruction.writes & self.commits),
                *(result[name].eq(instruction[name]) for name in ("warp", "mask", "pc", "rd")),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        m.d.comb += Value.cast(result.values).eq(
            value.replicate(threads) | Mux(per_thread, numbers, 0)
        )

    def begin_wait(self, m: Module):
        """Enter the warp into the wait table."""
        begins = self.completes & self.is_alive & self.is_wait
        m.d.comb += [
            self.wait.warps.eq(Mux(begins, self.instruction.warps, 0)),
            self.wait.address.eq(self.instruction.a),
            self.wait.n.eq(self.instruction.b),
            self.wait.clear.eq(self.arrival.clear),
        ]

    def track_products(self, m: Module):
        """Record which warps have a product that they have not waited for."""
        having = Signal(self.shape.warps)
        waits = self.commits & (self.instruction.operation == ControlOperation.HGMMA_WAIT)
        waited = Mux(waits, self.instruction.warps, 0)
        has_product = (having & self.instruction.warps).any()
        m.d.comb += self.effects.situation.has_product.eq(has_product)
        m.d.sync += having.eq((having | self.product) & ~(waited | self.started))
