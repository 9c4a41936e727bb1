"""Systolic issue of rows: schedules rows into the array and the stores of finished tiles."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ...config import MatrixUnitConfig
from ..operation import OperationLimits, output_groups

__all__ = ["SystolicIssue", "form_loops", "issue_events", "issue_work", "row_target"]

SLOT_WIDTH = 3


def issue_work(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of an operation's work for the array; loops are given by their last index.

    `compute` runs through the tile; column blocks are `i_blocks` blocks of accumulator rows apart.
    `store` then drains it.
    """
    matrix, limits = config.matrix, OperationLimits(config=config)
    i, j, k = limits.i_blocks, limits.j_blocks, limits.k_blocks
    if matrix.dataflow == "weight_stationary":
        loops = {"row": i * matrix.rows, "block": j, "k_block": k}
    else:
        loops = {"step": k * matrix.rows, "i_block": i, "group": j}
    return data.StructLayout({
        "slot": SLOT_WIDTH,
        "compute": 1,
        "store": 1,
        "accumulate": 1,
        "i_blocks": bits_for(i),
        **{name: bits_for(count - 1) for name, count in loops.items()},
        **({} if "row" in loops else {"last_tiles": 3}),
    })


def form_loops(config: MatrixUnitConfig, operation, work):
    """Return the assignments of the loops of `work`."""
    if config.matrix.dataflow == "weight_stationary":
        return [
            work.row.eq(operation.height - 1),
            work.block.eq(operation.j_blocks - 1),
            work.k_block.eq(operation.k_blocks - 1),
        ]
    groups, last_tiles = output_groups(config, operation.j_blocks)
    return [
        work.step.eq(operation.depth - 1),
        work.i_block.eq(operation.i_blocks - 1),
        work.group.eq(groups - 1),
        work.last_tiles.eq(last_tiles),
    ]


