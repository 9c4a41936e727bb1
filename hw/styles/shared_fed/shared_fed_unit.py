"""Tensor unit of a core with operands in shared memory: its access part runs ahead."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...arith.dot_product.config import DotProductConfig
from ...arith.dot_product.dot_product import DotProduct
from ...arith.dot_product.latency import dot_product_latency
from ...emit.component import Component
from ...lib.interfaces.execution_unit import operation_layout, result_layout
from ...lib.interfaces.memory_fault import memory_fault_layout
from ...lib.interfaces.shared_memory import WideReadSignature
from ...lib.sram import Sram
from .accumulator_tiles import AccumulatorTiles
from .block_loader import BlockLoader
from .config import READ_BYTES, SharedFedBlockConfig
from .layouts import OPERAND_LINES, SLOTS, event_layout, numbers_layout, step_layout
from .product_queue import ProductQueue
from .result_drain import ResultDrain
from .shared_fed_fetch import SharedFedFetch

__all__ = ["SharedFedUnit"]

#: Cycles from a step to its operands at the dot products.
OPERANDS_LATENCY = 2


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
        self.dot = DotProductConfig.of(config.tensor)
        self.latency = OPERANDS_LATENCY + dot_product_latency(self.dot)
        if self.latency >= config.tensor.side:
            raise ValueError(
                f"a dot product must take at most {config.tensor.side - OPERANDS_LATENCY - 1} "
                f"cycles, not {dot_product_latency(self.dot)}"
            )
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
        core, hgmma = self.config.core, self.config.tensor
        m.submodules.queue = self.queue = queue = ProductQueue(self.config)
        m.submodules.fetch = self.fetch = fetch = SharedFedFetch(self.config)
        m.submodules.loader = self.loader = BlockLoader(hgmma)
        m.submodules.tiles = self.tiles = tiles = AccumulatorTiles(hgmma, hgmma.queue)
        m.submodules.drain = drain = ResultDrain(core)
        connect(m, flipped(self.i), queue.i)
        connect(m, queue.operands, fetch.i)
        connect(m, fetch.read, flipped(self.operands))
        connect(m, queue.fault, flipped(self.fault))
        connect(m, drain.o, flipped(self.o))
        m.d.comb += [
            tiles.gather.eq(queue.gather),
            tiles.register.eq(self.i.payload.beat),
            Value.cast(tiles.values).eq(Value.cast(self.i.payload.operands[2])),
            drain.drainable.eq(queue.drainable),
            drain.info.eq(queue.info),
            queue.drained.eq(drain.drained),
            tiles.drain.eq(Mux(drain.read, queue.draining, 0)),
            tiles.drain_register.eq(drain.register),
            drain.values.eq(tiles.drained),
            self.released.eq(queue.released),
        ]
        self.execute(m, *self.sequence(m))
        return m

    def sequence(self, m: Module) -> tuple[list, list, list]:
        """Start the steps; return valid, step and tile of each stage, from the start on."""
        queue, loader = self.queue, self.loader
        step, go = Signal(step_layout(self.config.tensor)), Signal()
        is_first, is_last = step.row == 0, Value.cast(step).all()
        m.d.comb += [
            go.eq(queue.computable & (~is_first | loader.ready)),
            loader.begin.eq(go & is_first),
            queue.computed.eq(go & is_last),
            self.fetch.free.eq(go & is_last),
            self.events.active.eq(go),
            self.events.operand_wait.eq(queue.computable & ~go),
            self.events.c_wait.eq(loader.ready & ~queue.computable),
        ]
        with m.If(go):
            m.d.sync += Value.cast(step).eq(Value.cast(step) + 1)
        valids: list = [go]
        steps: list = [step]
        tiles: list = [queue.computing]
        for cycle in range(1, self.latency + 1):
            valid = Signal(name=f"valid_{cycle}")
            later = Signal(step.shape(), name=f"step_{cycle}", reset_less=True)
            tile = Signal(len(queue.computing), name=f"tile_{cycle}", reset_less=True)
            m.d.sync += [valid.eq(valids[-1]), later.eq(steps[-1]), tile.eq(tiles[-1])]
            valids.append(valid)
            steps.append(later)
            tiles.append(tile)
        return valids, steps, tiles

    def execute(self, m: Module, valids: list, steps: list, at: list):
        """Connect operands, dot products and accumulators."""
        hgmma, tiles, queue = self.config.tensor, self.tiles, self.queue
        units, groups = hgmma.dot_products, hgmma.column_groups
        row = self.buffer_operands(m, valids[0], steps[0], steps[1])
        addends = Signal(32 * units, reset_less=True)
        m.d.sync += addends.eq(Value.cast(tiles.row).word_select(steps[1].group, 32 * units))
        done, is_done, tile = steps[-1], valids[-1], at[-1]
        m.d.comb += [
            tiles.read.eq(Mux(valids[0], at[0], 0)),
            tiles.read_row.eq(steps[0].row),
            tiles.write.eq(Mux(is_done, tile, 0)),
            tiles.write_row.eq(done.row),
            tiles.mask.eq(Cat((done.group == group).replicate(units) for group in range(groups))),
            queue.complete.eq(Mux(is_done & Value.cast(done).all(), tile, 0)),
        ]
        for unit in range(units):
            m.submodules[f"dot_product_{unit}"] = dot = DotProduct(self.dot)
            m.d.comb += [
                dot.a.eq(row),
                dot.b.eq(self.loader.o[unit]),
                dot.c.eq(addends.word_select(unit, 32)),
                *(tiles.written[column].eq(dot.o) for column in range(unit, hgmma.side, units)),
            ]

    def buffer_operands(
        self, m: Module, go: Value, step: data.View, selected: data.View
    ) -> data.View:
        """Buffer the lines of A and B; return the numbers of A for `selected`, one cycle later."""
        hgmma, fetch, loader = self.config.tensor, self.fetch, self.loader
        slot = Signal(range(SLOTS))
        m.d.sync += slot.eq(slot + fetch.free)
        srams = []
        for name, is_b in (("a", 0), ("b", 1)):
            m.submodules[name] = sram = Sram(depth=SLOTS * OPERAND_LINES, width=8 * READ_BYTES)
            m.d.comb += [
                sram.write_mask.eq(fetch.write & (fetch.is_b == is_b)),
                sram.write_address.eq(Cat(fetch.line, fetch.slot)),
                sram.write_data.eq(fetch.data),
            ]
            srams.append(sram)
        a, b = srams
        m.d.comb += [
            a.read_enable.eq(go),
            a.read_address.eq(Cat(step.row, step.set[-1], slot)),
            b.read_enable.eq(loader.read),
            b.read_address.eq(loader.address),
            loader.read_data.eq(b.read_data),
            *(loader.arrived[number].eq(fetch.arrived[number]) for number in range(SLOTS)),
        ]
        width = 32 * hgmma.step_words  # bits of a row in a set
        part = selected.set[:-1]  # of the half of a row
        numbers = a.read_data.word_select(part, width)
        row = Signal(numbers_layout(hgmma), reset_less=True)
        # TF32 is the upper bits of a word.
        container, used = hgmma.operand_width, len(Value.cast(row)) // hgmma.terms
        ends = range(container, width + 1, container)
        m.d.sync += Value.cast(row).eq(Cat(numbers[end - used : end] for end in ends))
        return row
