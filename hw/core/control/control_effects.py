"""Effects and faults of each instruction of `Port.CONTROL`."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.operations import ControlOperation as Operation
from ..csr_signatures import csr_answer_layout
from .control_operand import control_layout
from .divergence_stack import StackChange, divergence_layout, stack_answer_layout
from .faults import FaultCause
from .redirects import turn_layout

__all__ = ["ControlEffects", "EffectsSignature", "effects_layout", "situation_layout"]


def situation_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the machine state on which an instruction's effects depend.

    It holds the top of the warp's divergence stack, the addressed control register, and in cores
    that await products whether the warp has one that it has not waited for.
    """
    product = {"has_product": 1} if config.awaits_products else {}
    return data.StructLayout({
        "stack": stack_answer_layout(config),
        "register": csr_answer_layout(),
        **product,
    })


def effects_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the effects of an instruction.

    With a ``fault``, of ``cause``, all other fields are ignored. Otherwise: ``changes_mask`` sets
    the thread mask to ``mask``; ``stack`` is the change of the divergence stack, a push of
    ``split``; ``turn`` redirects warps; ``writes_register`` writes ``written`` to the addressed
    control register; ``ends`` ends the run; ``exits`` sets the exit code. The result is
    ``value``, plus the thread's index with ``per_thread``. Effects on barriers and on the
    wait table are not included.
    """
    return data.StructLayout({
        "fault": 1,
        "cause": FaultCause,
        "changes_mask": 1,
        "mask": config.threads,
        "stack": StackChange,
        "split": divergence_layout(config),
        "turn": turn_layout(config),
        "writes_register": 1,
        "written": 32,
        "ends": 1,
        "exits": 1,
        "value": 32,
        "per_thread": 1,
    })


class EffectsSignature(wiring.Signature):
    """Look-up of the effects of an instruction in a situation.

    Members
    -------
    instruction : Out(control_layout(config))
    situation : Out(situation_layout(config))
    effects : In(effects_layout(config))
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "instruction": Out(control_layout(config)),
            "situation": Out(situation_layout(config)),
            "effects": In(effects_layout(config)),
        })