def row_target(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of the side band of a row of A."""
    width = config.matrix.accumulator_address_width
    return data.StructLayout({"swap": 1, "address": width, "accumulate": 1})


#: Use of a cycle: exactly one is high while an operation is unfinished, none otherwise.
issue_events = data.StructLayout({
    "active": 1,  # a row enters the array
    "idle": 1,  # there is nothing to compute
    "wait_a": 1,  # no row of A is available
    "wait_weights": 1,  # the next weights are not available
    "wait_drain": 1,  # rows have not left the accumulator yet, or a store begins
    "wait_revisit": 1,  # a row was last added to too recently
})


class SystolicIssue(wiring.Component):
    """Row issue: rows in the order column block, k-block, row, with stores in between.

    All of K for one column block precedes the next: overwrites of accumulator rows are spread over
    the operation, and a drain of their old contents stays ahead of them. One row per cycle while
    operands are available; operations follow without a pause. A row waits:

    - the first of a tile: until its weights are `available`;
    - any row that an active drain has not read: until it is read;
    - with `accumulate`: until its address was last offered `revisit_latency` cycles ago. A pass
      counts its rows and the cycles after it, so that only small tiles wait.

    A store starts when all rows before it were offered. If its shape differs from that of the last
    compute, the drain could overtake the array, so it waits until nothing is `in_flight`.

    Parameters
    ----------
    config : MatrixUnitConfig
    revisit_latency : int

    Members
    -------
    i : In(stream.Signature(issue_work(config)))
    a_valid : In(1)
        A row of A is available; it enters with `offer`.
    available : In(1)
    in_flight : In(1)
    drain_pointer, drain_end : In(accumulator address width + 1)
    offer : Out(1)
    target : Out(row_target(config))
    store_valid : Out(1)
        The store of `i` may start.
    store_ready : In(1)
        It starts in this cycle.
    last_row : Out(1)
        The last row of a compute is offered.
    running : In(1)
        An operation is unfinished.
    events : Out(issue_events)

    """

    i: stream.Interface
    a_valid: Signal
    available: Signal
    in_flight: Signal
    drain_pointer: Signal
    drain_end: Signal
    offer: Signal
    target: data.View
    store_valid: Signal
    store_ready: Signal
    last_row: Signal
    running: Signal
    events: data.View

    def __init__(self, config: MatrixUnitConfig, revisit_latency: int):
        self.config = config
        self.revisit_latency = revisit_latency
        width = config.matrix.accumulator_address_width
        super().__init__({
            "i": In(stream.Signature(issue_work(config))),
            "a_valid": In(1),
            "available": In(1),
            "in_flight": In(1),
            "drain_pointer": In(width + 1),
            "drain_end": In(width + 1),
            "offer": Out(1),
            "target": Out(row_target(config)),
            "store_valid": Out(1),
            "store_ready": In(1),
            "last_row": Out(1),
            "running": In(1),
            "events": Out(issue_events),
        })

    def elaborate(self, platform):
        m = Module()
        work = self.i.payload
        computed = Signal()  # all rows of this operation are offered
        computing, storing = Signal(), Signal()
        m.d.comb += [
            computing.eq(self.i.valid & work.compute & ~computed),
            storing.eq(self.i.valid & work.store & (computed | ~work.compute)),
        ]
        pass_begins, pass_ends = self.count(m)
        too_soon, same_shape = self.revisit(m, computing, pass_begins, pass_ends)

        undrained, weightless = Signal(), Signal()
        m.d.comb += [
            undrained.eq(
                (self.target.address >= self.drain_pointer) & (self.target.address < self.drain_end)
            ),
            weightless.eq(self.target.swap & ~self.available),
            self.offer.eq(computing & self.a_valid & ~(undrained | weightless | too_soon)),
            self.store_valid.eq(storing & (same_shape | ~self.in_flight)),
            self.i.ready.eq(
                Mux(storing, self.store_valid & self.store_ready, self.last_row & ~work.store)
                | ~(work.compute | work.store)
            ),
        ]
        with m.If(self.last_row & work.store):
            m.d.sync += computed.eq(1)
        with m.If(storing & self.i.ready):
            m.d.sync += computed.eq(0)

        m.d.comb += [
            self.events.active.eq(self.offer),
            self.events.idle.eq(self.running & ~(computing | storing)),
        ]
        with m.If(storing | (computing & undrained)):
            m.d.comb += self.events.wait_drain.eq(1)
        with m.Elif(computing & too_soon):
            m.d.comb += self.events.wait_revisit.eq(1)
        with m.Elif(computing & weightless):
            m.d.comb += self.events.wait_weights.eq(1)
        with m.Elif(computing & ~self.a_valid):
            m.d.comb += self.events.wait_a.eq(1)
        return m

    def count(self, m):
        """Count rows, passes and blocks; return whether a pass begins and whether it ends here."""
        work, target = self.i.payload, self.target
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
            self.last_row.eq(self.offer & block_ends & (block == work.block)),
        ]
        with m.If(self.offer):
            m.d.sync += [row.eq(row + 1), address.eq(address + 1)]
            with m.If(pass_ends):
                m.d.sync += [row.eq(0), k_block.eq(k_block + 1), address.eq(block_address)]
            with m.If(block_ends):
                m.d.sync += [k_block.eq(0), block.eq(block + 1)]
                m.d.sync += [address.eq(next_block), block_address.eq(next_block)]
                with m.If(block == work.block):
                    m.d.sync += [block.eq(0), address.eq(0), block_address.eq(0)]
        return row == 0, pass_ends

    def revisit(self, m, computing, pass_begins, pass_ends):
        """Return whether this row must wait, and whether the shape equals the last compute's."""
        work, latency = self.i.payload, self.revisit_latency
        shape = Cat(work.row, work.block, work.i_blocks)
        last_shape = Signal.like(shape, reset_less=True)
        same_shape = Signal()
        # Offers of the last pass plus cycles since its end; `since_end` counts only the latter.
        since_start = Signal(range(latency + 1), init=latency)
        since_end = Signal(range(latency + 1), init=latency)
        between = Signal(init=1)
        m.d.comb += same_shape.eq(shape == last_shape)

        with m.If((self.offer | between) & (since_start != latency)):
            m.d.sync += since_start.eq(since_start + 1)
        with m.If(between & (since_end != latency)):
            m.d.sync += since_end.eq(since_end + 1)
        with m.If(self.offer):
            m.d.sync += [between.eq(pass_ends), last_shape.eq(shape)]
            with m.If(pass_begins):
                m.d.sync += since_start.eq(1)
            with m.If(pass_ends):
                m.d.sync += since_end.eq(1)

        settled = Mux(same_shape, since_start, since_end) == latency
        too_soon = computing & pass_begins & self.target.accumulate & ~settled
        return too_soon, same_shape
