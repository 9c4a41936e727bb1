"""Systolic issue of steps for the output-stationary array: interleaved tiles, one chain over K."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...config import MatrixUnitConfig
from .systolic_issue import issue_events, issue_work

__all__ = ["IssueSteps", "step_target"]


def step_target(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of the side band of a column of A and a row of B."""
    width = config.matrix.accumulator_address_width
    return data.StructLayout({"first": 1, "last": 1, "address": width, "accumulate": 1})


class IssueSteps(wiring.Component):
    """Step issue: offers steps to the array in frames, with stores in between.

    A frame has L cycles, the latency of the multiply-add. Its cycle n is the step of column block
    n of the group; all its steps use the same column of A. The order is groups, row blocks, k, so
    the accumulator rows of later frames ascend. Frames start in cycles congruent modulo L, once
    the operands of all their steps are available. The frame that ends its tiles also waits:

    - until the last such frame is ``rows * slots`` cycles ago, slots = max(2, L), so that the sums
      of both can leave;
    - with `accumulate`, in the first tiles of an operation, until all earlier sums have left, and
      `revisit_latency` cycles more;
    - until an active drain has read the rows it will write.

    Parameters
    ----------
    config : MatrixUnitConfig
    revisit_latency : int

    Members
    -------
    i : In(stream.Signature(issue_work(config)))
    a_valid : In(1)
        A column of A is available.
    a_ready : Out(1)
        The column of A is used up.
    b_level : In
        Rows of B available in consecutive cycles.
    b_ready : Out(1)
        A row of B is accepted.
    drain_pointer, drain_end : In(accumulator address width + 1)
    offer : Out(1)
    target : Out(step_target(config))
    store_valid : Out(1)
        The store of `i` may start.
    store_ready : In(1)
        It starts in this cycle.
    last_row : Out(1)
        The last step of a compute is offered, or an empty step of its frame.
    running : In(1)
        An operation is unfinished.
    events : Out(issue_events)

    """

    i: stream.Interface
    a_valid: Signal
    a_ready: Signal
    b_level: Signal
    b_ready: Signal
    drain_pointer: Signal
    drain_end: Signal
    offer: Signal
    target: data.View
    store_valid: Signal
    store_ready: Signal
    last_row: Signal
    running: Signal
    events: data.View

    def __init__(self, config: MatrixUnitConfig, revisit_latency: int, level_width: int):
        self.config = config
        self.revisit_latency = revisit_latency
        width = config.matrix.accumulator_address_width
        super().__init__({
            "i": In(stream.Signature(issue_work(config))),
            "a_valid": In(1),
            "a_ready": Out(1),
            "b_level": In(level_width),
            "b_ready": Out(1),
            "drain_pointer": In(width + 1),
            "drain_end": In(width + 1),
            "offer": Out(1),
            "target": Out(step_target(config)),
            "store_valid": Out(1),
            "store_ready": In(1),
            "last_row": Out(1),
            "running": In(1),
            "events": Out(issue_events),
        })

    def elaborate(self, platform):
        m = Module()
        work, tiles = self.i.payload, self.config.matrix.element_latency
        computed = Signal()  # all steps of this operation are offered
        computing, storing = Signal(), Signal()
        m.d.comb += [
            computing.eq(self.i.valid & work.compute & ~computed),
            storing.eq(self.i.valid & work.store & (computed | ~work.compute)),
        ]

        # Counts only while an operation runs, so that clock gating before changes nothing.
        phase = Signal(range(tiles))
        in_frame = Signal()
        frame = Signal()
        starts = Signal()
        m.d.comb += frame.eq(starts | in_frame)
        with m.If(self.running):
            m.d.sync += phase.eq(Mux(phase == tiles - 1, 0, phase + 1))
            m.d.sync += in_frame.eq(frame & (phase != tiles - 1))

        ends_tiles, ends_all, is_first, is_tile = self.count(m, frame, phase)
        undrained, too_soon = self.hazards(m, phase, ends_tiles, is_first)
        operands = self.a_valid & (self.b_level >= tiles)
        m.d.comb += [
            starts.eq(computing & (phase == 0) & operands & ~(undrained | too_soon)),
            self.offer.eq(frame & is_tile),
            self.a_ready.eq(frame & (phase == tiles - 1)),
            self.b_ready.eq(frame),
            self.target.last.eq(ends_tiles),
            self.target.accumulate.eq(work.accumulate),
            self.last_row.eq(frame & (phase == tiles - 1) & ends_all),
            self.store_valid.eq(storing),
            self.i.ready.eq(Mux(storing, self.store_ready, self.last_row & ~work.store)),
        ]
        with m.If(self.last_row & work.store):
            m.d.sync += computed.eq(1)
        with m.If(storing & self.store_ready):
            m.d.sync += computed.eq(0)
        self.report(m, computing & ~frame, storing, undrained, too_soon)
        return m

    def count(self, m, frame, phase):
        """Count steps, row blocks and groups.

        Return whether the frame ends its tiles, whether it ends the operation, whether its tiles
        are the first, and whether this phase has a tile.
        """
        work, target, matrix = self.i.payload, self.target, self.config.matrix
        tiles, rows = matrix.element_latency, matrix.rows
        step, i_block, group = (
            Signal(work[name].shape(), name=name) for name in ("step", "i_block", "group")
        )
        row_address, address, next_group = (
            Signal.like(target.address, name=name)
            for name in ("row_address", "address", "next_group")
        )
        column_stride = (work.i_blocks * rows)[: len(address)]
        ends_tiles, ends_rows, ends_all = Signal(), Signal(), Signal()
        ends_frame = frame & (phase == tiles - 1)
        m.d.comb += [
            ends_tiles.eq(step == work.step),
            ends_rows.eq(ends_tiles & (i_block == work.i_block)),
            ends_all.eq(ends_rows & (group == work.group)),
            target.first.eq(step == 0),
            target.address.eq(address),
        ]
        group_address = Signal.like(address)
        m.d.comb += next_group.eq(
            (group_address + (work.i_blocks * (rows * tiles)))[: len(address)]
        )
        with m.If(frame):
            m.d.sync += address.eq(address + column_stride)
        with m.If(ends_frame):
            m.d.sync += [step.eq(step + 1), address.eq(row_address)]
            with m.If(ends_tiles):
                m.d.sync += [step.eq(0), i_block.eq(i_block + 1)]
                m.d.sync += [row_address.eq(row_address + rows), address.eq(row_address + rows)]
            with m.If(ends_rows):
                m.d.sync += [i_block.eq(0), group.eq(group + 1), group_address.eq(next_group)]
                m.d.sync += [row_address.eq(next_group), address.eq(next_group)]
            with m.If(ends_all):
                m.d.sync += [group.eq(0), group_address.eq(0)]
                m.d.sync += [row_address.eq(0), address.eq(0)]
        is_first = (i_block == 0) & (group == 0)
        is_tile = (group != work.group) | (phase < work.last_tiles)
        return ends_tiles, ends_all, is_first, is_tile

    def hazards(self, m, phase, ends_tiles, is_first):
        """Return whether a frame that ends tiles must wait for the drain, or for earlier sums."""
        work, matrix = self.i.payload, self.config.matrix
        tiles, rows = matrix.element_latency, matrix.rows
        slots = max(2, tiles)
        # Highest row written by the tiles of this frame, or above it if tiles are missing.
        top = self.target.address + work.i_blocks * (rows * (tiles - 1)) + (rows - 1)
        draining = self.drain_pointer != self.drain_end
        undrained, too_soon = Signal(), Signal()

        # Last steps of the first tile of each frame, the latest in bit 0.
        settled = rows * slots + self.revisit_latency
        history = Signal(settled)
        with m.If(self.running):
            m.d.sync += history.eq(Cat(self.offer & ends_tiles & (phase == 0), history))
        leaving = Cat(history[count * slots - 1] for count in range(1, rows)).any()
        all_left = ~history.any()
        revisits = work.accumulate & is_first
        m.d.comb += [
            undrained.eq(ends_tiles & draining & (top >= self.drain_pointer)),
            too_soon.eq(ends_tiles & (leaving | (revisits & ~all_left))),
        ]
        return undrained, too_soon

    def report(self, m, waits, storing, undrained, too_soon):
        """Drive the event of this cycle."""
        tiles = self.config.matrix.element_latency
        m.d.comb += self.events.active.eq(self.offer)
        with m.If(storing | (waits & undrained)):
            m.d.comb += self.events.wait_drain.eq(1)
        with m.Elif(waits & too_soon):
            m.d.comb += self.events.wait_revisit.eq(1)
        with m.Elif(waits & self.a_valid & (self.b_level < tiles)):
            m.d.comb += self.events.wait_weights.eq(1)
        with m.Elif(waits):
            m.d.comb += self.events.wait_a.eq(1)
        with m.Elif(self.running & ~self.offer):
            m.d.comb += self.events.idle.eq(1)
