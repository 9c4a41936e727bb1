"""Tile sequencer: runs operations on the array with operands from shared memory."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...lib.interfaces.shared_memory import Direction, WideReadSignature, dma_descriptor, dma_done
from ...lib.streams import Queue, ResponseSignature
from ..accumulator.accumulator import scale_members
from ..accumulator.drain_reader import drain_command
from ..operation import operation
from .d_loader import DLoader
from .dataflows import dataflow_of
from .fetch.operand_fetch import OperandFetch
from .fetch.walk import fetch_walk
from .operation_splitter import OperationSplitter, descriptor_tag, dispatch_work
from .row_issue import RowIssue
from .step_issue import StepIssue
from .store import Store
from .systolic_issue import issue_events
from .tracker import SLOT_WIDTH, Tracker

__all__ = ["Sequencer"]

QUEUED_WORK = 4

#: Issue of operands by dataflow.
ISSUES: dict[str, type[RowIssue | StepIssue]] = {
    "weight_stationary": RowIssue,
    "output_stationary": StepIssue,
}


class Sequencer(Component):
    """Tile sequencer: loads run at once, computes in order, stores from the end of a compute on.

    Rows enter the array one per cycle while operands are available, tile after tile and operation
    after operation. Operands of the next operations are fetched meanwhile. A compute waits only
    for the loads of its own operation; the program must order everything else.

    Parameters
    ----------
    config : MatrixUnitConfig
    write_latency, revisit_latency : int
        Of the array.

    Members
    -------
    operation : In(stream.Signature(operation(config)))
    a, b : Out(WideReadSignature)
    descriptor : Out(stream.Signature(dma_descriptor(config.shared)))
    done : In(ResponseSignature(dma_done))
        Completions; those with even tags belong to other units.
    loading : In(1)
        As in `unit_members`.
    row, row_valid, weights, weights_valid, or step, step_valid; scales, scales_valid;
    drain_command, unfinished, in_flight, drain_pointer, drain_end
        The array's ports.
    arriving : In(1)
        A row of D is valid at the accumulator; only with `load_d`.
    running : In(1)
        An operation is unfinished.
    finished : Out(1)
        An operation has ended.
    computed : Out(1)
        The last row of a compute is written.
    failed : Out(1)
        A descriptor ended with an error.
    events : Out(issue_events)

    """

    def __init__(self, config: MatrixUnitConfig, *, write_latency: int, revisit_latency: int):
        self.config = config
        self.write_latency = write_latency
        self.revisit_latency = revisit_latency
        matrix = config.matrix
        width = matrix.accumulator_address_width
        self.flow = dataflow_of(matrix)
        super().__init__({
            "operation": In(stream.Signature(operation(config))),
            "a": Out(WideReadSignature(config.shared, matrix.a_bytes)),
            "b": Out(WideReadSignature(config.shared, matrix.b_bytes)),
            "descriptor": Out(stream.Signature(dma_descriptor(config.shared))),
            "done": In(ResponseSignature(dma_done)),
            "loading": In(1),
            **self.flow.operand_members(matrix, Out),
            **scale_members(matrix, Out),
            "drain_command": Out(stream.Signature(drain_command(matrix))),
            "unfinished": Out(1),
            "in_flight": In(1),
            "drain_pointer": In(width + 1),
            "drain_end": In(width + 1),
            **({"arriving": In(1)} if matrix.load_d else {}),
            "running": In(1),
            "finished": Out(1),
            "computed": Out(1),
            "failed": Out(1),
            "events": Out(issue_events),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.tracker = tracker = Tracker(loads_d=self.config.matrix.load_d)
        m.submodules.dispatch = dispatch = OperationSplitter(self.config)
        m.submodules.store = store = Store(self.config)
        m.submodules.work = work = Queue(dispatch_work(self.config), QUEUED_WORK)
        connect(m, flipped(self.operation), dispatch.i)
        connect(m, dispatch.work, work.i)
        connect(m, store.command, flipped(self.drain_command))

        a, b = (self.fetch(m, name, dispatch, tracker) for name in ("a", "b"))
        m.submodules.issue = issue = ISSUES[self.config.matrix.dataflow](
            self.config,
            write_latency=self.write_latency,
            revisit_latency=self.revisit_latency,
            level_width=len(b.level),
        )
        connect(m, a.o, issue.a)
        connect(m, b.o, issue.b)
        m.d.comb += [
            issue.i.valid.eq(work.o.valid),
            issue.i.payload.eq(work.o.p.issue),
            work.o.ready.eq(issue.i.ready),
            issue.b_level.eq(b.level),
            issue.in_flight.eq(self.in_flight),
            *self.flow.connect_operands(self.config.matrix, issue, self),
            store.work.eq(work.o.p.store),
            store.tag.eq(descriptor_tag(work.o.p.issue.slot)),
            store.valid.eq(issue.store_valid),
            issue.store_ready.eq(store.ready),
            issue.drain_pointer.eq(self.drain_pointer),
            issue.drain_end.eq(self.drain_end),
            issue.loading.eq(self.loading),
            issue.running.eq(self.running),
            self.unfinished.eq(issue.unfinished),
            self.events.eq(issue.events),
        ]
        if self.config.matrix.scales_rows:
            m.d.comb += [self.scales.eq(issue.scales), self.scales_valid.eq(issue.scales_valid)]
        sources = [store.descriptor, dispatch.load]
        if self.config.matrix.load_d:
            sources.insert(0, self.load_d(m, work.o.p, issue, tracker).descriptor)
        self.send_descriptors(m, sources)
        self.track(m, dispatch, tracker, issue)
        return m

    def fetch(self, m, name: str, dispatch, tracker) -> OperandFetch:
        """Return the fetch of operand `name`; each walk waits for the loads of its operation."""
        config, matrix = self.config, self.config.matrix
        fetch = OperandFetch(
            config,
            elements=matrix.rows if name == "a" else matrix.columns,
            size=matrix.reads[name],
            **self.flow.fetches(config)[name],
        )
        walk = getattr(dispatch, f"walk_{name}")
        layout = data.StructLayout({"walk": fetch_walk(config), "slot": SLOT_WIDTH})
        m.submodules[f"fetch_{name}"] = fetch
        m.submodules[f"walks_{name}"] = walks = Queue(layout, QUEUED_WORK)
        waiting = tracker.loading.bit_select(walks.o.p.slot, 1)
        m.d.comb += [
            walks.i.valid.eq(walk.valid),
            walk.ready.eq(walks.i.ready),
            walks.i.p.walk.eq(walk.payload),
            walks.i.p.slot.eq(tracker.slot),
            fetch.i.valid.eq(walks.o.valid & ~waiting),
            fetch.i.payload.eq(walks.o.p.walk),
            walks.o.ready.eq(fetch.i.ready),
        ]
        connect(m, fetch.memory, flipped(getattr(self, name)))
        return fetch

    def load_d(self, m, work, issue, tracker) -> DLoader:
        """Build and connect the loader of D, and report its ends to the tracker."""
        m.submodules.d_loader = loader = DLoader(self.config)
        done = self.done.payload
        is_d = (done.direction == Direction.FILL) | (done.direction == Direction.REFILL)
        m.d.comb += [
            loader.valid.eq(issue.d_valid),
            loader.work.eq(work.d),
            loader.done.eq(self.done.valid & done.tag[0] & is_d),
            loader.arriving.eq(self.arriving),
            issue.d_active.eq(loader.active),
            issue.d_base.eq(loader.base),
            issue.d_end.eq(loader.end),
            tracker.load_d.eq(self.operation.payload.load_d),
            tracker.d_loaded.eq(loader.loaded),
            tracker.d_slot.eq(loader.slot),
        ]
        return loader

    def send_descriptors(self, m, sources):
        """Send descriptors to the DMA: those of D first, then stores, then loads."""
        m.submodules.descriptors = descriptors = Queue(dma_descriptor(self.config.shared), 2)
        connect(m, descriptors.o, flipped(self.descriptor))
        earlier = C(0)
        for source in sources:
            m.d.comb += source.ready.eq(descriptors.i.ready & ~earlier)
            earlier |= source.valid
        m.d.comb += descriptors.i.valid.eq(earlier)
        *others, last = sources
        m.d.comb += descriptors.i.payload.eq(last.payload)
        for source in reversed(others):
            with m.If(source.valid):
                m.d.comb += descriptors.i.payload.eq(source.payload)

    def track(self, m, dispatch, tracker, issue):
        """Report ended parts to the tracker."""
        operation, done = self.operation.payload, self.done.payload
        # A compute ends when its last row is written, a fixed time after its offer.
        written = Signal(self.write_latency)
        m.d.sync += written.eq(Cat(issue.last_row, written))
        m.submodules.computing = computing = Queue(SLOT_WIDTH, 1 << SLOT_WIDTH)
        ours = self.done.valid & done.tag[0]
        is_load = done.direction == Direction.LOAD
        is_store = (done.direction == Direction.DRAIN) | (done.direction == Direction.SPILL)
        m.d.comb += [
            computing.i.valid.eq(issue.last_row),
            computing.i.payload.eq(issue.slot),
            computing.o.ready.eq(self.computed),
            self.computed.eq(written[-1]),
            self.failed.eq(ours & done.error),
            self.finished.eq(tracker.finished),
            dispatch.slot.eq(tracker.slot),
            dispatch.free.eq(tracker.free),
            tracker.begin.eq(dispatch.begin),
            tracker.load_a.eq(operation.load_a),
            tracker.load_b.eq(operation.load_b),
            tracker.compute.eq(operation.compute),
            tracker.store.eq(operation.store),
            tracker.loaded.eq(ours & is_load),
            tracker.loaded_slot.eq(done.tag[1:]),
            tracker.stored.eq(ours & is_store),
            tracker.stored_slot.eq(done.tag[1:]),
            tracker.computed.eq(self.computed),
            tracker.computed_slot.eq(computing.o.payload),
        ]
