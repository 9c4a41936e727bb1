"""Systolic issue of steps for the output-stationary array: interleaved tiles, one chain over K."""

from amaranth import *
from amaranth.lib import data

from .systolic_issue import SystolicIssue

__all__ = ["StepIssue"]


class StepIssue(SystolicIssue):
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

    Parameters and members are those of `SystolicIssue`.
    """

    def elaborate(self, platform):
        m = Module()
        tiles = self.config.matrix.element_latency
        work, computing, takes, storing = self.advance(m)

        stores = storing & ~computing  # all steps before are offered
        # Counts only while an operation runs, so that clock gating before changes nothing.
        phase = Signal(range(tiles))
        in_frame = Signal()
        frame = Signal()
        starts = Signal()
        m.d.comb += frame.eq(starts | in_frame)
        with m.If(self.running):
            m.d.sync += phase.eq(Mux(phase == tiles - 1, 0, phase + 1))
            m.d.sync += in_frame.eq(frame & (phase != tiles - 1))

        ends_tiles, ends_all, is_first, is_tile = self.count(m, work, takes, frame, phase)
        undrained, too_soon = self.hazards(m, work, phase, ends_tiles, is_first)
        operands = self.a.valid & (self.b_level >= tiles)
        m.d.comb += [
            starts.eq(computing & (phase == 0) & operands & ~(undrained | too_soon)),
            self.step.valid.eq(frame & is_tile),
            self.a.ready.eq(frame & (phase == tiles - 1)),
            self.b.ready.eq(frame),
            self.step.payload.a.eq(self.a.payload),
            self.step.payload.b.eq(self.b.payload),
            self.step.payload.last.eq(ends_tiles),
            self.step.payload.accumulate.eq(work.accumulate),
            self.last_row.valid.eq(frame & (phase == tiles - 1) & ends_all),
            self.store.valid.eq(stores),
        ]
        self.report(
            m,
            self.step.valid,
            computing & ~frame,
            stores,
            undrained=undrained,
            too_soon=too_soon,
            weightless=self.a.valid & (self.b_level < tiles),
        )
        return m

    def count(self, m: Module, work: data.View, takes: Value, frame: Value, phase: Signal):
        """Count steps, row blocks and groups.

        Return whether the frame ends its tiles, whether it ends the operation, whether its tiles
        are the first, and whether this phase has a tile.
        """
        target, matrix = self.step.payload, self.config.matrix
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
                m.d.sync += group.eq(0)
        with m.If(takes):
            base = self.i.p.issue.base
            m.d.sync += [counter.eq(base) for counter in (group_address, row_address, address)]
        is_first = (i_block == 0) & (group == 0)
        is_tile = (group != work.group) | (phase < work.last_tiles)
        return ends_tiles, ends_all, is_first, is_tile

    def hazards(
        self, m: Module, work: data.View, phase: Signal, ends_tiles: Value, is_first: Value
    ):
        """Return whether a frame that ends tiles must wait for the drain, or for earlier sums."""
        matrix = self.config.matrix
        tiles, rows = matrix.element_latency, matrix.rows
        slots = max(2, tiles)
        # Highest row written by the tiles of this frame, or above it if tiles are missing.
        top = self.step.payload.address + work.i_blocks * (rows * (tiles - 1)) + (rows - 1)
        draining = self.progress.pointer != self.progress.end
        undrained, too_soon = Signal(), Signal()

        # Last steps of the first tile of each frame, the latest in bit 0.
        settled = rows * slots + self.revisit_latency
        history = Signal(settled)
        with m.If(self.running):
            m.d.sync += history.eq(Cat(self.step.valid & ends_tiles & (phase == 0), history))
        leaving = Cat(history[count * slots - 1] for count in range(1, rows)).any()
        all_left = ~history.any()
        revisits = work.accumulate & is_first
        m.d.comb += [
            undrained.eq(ends_tiles & draining & (top >= self.progress.pointer)),
            too_soon.eq(ends_tiles & (leaving | (revisits & ~all_left))),
        ]
        return undrained, too_soon