class ControlEffects(SharedBlock):
    """Effects of a control instruction, or its fault. Combinational.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    lookup : In(EffectsSignature(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({"lookup": In(EffectsSignature(config))})

    def build(self, platform):
        m = Module()
        given, o = self.lookup.instruction, self.lookup.effects
        m.d.comb += [
            o.mask.eq(given.a),
            o.split.both.eq(given.mask),
            o.split.rest.eq(given.mask & ~given.chosen),
            o.split.pc.eq(given.pc[2:] + 1),
            o.turn.warps.eq(0),
            o.turn.pc.eq(Cat(Const(0, 2), o.split.pc)),
            o.exits.eq(o.ends | (o.changes_mask & ~o.mask.any() & given.warps[0])),
        ]
        with m.Switch(given.operation):
            with m.Case(Operation.TMC):
                m.d.comb += o.changes_mask.eq(1)
            with m.Case(Operation.PRED):
                m.d.comb += [
                    o.changes_mask.eq(1),
                    o.mask.eq(Mux(given.chosen.any(), given.chosen, given.b)),
                ]
            with m.Case(Operation.WSPAWN):
                self.spawn(m)
            with m.Case(Operation.SPLIT):
                self.split(m)
            with m.Case(Operation.JOIN):
                self.join(m)
            with m.Case(Operation.BAR, Operation.FENCE):
                pass  # a fence is issued after everything before it has completed
            with m.Case(Operation.FENCE_I):
                m.d.comb += o.turn.warps.eq(given.warps)
            with m.Case(Operation.MRET):
                m.d.comb += [
                    o.turn.warps.eq(given.warps),
                    o.turn.pc.eq(self.lookup.situation.register.mepc),
                ]
            with m.Case(Operation.CSRRW, Operation.CSRRS, Operation.CSRRC):
                self.access_register(m)
            with m.Case(Operation.END):
                m.d.comb += o.ends.eq(1)
            if self.config.atomics:
                with m.Case(Operation.PAUSE):
                    pass
            if self.config.awaits_units:
                with m.Case(Operation.WAIT):
                    m.d.comb += o.cause.eq(FaultCause.NO_PROGRESS)  # if the wait table refuses
            if self.config.tensor is not None:
                with m.Case(Operation.PARTIAL):
                    m.d.comb += [o.fault.eq(1), o.cause.eq(FaultCause.INACTIVE_THREADS)]
            if self.config.awaits_products:
                with m.Case(Operation.HGMMA_WAIT):
                    m.d.comb += [
                        o.fault.eq(~self.lookup.situation.has_product),
                        o.cause.eq(FaultCause.NO_PRODUCT),
                    ]
            with m.Default():
                m.d.comb += [
                    o.fault.eq(1),
                    o.cause.eq(
                        Mux(given.is_fetch_fault, FaultCause.FETCH, FaultCause.ILLEGAL),
                    ),
                ]
        return m

    def spawn(self, m: Module):
        """Start thread 0 of the first `a` warps, except this one."""
        given, o = self.lookup.instruction, self.lookup.effects
        warps = self.config.warps
        count = given.a[: ceil_log2(warps + 1)]
        below = ((1 << count) - 1)[:warps]
        is_too_many = given.a > warps
        m.d.comb += [
            o.fault.eq(is_too_many | given.b[:2].any()),
            o.cause.eq(Mux(is_too_many, FaultCause.WSPAWN_COUNT, FaultCause.MISALIGNED_JUMP)),
            o.turn.is_start.eq(1),
            o.turn.warps.eq(below & ~given.warps),
            o.turn.pc.eq(given.b),
        ]

    def split(self, m: Module):
        """Push a split if threads are on both sides; the others start at the next instruction."""
        given, o = self.lookup.instruction, self.lookup.effects
        is_divergent = given.chosen.any() & o.split.rest.any()
        m.d.comb += [
            o.mask.eq(given.chosen),
            o.value.eq(is_divergent),
            o.changes_mask.eq(is_divergent),
            o.stack.eq(Mux(is_divergent, StackChange.PUSH, StackChange.NONE)),
            o.fault.eq(is_divergent & self.lookup.situation.stack.is_full),
            o.cause.eq(FaultCause.STACK_OVERFLOW),
        ]

    def join(self, m: Module):
        """Switch to the second side of a split, or rejoin both sides after the second."""
        given, o = self.lookup.instruction, self.lookup.effects
        top = self.lookup.situation.stack.top
        joins = given.a[0]
        begins = top.rest.any()
        m.d.comb += [
            o.fault.eq(joins & self.lookup.situation.stack.is_empty),
            o.cause.eq(FaultCause.STACK_UNDERFLOW),
            o.changes_mask.eq(joins),
            o.mask.eq(Mux(begins, top.rest, top.both)),
            o.turn.pc.eq(Cat(Const(0, 2), top.pc)),
        ]
        with m.If(joins):
            m.d.comb += [
                o.stack.eq(Mux(begins, StackChange.SECOND, StackChange.POP)),
                o.turn.warps.eq(Mux(begins, given.warps, 0)),
            ]

    def access_register(self, m: Module):
        """Read a control register, and write it unless the instruction only reads."""
        given, o = self.lookup.instruction, self.lookup.effects
        register = self.lookup.situation.register
        is_replacement = given.operation == Operation.CSRRW
        writes = is_replacement | given.field
        m.d.comb += [
            o.fault.eq(~register.exists | (writes & ~register.writable)),
            o.cause.eq(
                Mux(register.exists, FaultCause.READ_ONLY_CSR, FaultCause.UNKNOWN_CSR),
            ),
            o.writes_register.eq(writes),
            o.value.eq(register.value),
            o.per_thread.eq(register.per_thread),
        ]
        with m.Switch(given.operation):
            with m.Case(Operation.CSRRS):
                m.d.comb += o.written.eq(register.value | given.a)
            with m.Case(Operation.CSRRC):
                m.d.comb += o.written.eq(register.value & ~given.a)
            with m.Default():
                m.d.comb += o.written.eq(given.a)
