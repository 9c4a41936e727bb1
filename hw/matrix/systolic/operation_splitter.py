"""Operation splitter: loads for the DMA, walks for operand fetch, work for the array."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...lib.interfaces.shared_memory import Direction, dma_descriptor
from ..operation import operation
from .dataflows import dataflow_of
from .fetch.walk import tile_walk
from .systolic_issue import dispatch_work
from .tracker import SLOT_WIDTH, SlotSignature, descriptor_tag, parts_of

__all__ = ["OperationSplitter"]


class OperationSplitter(Component):
    """Operation splitter: issues the parts of one operation after another.

    An operation starts when there is a slot and room for all its parts, one cycle later if its rows
    are scaled: a walk over the scales precedes that over A. Its loads follow, one per cycle if the
    DMA accepts them. Loads therefore reach the DMA in the order of the operations and
    never wait for computes.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    i : In(stream.Signature(operation(config)))
    slots : Out(SlotSignature(loads_d=config.matrix.load_d))
    load : Out(stream.Signature(dma_descriptor(config.shared)))
    walk_a, walk_b : Out(stream.Signature(tile_walk(config)))
    work : Out(stream.Signature(dispatch_work(config)))

    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operation(config))),
            "slots": Out(SlotSignature(loads_d=config.matrix.load_d)),
            "load": Out(stream.Signature(dma_descriptor(config.shared))),
            "walk_a": Out(stream.Signature(tile_walk(config))),
            "walk_b": Out(stream.Signature(tile_walk(config))),
            "work": Out(stream.Signature(dispatch_work(config))),
        })

    def elaborate(self, platform):
        m = Module()
        operation = self.i.payload
        slot = Signal(SLOT_WIDTH, reset_less=True)
        room = self.walk_a.ready & self.walk_b.ready & self.work.ready & self.slots.free
        computes = operation.compute | operation.store
        if self.config.matrix.load_d:
            computes |= operation.load_d
        loads = operation.load_a | operation.load_b
        loads_b = Signal()
        m.d.comb += loads_b.eq(~operation.load_a)
        scales = self.walk_scales(m, operation, room)

        parts = parts_of(loads_d=self.config.matrix.load_d)
        m.d.comb += [getattr(self.slots, name).eq(operation[name]) for name in parts]
        m.d.comb += [walk.p.slot.eq(self.slots.slot) for walk in (self.walk_a, self.walk_b)]
        # These three go to queues with a `ready` that does not depend on `valid`.
        m.d.comb += [
            self.walk_a.valid.eq(scales | (self.slots.begin & operation.compute)),
            self.walk_b.valid.eq(self.slots.begin & operation.compute),
            self.work.valid.eq(self.slots.begin & computes),
        ]
        with m.FSM():
            with m.State("BEGIN"), m.If(self.i.valid & room & ~scales):
                m.d.comb += [self.slots.begin.eq(1), self.i.ready.eq(~loads)]
                m.d.sync += slot.eq(self.slots.slot)
                with m.If(loads):
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += self.load.valid.eq(1)
                with m.If(self.load.ready):
                    m.next = "BEGIN"
                    with m.If(operation.load_a & operation.load_b):
                        m.next = "LOAD_B"
                    with m.Else():
                        m.d.comb += self.i.ready.eq(1)
            with m.State("LOAD_B"):
                m.d.comb += [loads_b.eq(1), self.load.valid.eq(1), self.i.ready.eq(self.load.ready)]
                with m.If(self.load.ready):
                    m.next = "BEGIN"
        self.form_load(m, operation, slot, loads_b)
        with m.If(scales):
            m.d.comb += self.form_scales(operation)
        with m.Else():
            m.d.comb += dataflow_of(self.config.matrix).form_walks(
                self.config, operation, self.walk_a.p.walk, self.walk_b.p.walk
            )
        self.form_work(m, operation)
        return m

    def walk_scales(self, m: Module, operation: data.View, room: Value) -> Value:
        """Return whether the walk of A is that over scales, which precedes that over the tile."""
        if not self.config.matrix.scales_rows:
            return C(0)
        walks, has_walked = Signal(), Signal()
        m.d.comb += walks.eq(self.i.valid & room & operation.scale_lines.any() & ~has_walked)
        m.d.sync += has_walked.eq((has_walked | walks) & ~self.slots.begin)
        return walks

    def form_scales(self, operation: data.View) -> list:
        """Return the walk of A over the scales, or nothing if rows are not scaled."""
        if not self.config.matrix.scales_rows:
            return []
        walk = self.walk_a.p.walk
        return [
            walk.base.eq(operation.scales_line),
            walk.line_step.eq(1),
            walk.line.eq(operation.scale_lines - 1),
            walk.by_element.eq(1),
            walk.last_count.eq(self.config.matrix.rows),
        ]

    def form_load(self, m: Module, operation: data.View, slot: Value, loads_b: Value):
        """Set the load of A or of B; a transposed operand has its axes swapped."""
        matrix, load = self.config.matrix, self.load.payload
        height_a = Mux(operation.transpose_a, operation.depth, operation.height)
        width_a = Mux(operation.transpose_a, operation.height, operation.depth)
        height_b = Mux(operation.transpose_b, operation.width, operation.depth)
        width_b = Mux(operation.transpose_b, operation.depth, operation.width)
        pitch_a = Mux(operation.transpose_a, operation.i_blocks, operation.k_blocks)
        pitch_b = Mux(operation.transpose_b, operation.k_blocks, operation.j_blocks)
        a_shift, b_shift = exact_log2(matrix.a_bytes), exact_log2(matrix.b_bytes)
        m.d.comb += [
            load.direction.eq(Direction.LOAD),
            load.dram.eq(Mux(loads_b, operation.b_address, operation.a_address)),
            load.dram_pitch.eq(Mux(loads_b, operation.b_pitch, operation.a_pitch)),
            load.local.eq(Mux(loads_b, operation.b_line << b_shift, operation.a_line << a_shift)),
            load.local_pitch.eq(Mux(loads_b, pitch_b << b_shift, pitch_a << a_shift)),
            load.rows.eq(Mux(loads_b, height_b, height_a)),
            load.bytes.eq(Mux(loads_b, width_b, width_a) << exact_log2(matrix.operand_bytes)),
            load.tag.eq(descriptor_tag(slot)),
        ]

    def form_work(self, m: Module, operation: data.View):
        """Set the work of the array and the store of C."""
        matrix = self.config.matrix
        issue, store = self.work.payload.issue, self.work.payload.store
        column_shift = exact_log2(matrix.columns)

        def result_bytes(elements: Value):
            wide, narrow = exact_log2(matrix.wide_bytes), exact_log2(matrix.narrow_bytes)
            return Mux(operation.wide, elements << wide, elements << narrow)

        m.d.comb += [
            issue.slot.eq(self.slots.slot),
            issue.compute.eq(operation.compute),
            issue.store.eq(operation.store),
            issue.accumulate.eq(operation.accumulate),
            issue.base.eq(operation.base),
            issue.end.eq(operation.end),
            issue.i_blocks.eq(operation.i_blocks),
            *dataflow_of(matrix).form_loops(self.config, operation, issue),
            store.spill.eq(operation.spill),
            store.wide.eq(operation.wide),
            store.relu.eq(operation.relu),
            store.scale.eq(operation.scale),
            store.address.eq(operation.c_address),
            store.pitch.eq(operation.c_pitch),
            store.base.eq(operation.base),
            store.line.eq(operation.c_line),
            store.line_pitch.eq(result_bytes(operation.j_blocks << column_shift)),
            store.height.eq(operation.height),
            store.bytes.eq(result_bytes(operation.width)),
            store.j_blocks.eq(operation.j_blocks),
            store.i_blocks.eq(operation.i_blocks),
        ]
        if matrix.scales_rows:
            m.d.comb += issue.scale_lines.eq(operation.scale_lines)
        if matrix.load_d:
            work = self.work.payload.d
            m.d.comb += [
                issue.load_d.eq(operation.load_d),
                work.slot.eq(self.slots.slot),
                work.shared.eq(operation.d_shared),
                work.address.eq(operation.d_address),
                work.pitch.eq(operation.d_pitch),
                work.height.eq(operation.height),
                work.bytes.eq(operation.width << exact_log2(matrix.wide_bytes)),
                work.i_blocks.eq(operation.i_blocks),
                work.base.eq(operation.base),
                work.end.eq(operation.end),
            ]
