"""Frame of the systolic issue of both dataflows: computes and stores in order, events."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...lib.streams import ResponseSignature
from ..accumulator.accumulator import scale_members
from ..accumulator.drain_reader import DrainProgressSignature
from ..operation import OperationLimits
from .d_loader import DLoadSignature, d_work
from .dataflows import dataflow_of
from .store import store_start, store_work
from .tracker import SLOT_WIDTH, descriptor_tag

__all__ = ["SystolicIssue", "dispatch_work", "issue_events", "issue_work"]


def issue_work(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of an operation's work for the array; loops are given by their last index.

    `load_d` fills the tile with D, accumulator rows `base` to `end` - 1. `compute` runs through
    it; column blocks are `i_blocks` blocks of these rows apart. `scale_lines` lines of scales
    precede the rows of A. `store` then drains it. If column blocks are computed together, the
    last group has `last_tiles` of them.
    """
    flow, limits = dataflow_of(config.matrix), OperationLimits(config=config)
    return data.StructLayout({
        "slot": SLOT_WIDTH,
        "compute": 1,
        "store": 1,
        "accumulate": 1,
        "base": config.matrix.accumulator_address_width,
        "end": config.matrix.accumulator_address_width + 1,
        **({"load_d": 1} if config.matrix.load_d else {}),
        **({"scale_lines": bits_for(limits.scale_lines)} if config.matrix.scales_rows else {}),
        "i_blocks": bits_for(limits.i_blocks),
        **{name: bits_for(count - 1) for name, count in flow.loops(config).items()},
        **({"last_tiles": 3} if flow.is_interleaved else {}),
    })


