"""Tensor unit of a core: matrix products on fragments in registers, one instruction each."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.interfaces.execution_unit import operation_layout, result_layout
from .config import RegisterFedConfig
from .fragment_products import FragmentProducts
from .fragment_staging import FragmentStaging
from .layouts import event_layout
from .reformatter import Reformatter
from .step_sequencer import StepSequencer
from .writeback_queue import WritebackQueue

__all__ = ["RegisterFedUnit"]


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
        m.submodules.reformatter = reformatter = Reformatter(config)
        m.submodules.products = products = FragmentProducts(config)
        m.submodules.queue = queue = WritebackQueue(self.config)
        connect(m, flipped(self.i), staging.i)
        connect(m, sequencer.o, staging.step, products.step)
        connect(m, sequencer.queue, queue.start)
        connect(m, staging.fragments, reformatter.fragments)
        connect(m, reformatter.operands, products.operands)
        connect(m, products.o, queue.part)
        connect(m, queue.o, flipped(self.o))
        m.d.comb += [
            sequencer.gathered.eq(staging.gathered),
            staging.release.eq(sequencer.release),
            queue.info.eq(staging.info),
            reformatter.step.eq(products.selected),
            products.c.eq(staging.c),
            self.released.eq(sequencer.release),
            self.events.active.eq(sequencer.o.valid),
        ]
        return m
