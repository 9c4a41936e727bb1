"""Tensor unit of a core with operands in shared memory: its access part runs ahead."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.component import Component
from ...lib.interfaces.execution_unit import operation_layout, result_layout
from ...lib.interfaces.memory_fault import memory_fault_layout
from ...lib.interfaces.shared_memory import WideReadSignature
from .accumulator_tiles import AccumulatorTiles
from .block_loader import BlockLoader
from .config import READ_BYTES, SharedFedBlockConfig
from .layouts import event_layout
from .operand_buffers import OperandBuffers
from .product_queue import ProductQueue
from .product_steps import ProductSteps, step_latency
from .result_drain import ResultDrain
from .shared_fed_fetch import SharedFedFetch

__all__ = ["SharedFedUnit"]


class SharedFedUnit(Component):
    """Tensor unit: ``C := A B + C`` for ``hgmma``, with A and B in shared memory, in 128 cycles.

    ::

        i ─► product queue ─► operand fetch ◄─► shared memory          access
                  │                │
                  │             A, B slots ─► block of B ─┐
                  │                └────── row of A ──────┤            execute
                  └─► accumulator tiles ◄──── dot products ┘
                             └─► result drain ─► o

    An instruction is 32 micro-operations; number k has register k of C as operand 2 and as its
    destination, the first one also has the addresses of A and B as operands 0 and 1. At most
    `queue` instructions may have begun without a `released`; micro-operations are never
    refused. Each product has a tile, in which C is gathered, accumulated and drained. The access
    part reads A and B of the next product while one is computed, so the latency of shared memory
    is hidden as long as 64 reads take less than 128 cycles.

    ===================  ========================================================================
    cycle of a step      event
    ===================  ========================================================================
    0                    it starts; a line of A and a row of C are read
    1                    numbers of A and C are selected, with the first step of a block those of B
    2                    operands at the dot products
    2 + dot latency      row of C written
    ===================  ========================================================================

    The steps of a product are ordered by set, group of columns and row. So a number of C is used
    again 16 steps later or more. Results leave in order, one per register of C, all but the last
    marked ``more``.

    Parameters
    ----------
    config : SharedFedBlockConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config.core)))
    o : Out(stream.Signature(result_layout(config.core)))
    released : Out(1)
        Another instruction may begin.
    operands : Out(WideReadSignature(config.shared, READ_BYTES))
    fault : Out(stream.Signature(memory_fault_layout(config.core)))
        An instruction whose operands cannot be read; it has no result.
    events : Out(event_layout())

    Raises
    ------
    ValueError
        If a dot product takes so long that its result is not there when it is used again.

    """

    def __init__(self, config: SharedFedBlockConfig):
        self.config = config
        self.latency = step_latency(config.tensor)
        super().__init__({
            "i": In(stream.Signature(operation_layout(config.core))),
            "o": Out(stream.Signature(result_layout(config.core))),
            "released": Out(1),
            "operands": Out(WideReadSignature(config.shared, READ_BYTES)),
            "fault": Out(stream.Signature(memory_fault_layout(config.core))),
            "events": Out(event_layout()),
        })

    def elaborate(self, platform):
        m = Module()
        tensor = self.config.tensor
        m.submodules.queue = queue = ProductQueue(self.config)
        m.submodules.fetch = fetch = SharedFedFetch(self.config)
        m.submodules.buffers = buffers = OperandBuffers(tensor)
        m.submodules.loader = loader = BlockLoader(tensor)
        m.submodules.tiles = tiles = AccumulatorTiles(tensor)
        m.submodules.steps = steps = ProductSteps(tensor)
        m.submodules.drain = drain = ResultDrain(self.config.core)
        connect(m, flipped(self.i), queue.i)
        connect(m, queue.gather, tiles.gather)
        connect(m, queue.operands, fetch.i)
        connect(m, fetch.read, flipped(self.operands))
        connect(m, fetch.line, buffers.line)
        connect(m, loader.read, buffers.block)
        connect(m, loader.block, steps.block)
        connect(m, queue.compute, steps.compute)
        connect(m, steps.row, buffers.row)
        connect(m, steps.tile, tiles.step)
        connect(m, queue.drain, drain.product)
        connect(m, drain.tile, tiles.drain)
        connect(m, drain.o, flipped(self.o))
        connect(m, queue.fault, flipped(self.fault))
        m.d.comb += [
            fetch.free.eq(steps.row.free),
            *(there.eq(here) for there, here in zip(loader.arrived, fetch.arrived, strict=True)),
            self.released.eq(queue.released),
            self.events.eq(steps.events),
        ]
        return m
