"""Operand collectors between the issue stage and the ports of a core."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.execution_unit import OPERANDS, operation_layout, result_layout
from ...lib.one_hot import lowest, ones
from ...lib.streams import ResponseSignature
from ..layouts import issue_layout, read_layout
from ..part_configs import part_config
from .collector import Collector
from .dispatch import Dispatch
from .hazard_matrix import HazardMatrix
from .register_map import request_layout

__all__ = ["Collectors", "collector_events"]


def collector_events(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the events counted in one cycle.

    ``occupied`` collectors, collectors ``refused`` by a bank, and operands ``snooped`` from buses.
    """
    return data.StructLayout({
        "occupied": ceil_log2(config.collectors + 1),
        "refused": ceil_log2(config.collectors + 1),
        "snooped": ceil_log2(OPERANDS * config.collectors + 1),
    })


class Collectors(SharedBlock):
    """Operand collectors: hold issued instructions until their operands are read, then dispatch.

    Each instruction occupies one collector. An unobstructed instruction with n operands in the
    banks is offered to its port n + 1 cycles after issue (2 cycles with no operands). An operand
    on a bus in one cycle is offered in the next. A collector can be reallocated in the cycle in
    which its instruction is accepted, so each takes a three-operand instruction every 4 cycles.
    If all are occupied, `i` stalls.

    Order: an instruction is offered only when no older one of its warp still reads operands, so
    it cannot overwrite them. Instructions of a warp for one port are offered in order. Among the
    ready instructions for one port, the oldest is dispatched.

    Parameters
    ----------
    config : PipelineConfig
        Its `collectors`, `issue_width`, `snoop` and `bank_mapping`.

    Members
    -------
    i : In(stream.Signature(issue_layout(config))).array(issue_width)
        Issued instructions. Of two in one cycle the first is older; the second is never accepted
        before it. `pending` must apply to the cycle in which the instruction is accepted, even
        after a stall.
    request : Out(stream.Signature(request_layout(config))).array(collectors)
    data : In(ResponseSignature(read_layout(config))).array(collectors)
        Register data from the banks, one cycle after the grant.
    bus : In(ResponseSignature(result_layout(config))).array(writeback_buses)
        Results written in this cycle.
    operation : Out(stream.Signature(operation_layout(config))).array(len(config.ports))
        To the units, indexed by `Port`.
    allocated : Out(collectors).array(issue_width)
        Collector allocated to each of `i` in this cycle, one-hot; 0 if `i` is not accepted.
    events : Out(collector_events(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        collectors = config.collectors
        super().__init__({
            "i": In(stream.Signature(issue_layout(config))).array(config.issue_width),
            "request": Out(stream.Signature(request_layout(config))).array(collectors),
            "data": In(ResponseSignature(read_layout(config))).array(collectors),
            "bus": In(ResponseSignature(result_layout(config))).array(config.writeback_buses),
            "operation": Out(stream.Signature(operation_layout(config))).array(len(config.ports)),
            "allocated": Out(collectors).array(config.issue_width),
            "events": Out(collector_events(config)),
        })

    def build(self, platform):
        m = Module()
        m.submodules.hazard_matrix = hazard_matrix = HazardMatrix(self.config)
        m.submodules.dispatch = dispatch = Dispatch(self.config)
        own = part_config(Collector, self.config)
        collectors = [Collector(own) for _ in range(self.config.collectors)]
        occupied = Cat(collector.held.occupied for collector in collectors)
        requested = Cat(one.valid for one in self.request)
        granted = Cat(one.ready for one in self.request)
        self.allocate(m, ~occupied | dispatch.leaves, hazard_matrix)
        for c, collector in enumerate(collectors):
            m.submodules[f"collector_{c}"] = collector
            self.attach(m, c, collector, hazard_matrix, dispatch)
        connect(m, hazard_matrix.order, dispatch.order)
        m.d.comb += [
            hazard_matrix.leaves.eq(dispatch.leaves),
            self.events.occupied.eq(ones(occupied)),
            self.events.refused.eq(ones(requested & ~granted)),
            self.events.snooped.eq(sum(collector.snooped for collector in collectors)),
        ]
        for port, operation in enumerate(dispatch.operation):
            connect(m, operation, flipped(self.operation[port]))
        return m

    def allocate(self, m: Module, free: Value, hazard_matrix: HazardMatrix):
        """Allocate the lowest free collector to each issue slot."""
        for slot, (i, allocation) in enumerate(zip(self.i, hazard_matrix.allocation, strict=True)):
            left = Signal(self.config.collectors, name=f"free_{slot}")
            chosen = Signal(self.config.collectors, name=f"chosen_{slot}")
            m.d.comb += [
                left.eq(free),
                chosen.eq(lowest(left)),
                i.ready.eq(left.any()),
                self.allocated[slot].eq(Mux(i.valid, chosen, 0)),
                allocation.collectors.eq(self.allocated[slot]),
                allocation.warp.eq(i.payload.warp),
                allocation.port.eq(1 << Value.cast(i.payload.instruction.port)),
            ]
            free = left & ~self.allocated[slot]

    def attach(
        self,
        m: Module,
        c: int,
        collector: Collector,
        hazard_matrix: HazardMatrix,
        dispatch: Dispatch,
    ):
        """Connect collector `c` to the ports, the hazard matrix and dispatch."""
        allocate = [allocated[c] for allocated in self.allocated]
        issue = Value.cast(self.i[0].payload)
        if self.config.issue_width == 2:
            issue = Mux(allocate[1], Value.cast(self.i[1].payload), issue)
        connect(m, collector.request, flipped(self.request[c]))
        connect(m, flipped(self.data[c]), collector.data)
        connect(m, collector.held, hazard_matrix.held[c], dispatch.held[c])
        connect(m, collector.collected, dispatch.collected[c])
        for number, bus in enumerate(self.bus):
            connect(m, flipped(bus), collector.bus[number])
        m.d.comb += [
            collector.allocate.eq(Cat(allocate).any()),
            Value.cast(collector.issue).eq(issue),
        ]
