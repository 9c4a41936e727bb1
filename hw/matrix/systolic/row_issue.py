"""Systolic issue of rows: schedules rows into the array and the stores of finished tiles."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import connect, flipped

from .systolic_issue import SystolicIssue
from .weights import Weights

__all__ = ["RowIssue"]


class RowIssue(SystolicIssue):
    """Row issue: rows in the order column block, k-block, row, with stores in between.

    All of K for one column block precedes the next: overwrites of accumulator rows are spread over
    the operation, and a drain of their old contents stays ahead of them. One row per cycle while
    operands are available; operations follow without a pause. A row waits:

    - the first of a tile: until its weights are available (`Weights`);
    - any row that an active drain has not read: until it is read;
    - with `accumulate`: until its address was last offered `revisit_latency` cycles ago. A pass
      counts its rows and the cycles after it, so that only small tiles wait;
    - if rows are scaled: until all scales have arrived, ahead of the first row.

    A store starts in the last column block of the compute before it, if both have the same shape,
    several column blocks, and no drain is active: its drain reads the finished column blocks
    meanwhile, and the last one when all rows are offered (`unfinished`). It starts when its passes
    are no more than the column blocks, so that it occupies the DMA no longer than it must, and when
    no load is unfinished, since the next compute may wait for that load. Any other store starts
    when all rows before it were offered. If its shape differs from that of the
    last compute, the drain could overtake the array, so it waits until nothing is `in_flight`.

    Parameters and members are those of `SystolicIssue`.
    """

    def elaborate(self, platform):
        m = Module()
        work, computing, takes, storing = self.advance(m)
        available = self.load_weights(m)
        unscaled = self.load_scales(m, work, computing, takes)
        pass_begins, pass_ends, is_ending = self.count(m, work, takes)
        too_soon, fits = self.revisit(m, work, computing, pass_begins, pass_ends)

        undrained, weightless = Signal(), Signal()
        m.d.comb += [
            undrained.eq(
                (self.row.payload.address >= self.progress.pointer)
                & (self.row.payload.address < self.progress.end)
                & ~self.progress.unfinished
            ),
            weightless.eq(self.row.payload.swap & ~available),
            self.row.payload.a.eq(self.a.payload),
            self.row.valid.eq(
                computing & self.a.valid & ~(undrained | weightless | too_soon | unscaled)
            ),
            self.a.ready.eq(
                self.row.valid | (self.scales.valid if self.config.matrix.scales_rows else 0)
            ),
        ]
        self.start_stores(m, computing, storing, fits, is_ending)
        self.report(
            m,
            self.row.valid,
            computing,
            storing & ~computing,
            undrained=undrained,
            too_soon=too_soon & ~unscaled,
            weightless=weightless,
        )
        return m

    def start_stores(
        self, m: Module, computing: Value, storing: Value, fits: Value, is_ending: Value
    ):
        """Offer the next store: during the last column block before it, or after all rows."""
        has_started = Signal()  # during this compute
        idle = self.progress.pointer == self.progress.end
        m.d.comb += self.store.valid.eq(
            storing
            & Mux(computing, self.progress.unfinished & fits & ~has_started, fits | ~self.in_flight)
        )
        may_start = computing & storing & fits & is_ending & idle & ~has_started
        with m.If(may_start & ~self.loading):
            m.d.sync += self.progress.unfinished.eq(1)
        with m.If(self.store.valid & self.store.ready):
            m.d.sync += has_started.eq(1)
        with m.If(~computing | self.last_row.valid):
            m.d.sync += [self.progress.unfinished.eq(0), has_started.eq(0)]

    def load_weights(self, m: Module) -> Signal:
        """Offer rows of weights; return whether those of the next tile may be swapped in."""
        m.submodules.weights = weights = Weights(self.config.matrix, len(self.b_level))
        connect(m, flipped(self.b), weights.i)
        connect(m, weights.o, flipped(self.weights))
        m.d.comb += [
            weights.level.eq(self.b_level),
            weights.swap.eq(self.row.valid & self.row.payload.swap),
        ]
        return weights.available

    def load_scales(self, m: Module, work: data.View, computing: Value, takes: Value) -> Value:
        """Offer the lines of scales that precede the rows of A; return whether any is missing.

        They overwrite those of the last compute with scales, so they wait until its rows are
        written.
        """
        if not self.config.matrix.scales_rows:
            return C(0)
        number = Signal.like(work.scale_lines, name="scale_line")
        in_use = Signal(range(self.write_latency + 1))
        missing = Signal()
        m.d.comb += [
            missing.eq(computing & (number != work.scale_lines)),
            self.scales.valid.eq(missing & self.a.valid & ~in_use.any()),
            self.scales.payload.line.eq(self.a.payload),
            self.scales.payload.number.eq(number),
        ]
        with m.If(self.scales.valid):
            m.d.sync += number.eq(number + 1)
        with m.If(takes):
            m.d.sync += number.eq(0)
        with m.If(self.row.valid & self.row.payload.scaled):
            m.d.sync += in_use.eq(self.write_latency)
        with m.Elif(in_use.any()):
            m.d.sync += in_use.eq(in_use - 1)
        return missing

    def count(self, m: Module, work: data.View, takes: Value):
        """Count rows, passes and blocks.

        Return whether the pass begins here, whether it ends here, and whether the last of several
        blocks is in progress, with at most as many passes left as there are blocks.
        """
        target = self.row.payload
        stride = work.i_blocks * self.config.matrix.rows
        row, block, k_block = (
            Signal(work[name].shape(), name=name) for name in ("row", "block", "k_block")
        )
        address = Signal.like(target.address)
        block_address = Signal.like(target.address)
        next_block = Signal.like(target.address)
        pass_ends, block_ends = Signal(), Signal()
        m.d.comb += [
            target.swap.eq(row == 0),
            target.address.eq(address),
            target.accumulate.eq(work.accumulate | k_block.any()),
            next_block.eq(block_address + stride),
            pass_ends.eq(row == work.row),
            block_ends.eq(pass_ends & (k_block == work.k_block)),
            self.last_row.valid.eq(self.row.valid & block_ends & (block == work.block)),
        ]
        with m.If(self.row.valid):
            m.d.sync += [row.eq(row + 1), address.eq(address + 1)]
            with m.If(pass_ends):
                m.d.sync += [row.eq(0), k_block.eq(k_block + 1), address.eq(block_address)]
            with m.If(block_ends):
                m.d.sync += [k_block.eq(0), block.eq(block + 1)]
                m.d.sync += [address.eq(next_block), block_address.eq(next_block)]
                with m.If(block == work.block):
                    m.d.sync += block.eq(0)
        with m.If(takes):
            m.d.sync += [counter.eq(self.i.p.issue.base) for counter in (address, block_address)]
        if self.config.matrix.scales_rows:
            m.d.comb += target.scaled.eq(work.scale_lines.any() & (k_block == 0))
        is_ending = block.any() & (block == work.block) & (work.k_block - k_block <= work.block)
        return row == 0, pass_ends, is_ending

    def revisit(
        self, m: Module, work: data.View, computing: Value, pass_begins: Value, pass_ends: Value
    ):
        """Return whether this row must wait, and whether `i` has the shape of the last compute."""
        latency = self.revisit_latency
        shape = Cat(work.row, work.block, work.i_blocks, work.base)
        last_shape = Signal.like(shape, reset_less=True)
        last_base, last_end = (Signal.like(work[name], reset_less=True) for name in ("base", "end"))
        same_shape, fits, is_apart = Signal(), Signal(), Signal()
        # Offers of the last pass plus cycles since its end; `since_end` counts only the latter.
        since_start = Signal(range(latency + 1), init=latency)
        since_end = Signal(range(latency + 1), init=latency)
        between = Signal(init=1)
        following = self.i.p.issue
        m.d.comb += [
            same_shape.eq(shape == last_shape),
            is_apart.eq((work.base >= last_end) | (work.end <= last_base)),
            fits.eq(
                Cat(following.row, following.block, following.i_blocks, following.base)
                == last_shape
            ),
        ]

        with m.If((self.row.valid | between) & (since_start != latency)):
            m.d.sync += since_start.eq(since_start + 1)
        with m.If(between & (since_end != latency)):
            m.d.sync += since_end.eq(since_end + 1)
        with m.If(self.row.valid):
            m.d.sync += [
                between.eq(pass_ends),
                last_shape.eq(shape),
                last_base.eq(work.base),
                last_end.eq(work.end),
            ]
            with m.If(pass_begins):
                m.d.sync += since_start.eq(1)
            with m.If(pass_ends):
                m.d.sync += since_end.eq(1)

        # Rows before those of the last pass are as old as its start.
        settled = Mux(same_shape | is_apart, since_start, since_end) == latency
        too_soon = computing & pass_begins & self.row.payload.accumulate & ~settled
        return too_soon, fits
