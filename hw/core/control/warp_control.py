"""Warp control: masks, divergence, start and end of warps, barriers, control registers."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import CoreBlockConfig
from ...emit.shared_block import SharedBlock
from ...isa.csr import CSRS
from ...isa.operations import ControlOperation
from ...lib.interfaces.execution_unit import operation_layout, result_layout
from ...lib.streams import ResponseSignature
from ..csr_file import CsrFile, core_shape, flags_layout
from ..front_end_layouts import redirect_layout
from ..layouts import branch_layout
from .barrier import Barrier, barrier_layout, barrier_request_layout
from .control_effects import ControlEffects
from .control_operand import CSR_WIDTH, control_layout, reduce_operands
from .divergence_stack import DivergenceStack, StackChange
from .faults import fault_layout
from .redirects import Redirects
from .warp_table import WarpTable

__all__ = ["WarpControl"]


class WarpControl(SharedBlock):
    """Warp control: executes the instructions of `Port.CONTROL` and redirects warps.

    | cycle | event                                                                    |
    |-------|--------------------------------------------------------------------------|
    | 0     | accepted on `i`; the warp's stack, mscratch or mepc are read             |
    | 1     | executed: masks, stack and registers change, or a fault is found         |
    | 2     | result on `o`; `resume` with `redirect`, or `fault`; masks are updated   |

    One instruction every two cycles, in order. It stalls in cycle 1 until the previous result is
    accepted, previous redirects are done, and `barrier` and `command` are ready. ``wspawn``
    starts one warp per cycle, each of which must have ended; no other instruction executes until
    all have started. An instruction with a fault changes and writes nothing, and its warp is
    not resumed. Instructions and branches of warps that have ended with the core meanwhile are
    dropped.

    Every instruction must be the only one of its warp in flight. Those on control registers
    arrive after everything before them was written. `TMC`, `PRED` and `END` have x3 as operand 2.

    Parameters
    ----------
    config : CoreBlockConfig

    Members
    -------
    core : In(core_shape(config.cores))
        Index of this core.
    i : In(stream.Signature(operation_layout(config.core)))
    o : Out(stream.Signature(result_layout(config.core)))
    branch : In(ResponseSignature(branch_layout(config.core)))
        Branches from the integer unit. Their redirects go first, in the same cycle.
    redirect : Out(ResponseSignature(redirect_layout(config.core)))
        The warp continues at `pc`: its fetched instructions are dropped.
    resume : Out(warps)
        Warps that continue; with a redirect, in its cycle.
    started : Out(warps)
        Warps that start with the redirect of this cycle; active from the next on.
    masks : Out(ArrayLayout(threads, warps))
    active : Out(warps)
    at_barrier : Out(warps)
    frm : Out(ArrayLayout(3, warps))
        Dynamic rounding modes, stable while an instruction that needs one can issue.
    fault : Out(ResponseSignature(fault_layout(config.core)))
    exit_code : Out(32)
        x3 of warp 0 when it ended, or of the thread that ended the core.
    barrier : Out(stream.Signature(barrier_request_layout(config.barriers, config.cores)))
    barrier_refused : In(1)
    release : In(ResponseSignature(barrier_layout(config.barriers)))
        To and from the cluster barrier; see `Barrier`.
    command : Out(stream.Signature(32))
        Command words for the cluster's matrix units.
    invalidate, invalidate_data : Out(1)
        Fetches, or loads, from the next cycle on must return new data: a fence takes effect.
    divergent_split : Out(1)
        A divergent split is pushed.
    product : In(warps)
        In cores that await products: a product of this warp begins, one-hot.
    flags, busy, retired, counter_number, counter, mcycle, minstret
        See `CsrFile`.
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        self.shape = shape = config.core
        product = {"product": In(shape.warps)} if shape.awaits_products else {}
        super().__init__({
            **product,
            "core": In(core_shape(config.cores)),
            "i": In(stream.Signature(operation_layout(shape))),
            "o": Out(stream.Signature(result_layout(shape))),
            "branch": In(ResponseSignature(branch_layout(shape))),
            "redirect": Out(ResponseSignature(redirect_layout(shape))),
            "resume": Out(shape.warps),
            "started": Out(shape.warps),
            "masks": Out(data.ArrayLayout(shape.threads, shape.warps)),
            "active": Out(shape.warps),
            "at_barrier": Out(shape.warps),
            "frm": Out(data.ArrayLayout(3, shape.warps)),
            "fault": Out(ResponseSignature(fault_layout(shape))),
            "exit_code": Out(32),
            "barrier": Out(stream.Signature(barrier_request_layout(config.barriers, config.cores))),
            "barrier_refused": In(1),
            "release": In(ResponseSignature(barrier_layout(config.barriers))),
            "command": Out(stream.Signature(32)),
            "invalidate": Out(1),
            "invalidate_data": Out(1),
            "flags": In(flags_layout(shape)),
            "busy": In(1),
            "retired": In(3),
            "counter_number": Out(5),
            "counter": In(64),
            "mcycle": Out(64),
            "minstret": Out(64),
            "divergent_split": Out(1),
        })

    def build(self, platform):
        m = Module()
        shape = self.shape
        m.submodules.table = self.table = WarpTable(shape)
        m.submodules.stack = self.stack = DivergenceStack(shape)
        m.submodules.barriers = self.barriers = Barrier(self.config)
        m.submodules.registers = self.registers = CsrFile(self.config)
        m.submodules.redirects = self.redirects = Redirects(shape)
        m.submodules.effects = effects = ControlEffects(shape)
        self.given = given = Signal(control_layout(shape), reset_less=True)
        self.effects = o = effects.o
        self.is_barrier = Signal()
        execute_valid = Signal()
        self.may = Signal()  # an instruction is in execution, and nothing before it stalls it
        self.is_alive = Signal()
        self.fires = Signal()
        self.fails = Signal()
        self.commits = Signal()

        with m.If(self.i.valid & self.i.ready):
            m.d.sync += given.eq(reduce_operands(m, shape, self.i.payload))
        m.d.sync += execute_valid.eq(Mux(execute_valid, ~self.fires, self.i.valid))
        m.d.comb += [
            self.i.ready.eq(~execute_valid),
            effects.instruction.eq(given),
            self.is_barrier.eq(given.operation == ControlOperation.BAR),
            self.may.eq(execute_valid & ~self.o.valid & ~self.redirects.busy),
            self.is_alive.eq((self.table.active & given.warps).any()),
            self.command.valid.eq(
                self.may & self.is_alive & o.writes_register & self.registers.is_command
            ),
            self.command.payload.eq(o.written),
            self.fires.eq(
                self.may
                & (self.barriers.ready | ~self.is_barrier | ~self.is_alive)
                & (self.command.ready | ~self.command.valid)
            ),
            self.fails.eq(o.fault | (self.is_barrier & self.barriers.refused)),
            self.commits.eq(self.fires & self.is_alive & ~self.fails),
            self.invalidate.eq(self.commits & (given.operation == ControlOperation.FENCE_I)),
            self.invalidate_data.eq(self.commits & (given.operation == ControlOperation.FENCE)),
        ]
        self.read_state(m, effects.situation)
        if shape.awaits_products:
            self.track_products(m, effects.situation)
        self.change(m)
        self.synchronise(m)
        self.resume_warps(m)
        self.show_state(m)
        return m

    def read_state(self, m: Module, found):
        """Look up the state of the warp while its instruction is accepted."""
        accepted, warp = self.i.valid & self.i.ready, self.i.payload.warp
        for kept, answer in ((self.stack, found.stack), (self.registers, found.register)):
            m.d.comb += [
                kept.lookup.eq(accepted),
                kept.lookup_warp.eq(warp),
                answer.eq(kept.answer),
            ]
        scratch = self.i.payload.immediate[:CSR_WIDTH] == CSRS["mscratch"].number
        m.d.comb += self.registers.lookup_scratch.eq(scratch)
        for name in ("number", "warp", "warps", "mask"):
            m.d.comb += getattr(self.registers, name).eq(getattr(self.given, name))
        for name in ("core", "flags", "busy", "retired", "counter"):
            m.d.comb += getattr(self.registers, name).eq(getattr(self, name))
        m.d.comb += [
            self.registers.active.eq(self.table.active),
            self.counter_number.eq(self.registers.counter_number),
            self.mcycle.eq(self.registers.mcycle),
            self.minstret.eq(self.registers.minstret),
            self.frm.eq(self.registers.frm),
        ]

    def track_products(self, m: Module, found):
        """Record which warps have a product that they have not waited for."""
        having = Signal(self.shape.warps)
        waits = self.commits & (self.given.operation == ControlOperation.HGMMA_WAIT)
        waited = Mux(waits, self.given.warps, 0)
        m.d.comb += found.has_product.eq((having & self.given.warps).any())
        m.d.sync += having.eq((having | self.product) & ~(waited | self.redirects.start))

    def change(self, m: Module):
        """Apply the instruction's changes to masks, stack and registers."""
        given, o, commits = self.given, self.effects, self.commits
        m.d.comb += [
            self.table.change.eq(Mux(commits & o.changes_mask, given.warps, 0)),
            self.table.change_mask.eq(o.mask),
            self.table.start.eq(self.redirects.start),
            self.table.end.eq(commits & o.ends),
            self.stack.change.eq(Mux(commits, o.stack, StackChange.NONE)),
            self.stack.push.eq(o.split),
            self.divergent_split.eq(self.stack.change == StackChange.PUSH),
            self.registers.write.eq(commits & o.writes_register),
            self.registers.write_value.eq(o.written),
            self.masks.eq(self.table.mask),
            self.active.eq(self.table.active),
            self.started.eq(self.redirects.start),
        ]
        with m.If(commits & o.exits):
            m.d.sync += self.exit_code.eq(given.exit_code)

    def synchronise(self, m: Module):
        """Connect arriving warps to their barrier."""
        given, barriers = self.given, self.barriers
        connect(m, barriers.request, flipped(self.barrier))
        connect(m, flipped(self.release), barriers.release)
        arrives = self.may & self.is_alive & self.is_barrier
        m.d.comb += [
            barriers.arrive.eq(Mux(arrives, given.warps, 0)),
            barriers.number.eq(given.a),
            barriers.count.eq(given.b),
            barriers.request_refused.eq(self.barrier_refused),
            barriers.clear.eq(self.commits & self.effects.ends),
            self.at_barrier.eq(barriers.waiting),
        ]

    def resume_warps(self, m: Module):
        """Resume, redirect and start warps, and report faults."""
        given, o, redirects = self.given, self.effects, self.redirects
        connect(m, flipped(self.branch), redirects.branch)
        connect(m, redirects.redirect, flipped(self.redirect))
        connect(m, redirects.fault, flipped(self.fault))
        found = redirects.found.payload
        turns_itself = (o.turn.warps & given.warps).any()
        is_resumed = self.fires & ~(self.is_alive & (self.fails | self.is_barrier | turns_itself))
        m.d.comb += [
            redirects.mask.eq(self.table.mask),
            redirects.active.eq(self.table.active),
            redirects.turn.valid.eq(self.commits),
            redirects.turn.payload.eq(o.turn),
            redirects.resumed.eq(Mux(is_resumed, given.warps, 0) | self.barriers.released),
            redirects.found.valid.eq(self.fires & self.is_alive & self.fails),
            found.warp.eq(given.warp),
            found.pc.eq(given.pc),
            found.cause.eq(Mux(self.is_barrier, self.barriers.cause, o.cause)),
            found.lanes.eq(given.mask),
            found.address.eq(given.b),
            self.resume.eq(redirects.resume),
        ]

    def show_state(self, m: Module):
        """Drive the result, or only the completion of an instruction without one."""
        given, result, threads = self.given, self.o.payload, self.shape.threads
        value = Signal(32, reset_less=True)
        per_thread = Signal(reset_less=True)
        numbers = Cat(Const(thread, 32) for thread in range(threads))
        with m.If(self.fires):
            m.d.sync += [
                self.o.valid.eq(1),
                value.eq(self.effects.value),
                per_thread.eq(self.effects.per_thread),
                result.writes.eq(given.writes & self.commits),
                *(result[name].eq(given[name]) for name in ("warp", "mask", "pc", "rd")),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        m.d.comb += Value.cast(result.values).eq(
            value.replicate(threads) | Mux(per_thread, numbers, 0)
        )