def dispatch_work(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of an operation's work for the array, and of what precedes or follows it."""
    return data.StructLayout({
        "issue": issue_work(config),
        "store": store_work(config),
        **({"d": d_work(config)} if config.matrix.load_d else {}),
    })


#: Use of a cycle: exactly one is high while an operation is unfinished, none otherwise.
issue_events = data.StructLayout({
    "active": 1,  # a row enters the array
    "idle": 1,  # there is nothing to compute, or D is not loaded yet
    "wait_a": 1,  # no row of A is available
    "wait_weights": 1,  # the next weights are not available
    "wait_drain": 1,  # rows have not left the accumulator yet, or a store begins
    "wait_revisit": 1,  # a row was last added to too recently
})


class SystolicIssue(Component):
    """Frame of `RowIssue` and `StepIssue`: offers operands to the array, with stores in between.

    Parameters
    ----------
    config : MatrixUnitConfig
    write_latency : int
        Cycles from the offer of a row to the write of its sums.
    revisit_latency : int
        Minimum cycles between two offers of an accumulator row, the later with `accumulate`.
    level_width : int
        Bits of `b_level`.

    Members
    -------
    i : In(stream.Signature(dispatch_work(config)))
    a : In(stream.Signature(rows * operand width))
    b : In(stream.Signature(columns * operand width))
    b_level : In(level_width)
        Rows of B available in consecutive cycles.
    in_flight : In(1)
        The array has unfinished rows.
    progress : In(DrainProgressSignature(config.matrix))
        Of the drain. `unfinished`: the drain that is active or starts reads the compute in
        progress; operands for its last column block are still to be offered. High until the cycle
        of `last_row`.
    loading : In(1)
        As in `unit_members`.
    row, weights, or step
        Operands of the array, `Dataflow.operand_members`.
    scales
        Scales of rows for the accumulator, `scale_members`.
    store : Out(stream.Signature(store_start(config)))
        The store of `i` may start.
    load_d : Out(DLoadSignature(config))
        The load of D of `i` starts; only with `load_d`.
    last_row : Out(ResponseSignature(3))
        The last operands of a compute are offered, with its slot.
    running : In(1)
        An operation is unfinished.
    events : Out(issue_events)

    """

    def __init__(
        self,
        config: MatrixUnitConfig,
        *,
        write_latency: int,
        revisit_latency: int,
        level_width: int,
    ):
        self.config = config
        self.write_latency = write_latency
        self.revisit_latency = revisit_latency
        matrix = config.matrix
        element = matrix.operand_format.width
        super().__init__({
            "i": In(stream.Signature(dispatch_work(config))),
            "a": In(stream.Signature(matrix.rows * element)),
            "b": In(stream.Signature(matrix.columns * element)),
            "b_level": In(level_width),
            "in_flight": In(1),
            "progress": In(DrainProgressSignature(matrix)),
            "loading": In(1),
            **dataflow_of(matrix).operand_members(matrix, Out),
            **scale_members(matrix, Out),
            "store": Out(stream.Signature(store_start(config))),
            **({"load_d": Out(DLoadSignature(config))} if matrix.load_d else {}),
            "last_row": Out(ResponseSignature(SLOT_WIDTH)),
            "running": In(1),
            "events": Out(issue_events),
        })

    def advance(self, m: Module) -> tuple[data.View, Signal, Signal, Signal]:
        """Advance from compute to compute, from store to store, and from load to load of D.

        Return the compute in progress, whether there is one, whether that of `i` begins, and
        whether a store is next in order: it follows the compute in progress, or the last one. Later
        computes wait for its start.
        """
        following, stores = self.i.p.issue, self.store.valid & self.store.ready
        work = Signal(issue_work(self.config), reset_less=True)
        computing, storing = Signal(), Signal()
        takes, is_taken = Signal(), Signal()  # the compute of `i` begins, and has begun
        lacks_d, only_d = self.fill_rows(m, work, computing, takes)
        m.d.comb += [
            takes.eq(
                self.i.valid
                & following.compute
                & ~is_taken
                & (~computing | self.last_row.valid)
                & ~lacks_d
            ),
            storing.eq(self.i.valid & following.store & (is_taken | ~following.compute) & ~lacks_d),
            self.i.ready.eq(Mux(storing, stores, (takes & ~following.store) | only_d)),
            self.last_row.payload.eq(work.slot),
            self.store.p.work.eq(self.i.p.store),
            self.store.p.tag.eq(descriptor_tag(following.slot)),
        ]
        with m.If(self.last_row.valid):
            m.d.sync += computing.eq(0)
        with m.If(takes):
            m.d.sync += [work.eq(following), computing.eq(1), is_taken.eq(following.store)]
        with m.If(stores):
            m.d.sync += is_taken.eq(0)
        return work, computing, takes, storing

    def fill_rows(
        self, m: Module, work: data.View, computing: Value, takes: Value
    ) -> tuple[Value, Value]:
        """Start the load of D of `i`, in order with computes and stores.

        Computes and stores of other rows do not wait for a load of D. Return whether `i` waits for
        it, and whether `i` ends with its start.
        """
        if not self.config.matrix.load_d:
            return C(0), C(0)
        following, has_begun, load = self.i.p.issue, Signal(), self.load_d
        settled = self.settled(m, work, computing, takes)
        m.d.comb += [
            load.valid.eq(self.i.valid & following.load_d & ~has_begun & ~load.active & settled),
            load.work.eq(self.i.p.d),
        ]
        with m.If(load.valid):
            m.d.sync += has_begun.eq(1)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += has_begun.eq(0)
        only_d = load.valid & ~following.compute & ~following.store
        overlaps = load.active & ~self.is_apart(load.base, load.end)
        return (following.load_d & ~has_begun) | overlaps, only_d

    def is_apart(self, base: Value, end: Value) -> Value:
        """Return whether `i` has no accumulator row from `base` to `end` - 1."""
        following = self.i.p.issue
        return (following.base >= end) | (following.end <= base)

    def settled(self, m: Module, work: data.View, computing: Value, takes: Value) -> Value:
        """Return whether the rows of `i` may be overwritten, although its compute has not begun.

        No drain reads them, and all earlier sums of them are written: the array is empty, or only
        the compute in progress is in it and has other rows.
        """
        is_last = Signal()  # only the compute in progress is in the array
        since_takes = Signal(range(self.write_latency + 2), init=self.write_latency + 1)
        m.d.comb += is_last.eq(since_takes == self.write_latency + 1)
        with m.If(takes):
            m.d.sync += since_takes.eq(0)
        with m.Elif(~is_last):
            m.d.sync += since_takes.eq(since_takes + 1)
        drained = self.progress.pointer == self.progress.end
        written = Mux(computing, is_last & self.is_apart(work.base, work.end), ~self.in_flight)
        return written & (drained | self.is_apart(self.progress.pointer, self.progress.end))

    def report(
        self,
        m: Module,
        offer: Value,
        waits: Value,
        storing: Value,
        *,
        undrained: Value,
        too_soon: Value,
        weightless: Value,
    ):
        """Drive the event of this cycle; `waits`: a compute is due, `storing`: only a store is."""
        m.d.comb += [
            self.events.active.eq(offer),
            self.events.idle.eq(self.running & ~(offer | waits | storing)),
        ]
        with m.If(storing | (waits & undrained)):
            m.d.comb += self.events.wait_drain.eq(1)
        with m.Elif(waits & too_soon):
            m.d.comb += self.events.wait_revisit.eq(1)
        with m.Elif(waits & weightless):
            m.d.comb += self.events.wait_weights.eq(1)
        with m.Elif(waits & ~offer):
            m.d.comb += self.events.wait_a.eq(1)
