"""Tensor unit of a core: matrix products on fragments in registers, one instruction each."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...arith.dot_product.config import DotProductConfig
from ...arith.dot_product.dot_product import DotProduct
from ...arith.dot_product.latency import dot_product_latency
from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.interfaces.execution_unit import operation_layout, result_layout
from ...lib.sram import Sram
from .config import RegisterFedConfig
from .fragment_staging import FragmentStaging
from .layouts import event_layout, step_layout
from .reformatter import Reformatter
from .step_sequencer import StepSequencer
from .writeback_queue import WritebackQueue

__all__ = ["RegisterFedUnit"]

#: Cycles from a step to its operands at the dot products.
OPERANDS_LATENCY = 2


class RegisterFedUnit(Component):
    """Tensor unit: ``C := A B + C`` for ``hmma``, in 32 cycles for warps of 8 threads.

    An instruction is eight micro-operations; number k has register k of A, B and C as its operands
    and of C as its destination. In warps of 32 threads C has 16 x 8 numbers in four registers: an
    instruction is four micro-operations and takes 64 cycles. Only the map of fragments differs.

    `FragmentStaging` has room for two instructions. At most as many may have begun without a
    `released`; their micro-operations are never refused. The product of one runs while the operands
    of the next are gathered. It begins as soon as the registers of its first step are there.

    ===================  ========================================================================
    cycle of a step      event
    ===================  ========================================================================
    0                    the sequencer starts it; A and B are read, once per set
    1                    rows and columns are selected; an accumulator register is read
    2                    operands at the dot products
    2 + dot latency      accumulators written, or in the last set the writeback queue
    4 + dot latency      result on `o`
    ===================  ========================================================================

    The steps of a product are ordered by set, then by accumulator register. So the next set reads
    an accumulator 8 steps (two words per set) or 16 steps (four words) later, or more.

    Results leave in order, one per register of C, all but the last marked ``more``. While they
    stall, the queue takes those of one instruction, then the steps of the last set wait.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
    o : Out(stream.Signature(result_layout(config)))
    released : Out(1)
        Another instruction may begin.
    events : Out(event_layout())
        A step starts in this cycle; 32 or 64 for each instruction.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.dot = DotProductConfig.of(RegisterFedConfig.of(config.tensor))
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
            "released": Out(1),
            "events": Out(event_layout()),
        })

    def elaborate(self, platform):
        m = Module()
        config = RegisterFedConfig.of(self.config.tensor)
        m.submodules.staging = staging = FragmentStaging(self.config)
        m.submodules.sequencer = sequencer = StepSequencer(config)
        m.submodules.queue = queue = WritebackQueue(self.config)
        connect(m, flipped(self.i), staging.i)
        connect(m, queue.o, flipped(self.o))
        step = sequencer.step
        m.d.comb += [
            sequencer.gathered.eq(staging.gathered),
            sequencer.room.eq(queue.room),
            staging.go.eq(sequencer.go),
            staging.step.eq(step),
            staging.release.eq(sequencer.release),
            queue.begin.eq(sequencer.begins_last),
            queue.info.eq(staging.info),
            queue.start.eq(sequencer.go & sequencer.leaves & (step.part == 0)),
            self.released.eq(sequencer.release),
            self.events.active.eq(sequencer.go),
        ]
        self.multiply(m, staging, sequencer, queue)
        return m

    def multiply(self, m: Module, staging, sequencer, queue):
        """Connect operands, dot products, accumulators and results."""
        config = RegisterFedConfig.of(self.config.tensor)
        layout = step_layout(config)
        steps = [sequencer.step]
        valids = [sequencer.go]
        for cycle in range(1, OPERANDS_LATENCY + dot_product_latency(self.dot) + 1):
            step, valid = (
                Signal(layout, name=f"step_{cycle}", reset_less=True),
                Signal(name=f"valid_{cycle}"),
            )
            m.d.sync += [step.eq(steps[-1]), valid.eq(valids[-1])]
            steps.append(step)
            valids.append(valid)
        m.submodules.reformatter = reformatter = Reformatter(config)
        m.d.comb += [
            reformatter.step.eq(steps[1]),
            reformatter.a.eq(staging.a),
            reformatter.b.eq(staging.b),
        ]
        done, is_done = steps[-1], valids[-1]
        leaves = done.set == config.sets - 1
        parts = [
            is_done & (done.part == lane // config.dot_products) for lane in range(config.threads)
        ]
        addend = staging.c
        if config.sets > 1:
            writes = Cat(parts) & (~leaves).replicate(config.threads)
            kept = self.accumulators(m, steps[1], valids[1], done.register, writes, queue.values)
            addend = Mux(steps[2].set == 0, Value.cast(staging.c), kept)
        units = config.dot_products
        m.d.comb += [
            queue.part.eq(Cat(parts) & leaves.replicate(config.threads)),
            queue.finish.eq(is_done & leaves & (done.part == config.parts - 1)),
        ]
        addends = Value.cast(addend).word_select(Value.cast(steps[2].part), 32 * units)
        for unit in range(units):
            m.submodules[f"dot_product_{unit}"] = dot = DotProduct(self.dot)
            m.d.comb += [
                dot.a.eq(reformatter.rows[unit]),
                dot.b.eq(reformatter.columns[unit]),
                dot.c.eq(addends.word_select(unit, 32)),
                *(queue.values[lane].eq(dot.o) for lane in range(unit, config.threads, units)),
            ]

    def accumulators(self, m: Module, step, valid, register, writes, values) -> Value:
        """Return the accumulator register of `step`, one cycle later; write `values` to another."""
        config = RegisterFedConfig.of(self.config.tensor)
        m.submodules.accumulators = memory = Sram(
            depth=config.registers, width=32 * config.threads, granularity=32
        )
        m.d.comb += [
            memory.read_enable.eq(valid & (step.part == 0) & (step.set != 0)),
            memory.read_address.eq(step.register),
            memory.write_mask.eq(writes),
            memory.write_address.eq(register),
            memory.write_data.eq(values),
        ]
        return memory.read_data
