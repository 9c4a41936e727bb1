"""Warp control: masks, divergence, start and end of warps, barriers, control registers."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import CoreBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.execution_unit import operation_layout, result_layout
from ...lib.streams import ResponseSignature
from ..csr_file import CsrFile
from ..csr_signatures import CounterSignature, FloatStateSignature
from ..front_end_layouts import redirect_layout
from ..launch import core_shape, launch_ports
from ..layouts import branch_layout
from ..warp_state import WarpStateSignature
from .barrier import Barrier, ClusterBarrierSignature
from .control_effects import ControlEffects
from .control_execution import ControlExecution
from .divergence_stack import DivergenceStack
from .faults import fault_layout
from .redirects import Redirects
from .wait_table import WaitTable, progress_ports
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
    accepted, previous redirects are done, and the cluster barrier and `command` are ready.
    ``wspawn`` starts one warp per cycle, each of which must have ended; no other instruction
    executes until all have started. An instruction with a fault changes and writes nothing, and
    its warp is not resumed. Instructions and branches of warps that have ended with the core
    meanwhile are dropped.

    Every instruction must be the only one of its warp in flight. Those on control registers
    arrive after everything before them was written. `TMC`, `PRED` and `END` have x3 as operand 2.

    Parameters
    ----------
    config : CoreBlockConfig

    Members
    -------
    core : In(core_shape(config.cores))
        Index of this core.
    launch : In(LaunchSignature(config.clusters, config.cores))
        Only with several clusters.
    i : In(stream.Signature(operation_layout(config.core)))
    o : Out(stream.Signature(result_layout(config.core)))
    branch : In(ResponseSignature(branch_layout(config.core)))
        Branches from the integer unit. Their redirects go first, in the same cycle.
    redirect : Out(ResponseSignature(redirect_layout(config.core)))
        The warp continues at `pc`: its fetched instructions are dropped.
    warps : Out(WarpStateSignature(config.core))
        Warps resume and start with the redirect of this cycle, if they are redirected.
    active : Out(warps)
    released : Out(warps)
        Warps of `warps.at_barrier` that continue.
    fault : Out(ResponseSignature(fault_layout(config.core)))
    exit_code : Out(32)
        x3 of warp 0 when it ended, or of the thread that ended the core.
    barrier : Out(ClusterBarrierSignature(config.barriers, config.cores))
    command : Out(stream.Signature(32))
        Command words for the cluster's matrix units.
    invalidate, invalidate_data : Out(1)
        Fetches, or loads, from the next cycle on must return new data: a fence takes effect.
    divergent_split : Out(1)
        A divergent split is pushed.
    progress : In(ProgressSignature(len(config.progress)))
        In cores that await units: their registers.
    asleep : Out(warps)
        In cores that await units: warps that sleep until one has made progress.
    product : In(warps)
        In cores that await products: a product of this warp begins, one-hot.
    floats : In(FloatStateSignature(config.core))
    counters : Out(CounterSignature())
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        self.shape = shape = config.core
        product = {"product": In(shape.warps)} if shape.awaits_products else {}
        asleep = {"asleep": Out(shape.warps)} if shape.awaits_units else {}
        super().__init__({
            **product,
            **asleep,
            **progress_ports(config),
            "core": In(core_shape(config.cores)),
            **launch_ports(config),
            "i": In(stream.Signature(operation_layout(shape))),
            "o": Out(stream.Signature(result_layout(shape))),
            "branch": In(ResponseSignature(branch_layout(shape))),
            "redirect": Out(ResponseSignature(redirect_layout(shape))),
            "warps": Out(WarpStateSignature(shape)),
            "active": Out(shape.warps),
            "released": Out(shape.warps),
            "fault": Out(ResponseSignature(fault_layout(shape))),
            "exit_code": Out(32),
            "barrier": Out(ClusterBarrierSignature(config.barriers, config.cores)),
            "command": Out(stream.Signature(32)),
            "invalidate": Out(1),
            "invalidate_data": Out(1),
            "divergent_split": Out(1),
            "floats": In(FloatStateSignature(shape)),
            "counters": Out(CounterSignature()),
        })

    def build(self, platform):
        m = Module()
        shape = self.shape
        m.submodules.table = table = WarpTable(shape)
        m.submodules.stack = stack = DivergenceStack(shape)
        m.submodules.barriers = barriers = Barrier(self.config)
        m.submodules.registers = registers = CsrFile(self.config)
        m.submodules.redirects = redirects = Redirects(shape)
        m.submodules.effects = effects = ControlEffects(shape)
        m.submodules.execution = execution = ControlExecution(self.config)
        connect(m, flipped(self.i), execution.i)
        connect(m, execution.o, flipped(self.o))
        connect(m, execution.command, flipped(self.command))
        connect(m, execution.effects, effects.lookup)
        connect(m, execution.change, table.change)
        connect(m, execution.stack, stack.access)
        connect(m, execution.registers, registers.access)
        connect(m, execution.arrival, barriers.arrival)
        connect(m, execution.outcome, redirects.control)
        connect(m, table.masks, execution.masks, redirects.masks)
        connect(m, barriers.cluster, flipped(self.barrier))
        connect(m, flipped(self.branch), redirects.branch)
        connect(m, redirects.redirect, flipped(self.redirect))
        connect(m, redirects.fault, flipped(self.fault))
        connect(m, flipped(self.floats), registers.floats)
        connect(m, registers.counters, flipped(self.counters))
        if self.config.clusters > 1:
            connect(m, flipped(self.launch), registers.launch)
        m.d.comb += [
            registers.core.eq(self.core),
            registers.active.eq(table.masks.active),
            table.start.eq(redirects.start),
            self.warps.masks.eq(table.masks.mask),
            self.warps.resume.eq(redirects.resume),
            self.warps.started.eq(redirects.start),
            self.active.eq(table.masks.active),
            redirects.released.eq(self.released),
            self.exit_code.eq(execution.exit_code),
            self.invalidate.eq(execution.invalidate),
            self.invalidate_data.eq(execution.invalidate_data),
            self.divergent_split.eq(execution.divergent_split),
        ]
        if shape.awaits_units:
            self.await_units(m, execution, barriers)
        else:
            m.d.comb += self.warps.at_barrier.eq(barriers.waiting)
            m.d.comb += self.released.eq(barriers.released)
        if shape.awaits_products:
            m.d.comb += [
                execution.product.eq(self.product),
                execution.started.eq(redirects.start),
            ]
        return m

    def await_units(self, m: Module, execution: ControlExecution, barriers: Barrier):
        """Release the warps that wait at barriers, and those that sleep in the wait table."""
        m.submodules.waits = waits = WaitTable(self.config)
        connect(m, execution.wait, waits.arrival)
        connect(m, flipped(self.progress), waits.progress)
        m.d.comb += [
            self.asleep.eq(waits.waiting),
            self.warps.at_barrier.eq(barriers.waiting | waits.waiting),
            self.released.eq(barriers.released | waits.released),
        ]
