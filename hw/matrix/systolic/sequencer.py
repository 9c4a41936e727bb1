"""Tile sequencer: runs operations on the array with operands from shared memory."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...lib.interfaces.shared_memory import WideReadSignature, dma_descriptor, dma_done
from ...lib.streams import Queue, ResponseSignature
from ..accumulator.accumulator import scale_members
from ..accumulator.drain_reader import DrainProgressSignature, drain_command
from ..operation import operation
from .d_loader import DLoader
from .dataflows import dataflow_of
from .descriptor_priority import DescriptorPriority
from .fetch.operand_fetch import OperandFetch
from .fetch.walk_queue import QUEUED_WORK, WalkQueue
from .operation_splitter import OperationSplitter
from .row_issue import RowIssue
from .step_issue import StepIssue
from .store import Store
from .systolic_issue import dispatch_work, issue_events
from .tracker import ComputeEnds, DescriptorEnds, Tracker

__all__ = ["Sequencer"]

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
    row, weights, or step; scales; drain_command, progress, in_flight
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
            "progress": In(DrainProgressSignature(matrix)),
            "in_flight": In(1),
            **({"arriving": In(1)} if matrix.load_d else {}),
            "running": In(1),
            "finished": Out(1),
            "computed": Out(1),
            "failed": Out(1),
            "events": Out(issue_events),
        })

    def elaborate(self, platform):
        m = Module()
        config, loads_d = self.config, self.config.matrix.load_d
        m.submodules.dispatch = dispatch = OperationSplitter(config)
        m.submodules.work = work = Queue(dispatch_work(config), QUEUED_WORK)
        m.submodules.tracker = tracker = Tracker(loads_d=loads_d)
        m.submodules.ends = ends = DescriptorEnds(loads_d=loads_d)
        m.submodules.store = store = Store(config)
        connect(m, flipped(self.operation), dispatch.i)
        connect(m, dispatch.work, work.i)
        connect(m, dispatch.slots, tracker.slots)
        connect(m, flipped(self.done), ends.done)
        connect(m, ends.loaded, tracker.loaded)
        connect(m, ends.stored, tracker.stored)
        connect(m, store.command, flipped(self.drain_command))
        m.d.comb += [self.failed.eq(ends.failed), self.finished.eq(tracker.finished)]

        a, b = (self.fetch(m, name, dispatch, tracker) for name in ("a", "b"))
        m.submodules.issue = issue = ISSUES[config.matrix.dataflow](
            config,
            write_latency=self.write_latency,
            revisit_latency=self.revisit_latency,
            level_width=len(b.level),
        )
        connect(m, work.o, issue.i)
        connect(m, a.o, issue.a)
        connect(m, b.o, issue.b)
        connect(m, issue.store, store.i)
        m.d.comb += issue.b_level.eq(b.level)
        self.connect_array(m, issue, tracker)

        descriptors = [store.descriptor, dispatch.load]
        if loads_d:
            descriptors.insert(0, self.load_d(m, issue, tracker, ends).descriptor)
        m.submodules.descriptors = priority = DescriptorPriority(config, len(descriptors))
        for descriptor, port in zip(descriptors, priority.i, strict=True):
            connect(m, descriptor, port)
        connect(m, priority.o, flipped(self.descriptor))
        return m

    def fetch(
        self, m: Module, name: str, dispatch: OperationSplitter, tracker: Tracker
    ) -> OperandFetch:
        """Return the fetch of operand `name`; each walk waits for the loads of its operation."""
        config, matrix = self.config, self.config.matrix
        fetch = OperandFetch(
            config,
            elements=matrix.rows if name == "a" else matrix.columns,
            size=matrix.reads[name],
            **self.flow.fetches(config)[name],
        )
        m.submodules[f"fetch_{name}"] = fetch
        m.submodules[f"walks_{name}"] = walks = WalkQueue(config)
        connect(m, getattr(dispatch, f"walk_{name}"), walks.i)
        connect(m, walks.o, fetch.i)
        connect(m, fetch.memory, flipped(getattr(self, name)))
        m.d.comb += walks.loading.eq(tracker.loading)
        return fetch

    def connect_array(self, m: Module, issue: RowIssue | StepIssue, tracker: Tracker):
        """Connect the issue of operands to the array, and the ends of computes to the tracker."""
        m.submodules.compute_ends = ends = ComputeEnds(self.write_latency)
        connect(m, issue.last_row, ends.last_row)
        connect(m, ends.computed, tracker.computed)
        connect(m, flipped(self.progress), issue.progress)
        matrix = self.config.matrix
        for name in (*self.flow.operands(matrix), *scale_members(matrix, Out)):
            connect(m, getattr(issue, name), flipped(getattr(self, name)))
        m.d.comb += [
            issue.in_flight.eq(self.in_flight),
            issue.loading.eq(self.loading),
            issue.running.eq(self.running),
            self.computed.eq(ends.computed.valid),
            self.events.eq(issue.events),
        ]

    def load_d(
        self, m: Module, issue: RowIssue | StepIssue, tracker: Tracker, ends: DescriptorEnds
    ) -> DLoader:
        """Build and connect the loader of D, and report its ends to the tracker."""
        m.submodules.d_loader = loader = DLoader(self.config)
        connect(m, issue.load_d, loader.load)
        connect(m, loader.loaded, tracker.loaded_d)
        m.d.comb += [loader.done.eq(ends.d_done), loader.arriving.eq(self.arriving)]
        return loader
