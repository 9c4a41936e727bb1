"""Product queue: the matrix products in the unit, from their first micro-operation on."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...emit.component import Component
from ...isa.memory_map import SHARED_BASE
from ...lib.interfaces.execution_unit import operation_layout
from ...lib.interfaces.memory_fault import MemoryFault, memory_fault_layout
from ...lib.one_hot import lowest, select, select_one
from ...lib.streams import Queue
from .config import READ_BYTES, SWIZZLE_ROW_BYTES, SharedFedBlockConfig
from .layouts import product_layout
from .operand_lines import is_split
from .shared_fed_fetch import operands_layout
from .signatures import ComputeSignature, DrainSignature, GatherSignature

__all__ = ["ProductQueue"]


class ProductQueue(Component):
    """Product queue: a ring of products, each in one tile of accumulators.

    The first micro-operation of a product takes the next tile and gives the addresses of A and B,
    those of the last active lane. The others are those of the same warp; micro-operations of
    several products may alternate. In the order of their first micro-operations products pass three
    stages, each at its own pace: their operands are fetched; they are computed, once all of C is
    gathered; they are drained.

    A product is reported in `fault` if an operand does not lie in shared memory or at a multiple of
    32 bytes, or if its rows cross a multiple of 128 with layout ``swizzle128``. It is neither
    fetched nor computed nor drained. So its warp, which waits for the result, stalls forever.

    Parameters
    ----------
    config : SharedFedBlockConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config.core)))
        Micro-operations; always ready. A product may begin only if a tile is free.
    gather : Out(GatherSignature(config.tensor))
        Register of this micro-operation.
    operands : Out(stream.Signature(operands_layout(config.shared)))
        Operands to fetch, 3 cycles after the first micro-operation.
    compute : Out(ComputeSignature(config.tensor))
    drain : Out(DrainSignature(config.core))
    released : Out(1)
        A tile is free from the next cycle on.
    fault : Out(stream.Signature(memory_fault_layout(config.core)))
    """

    def __init__(self, config: SharedFedBlockConfig):
        self.config = config
        self.tiles = config.tensor.queue
        super().__init__({
            "i": In(stream.Signature(operation_layout(config.core))),
            "gather": Out(GatherSignature(config.tensor)),
            "operands": Out(stream.Signature(operands_layout(config.shared))),
            "compute": Out(ComputeSignature(config.tensor)),
            "drain": Out(DrainSignature(config.core)),
            "released": Out(1),
            "fault": Out(stream.Signature(memory_fault_layout(config.core))),
        })

    def elaborate(self, platform):
        m = Module()
        tiles, given = self.tiles, self.i.payload
        takes = self.i.valid & (given.beat == 0)
        newest = self.pointer(m, "newest", takes)
        gathering, gathered, finished = Signal(tiles), Signal(tiles), Signal(tiles)
        layout = product_layout(self.config.core)
        infos = [Signal(layout, name=f"info_{tile}", reset_less=True) for tile in range(tiles)]
        same = Cat(info.warp == given.warp for info in infos) & gathering
        m.d.comb += [
            self.i.ready.eq(1),
            self.gather.tiles.eq(Mux(self.i.valid, Mux(given.beat == 0, newest, same), 0)),
            self.gather.register.eq(given.beat),
            Value.cast(self.gather.values).eq(Value.cast(given.operands[2])),
        ]
        for tile, info in enumerate(infos):
            with m.If(takes & newest[tile]):
                m.d.sync += [info[name].eq(given[name]) for name, _ in layout]
        refused = self.check(m, takes, newest)
        is_last = given.beat == self.config.tensor.registers - 1
        ends = Mux(is_last, self.gather.tiles, 0)
        computes, drains = Signal(), Signal()  # a product leaves the stage
        computing = self.pointer(m, "computing", computes)
        draining = self.pointer(m, "draining", drains)
        is_refused = (computing & refused).any()
        is_dropped = (draining & refused).any()
        has_c, has_results = (gathered & computing).any(), (finished & draining).any()
        m.d.comb += [
            self.compute.tile.eq(computing),
            self.compute.computable.eq(has_c & ~is_refused),
            computes.eq(self.compute.computed | (has_c & is_refused)),
            self.drain.tile.eq(draining),
            self.drain.drainable.eq(has_results & ~is_dropped),
            drains.eq(self.drain.drained | (has_results & is_dropped)),
            self.released.eq(drains),
            Value.cast(self.drain.info).eq(
                select_one(draining, [Value.cast(info) for info in infos])
            ),
        ]
        passed = Mux(computes, computing, 0)
        skipped = Mux(computes & is_refused, computing, 0)
        m.d.sync += [
            gathering.eq((gathering | Mux(takes, newest, 0)) & ~ends),
            gathered.eq((gathered | ends) & ~passed),
            finished.eq((finished | self.compute.complete | skipped) & ~Mux(drains, draining, 0)),
        ]
        if platform is None:
            busy = gathering | gathered | finished
            m.d.sync += Assert(~(takes & (busy & newest).any()), "a tile is taken twice")
        return m

    def pointer(self, m: Module, name: str, moves: Value) -> Signal:
        """Return a one-hot pointer to a tile; it moves to the next one."""
        pointer = Signal(self.tiles, init=1, name=name)
        with m.If(moves):
            m.d.sync += pointer.eq(pointer.rotate_left(1))
        return pointer

    def check(self, m: Module, takes: Value, newest: Value) -> Value:
        """Queue the operands of a new product, or report its fault; return the refused tiles."""
        config, given = self.config, self.i.payload
        threads = range(config.core.threads)
        instruction = product_layout(config.core)
        fields = {name: field.shape for name, field in instruction if name != "mask"}
        layout = data.StructLayout({
            **fields,
            "lane": len(threads),
            "tile": self.tiles,
            "a": 32,
            "b": 32,
        })
        new, is_new = Signal(layout, reset_less=True), Signal()
        m.d.sync += is_new.eq(takes)
        with m.If(takes):
            rows = [Cat(given.operands[0][k], given.operands[1][k]) for k in threads]
            m.d.sync += [
                *(new[name].eq(given[name]) for name in fields),
                new.lane.eq(lowest(given.mask[::-1])[::-1]),
                new.tile.eq(newest),
                Cat(new.a, new.b).eq(select(given.mask, rows)),
            ]
        low, width = exact_log2(READ_BYTES), config.shared.address_width
        hgmma = self.config.tensor
        sizes = hgmma.a_row_bytes, hgmma.b_row_bytes
        (a_is_outside, a_is_misplaced), (b_is_outside, b_is_misplaced) = (
            (
                self.is_outside(address, hgmma.span(size)),
                address[:low].any() | is_split(hgmma, address, size),
            )
            for address, size in zip((new.a, new.b), sizes, strict=True)
        )
        a_is_wrong = a_is_outside | a_is_misplaced
        is_wrong, fails = Signal(), Signal()
        m.submodules.operands = operands = Queue(operands_layout(config.shared), self.tiles)
        connect(m, operands.o, flipped(self.operands))
        m.d.comb += [
            is_wrong.eq(a_is_wrong | b_is_outside | b_is_misplaced),
            fails.eq(is_new & is_wrong),
            operands.i.valid.eq(is_new & ~is_wrong),
            operands.i.payload.a.eq(new.a[low:width]),
            operands.i.payload.b.eq(new.b[low:width]),
        ]
        fault, refused = self.fault.payload, Signal(self.tiles)
        checked = Mux(is_new, new.tile, 0)
        m.d.sync += [
            refused.eq(Mux(is_wrong, refused | checked, refused & ~checked)),
            self.fault.valid.eq(fails | (self.fault.valid & ~self.fault.ready)),
        ]
        with m.If(fails):
            is_outside = Mux(a_is_wrong, a_is_outside, b_is_outside)
            m.d.sync += [
                *(fault[name].eq(new[name]) for name in fields),
                fault.mask.eq(new.lane),
                fault.kind.eq(Mux(is_outside, MemoryFault.NOT_SHARED, MemoryFault.MISALIGNED)),
                fault.address.eq(Mux(a_is_wrong, new.a, new.b)),
            ]
        return refused

    def is_outside(self, address: Value, span: int) -> Value:
        """Return whether an operand at this address, within `span` bytes, is not in shared memory.

        With layout ``swizzle128`` the span begins at a multiple of 128 bytes.
        """
        width, end = self.config.shared.address_width, exact_log2(span)
        begin = exact_log2(SWIZZLE_ROW_BYTES) if self.config.tensor.is_swizzled else 0
        is_near_end = address[end:width].all() & address[begin:end].any()
        return (address[width:] != SHARED_BASE >> width) | is_near_end
