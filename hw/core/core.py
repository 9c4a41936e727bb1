"""SIMT core: instantiates and connects the blocks of its pipeline."""

from dataclasses import replace
from functools import partial
from typing import Any

from amaranth import *
from amaranth.lib.wiring import connect, flipped

from ..config import CoreBlockConfig, TensorBlockConfig
from ..emit.shared_block import SharedBlock
from ..isa.operations import Port
from ..lib.interfaces.execution_unit import begins, ends
from ..styles.registry import tensor_style_of
from .clock_control import ClockControl
from .control.warp_control import WarpControl
from .counters import CoreCounters
from .front_end.front_end import FrontEnd
from .issue.issue import Issue
from .issue.whole_warp import of_whole_warp
from .observation import probe
from .operands.collector_pool import Collectors
from .operands.register_file import RegisterFile
from .operands.writeback import Writeback
from .part_configs import part_config
from .result_events import connect_results
from .signature import core_members
from .units.dynamic_rounding import with_rounding
from .units.execution_units import UNITS
from .units.lsu.address import is_store
from .units.lsu.load_store import LoadStoreUnit

__all__ = ["Core"]


class Core(SharedBlock):
    """SIMT core: RV32IMF for all threads of all warps, one or two instructions of a warp per cycle.

    ::

        front end ─► issue ─► collectors ─► units ─► writeback ─► register file
            ▲                  ▲      ▲                  │              │
            │                  │      └── buses ─────────┤              │
         control               └────────── operands ─────┼──────────────┘
                                                         └─► scoreboard, in issue

    Parameters
    ----------
    config : CoreBlockConfig

    Members
    -------
    number : In(core_shape(config.cores))
        Index of this core in its cluster.
    launch : In(LaunchSignature(config.clusters, config.cores))
        Only with several clusters: warp 0 starts at its entry, otherwise at `ENTRY`.
    progress : In(ProgressSignature(len(config.progress))), only in a cluster with a DMA
    start : In(1)
        Starts warp 0. The core is idle before; later pulses are ignored.
    fetch, fetched : Out(stream), In(ResponseSignature)
        Instruction fetch: requests for two words, and responses of memory.
    request, response : Out(stream), In(ResponseSignature)
        Data: requests of one beat of lanes, and responses of memory.
    barrier : Out(ClusterBarrierSignature(config.barriers, config.cores))
    command : Out(stream.Signature(32))
        Command words for the matrix units of the cluster.
    invalidate : Out(1)
        Instructions may have changed (``fence.i``): fetches from the next cycle on must return
        the current contents of memory.
    invalidate_data : Out(1)
        Data may have changed: a fence or an acquire takes effect, with all accesses of its warp
        completed.
    fault, memory_fault : Out(ResponseSignature)
        Fault of a warp, in control or in memory; the warp stops.
    {port} : Out(WideReadSignature(config.shared, nbytes))
        Reads of shared memory by the tensor unit, for each item of `tensor_reads` of the core.
    tensor_events : Out(events of the tensor unit's style)
        Only with a tensor unit.
    observed : Out(ObservationSignature(config.core))
        Monitor of the instructions; may be left unconnected.
    exit_code : Out(32)
    active : Out(warps)
    sleep : Out(SleepSignature())
        All active warps wait: the clock may stop; see `ClockControl`.
    busy : Out(1)
        Combinational: the core needs its clock. A warp starts, runs or is released, an instruction
        is in flight, or the counters have not yet counted its last events, which takes 2 cycles.
    runs : Out(1)
        Combinational: the core is busy or asleep.
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        super().__init__(core_members(config))

    def build(self, platform):
        m = Module()
        core = self.config.core
        own = partial(part_config, config=core)
        m.submodules.front_end = front_end = FrontEnd(own(FrontEnd))
        m.submodules.issue_stage = issue = Issue(own(Issue))
        m.submodules.collectors = collectors = Collectors(own(Collectors))
        m.submodules.registers = registers = RegisterFile(own(RegisterFile))
        m.submodules.writeback = writeback = Writeback(own(Writeback), len(core.ports))
        control_config = replace(self.config, core=own(WarpControl), shared=None)
        m.submodules.control = control = WarpControl(control_config)
        m.submodules.counters = counters = CoreCounters(own(CoreCounters))
        units: dict[Port, Any] = {port: unit(own(unit)) for port, unit in UNITS.items()}
        if core.tensor is not None:
            units[Port.TENSOR] = tensor = tensor_style_of(core.tensor).component(
                TensorBlockConfig(core=core, shared=self.config.shared)
            )
            m.d.comb += Value.cast(self.tensor_events).eq(Value.cast(tensor.events))
        for port, unit in units.items():
            m.submodules[f"{port.name.lower()}_unit"] = unit
        units[Port.CONTROL] = control
        self.connect_outside(m, front_end, issue, units[Port.MEMORY], control)
        self.report_memory_faults(m, units)
        self.connect_warps(m, front_end, issue, control, counters)
        for slot in range(core.issue_width):
            connect(m, issue.o[slot], collectors.i[slot])
        for number in range(core.collectors):
            connect(m, collectors.request[number], registers.request[number])
            connect(m, registers.data[number], collectors.data[number])
        for port, unit in units.items():
            connect(m, collectors.operation[port], unit.i)
            connect(m, unit.o, writeback.result[port])
        connect(m, units[Port.INT].branch, control.branch)
        m.d.comb += issue.released.eq(Cat(units[port].released for port in core.credit_ports))
        for number in range(core.writeback_buses):
            connect(m, writeback.write[number], registers.write[number])
            connect(m, writeback.bus[number], collectors.bus[number])
        connect_results(m, issue.results, collectors, writeback, units)
        self.connect_control(m, control, counters, writeback)
        if core.awaits_products:
            product = collectors.operation[Port.TENSOR]
            m.d.comb += control.product.eq(begins(product) << product.payload.warp)
        self.count(m, counters, issue, collectors, registers, control, writeback)
        probe(m, self.observed, issue, collectors, units, writeback, self.memory_fault)
        if platform is None:
            empties = self.invalidate | self.invalidate_data
            m.d.sync += Assert(self.busy | ~empties, "caches must be invalidated only while busy")
        return m

    def connect_outside(
        self,
        m: Module,
        front_end: FrontEnd,
        issue: Issue,
        memory: LoadStoreUnit,
        control: WarpControl,
    ):
        """Connect the ports to memory and to the rest of the cluster."""
        connect(m, front_end.request, flipped(self.fetch))
        connect(m, flipped(self.fetched), front_end.response)
        connect(m, memory.request, flipped(self.request))
        connect(m, flipped(self.response), memory.response)
        connect(m, control.fault, flipped(self.fault))
        connect(m, control.barrier, flipped(self.barrier))
        connect(m, control.command, flipped(self.command))
        renews = control.invalidate_data
        if self.config.core.atomics:
            renews = renews | issue.acquired
        m.d.comb += [
            control.core.eq(self.number),
            self.exit_code.eq(control.exit_code),
            self.invalidate.eq(control.invalidate),
            self.invalidate_data.eq(renews),
        ]
        if self.config.core.awaits_units:
            connect(m, flipped(self.progress), control.progress)

    def report_memory_faults(self, m: Module, units: dict[Port, Any]):
        """Report the faults of loads and stores, and those of a tensor unit that reads memory."""
        fault, reads = units[Port.MEMORY].fault, self.config.core.tensor_reads
        if not reads:
            connect(m, fault, flipped(self.memory_fault))
            return
        tensor = units[Port.TENSOR]
        for port in reads:
            connect(m, getattr(tensor, port), flipped(getattr(self, port)))
        m.d.comb += [
            tensor.fault.ready.eq(~fault.valid),
            self.memory_fault.valid.eq(fault.valid | tensor.fault.valid),
            Value.cast(self.memory_fault.payload).eq(
                Mux(fault.valid, Value.cast(fault.payload), Value.cast(tensor.fault.payload))
            ),
        ]

    def connect_warps(
        self,
        m: Module,
        front_end: FrontEnd,
        issue: Issue,
        control: WarpControl,
        counters: CoreCounters,
    ):
        """Connect the state of the warps with fetch and issue."""
        connect(m, control.redirect, front_end.redirect)
        connect(m, control.warps, issue.warps)
        core = self.config.core
        for warp, instructions in enumerate(front_end.warps):
            m.d.comb += [
                instructions.take.eq(issue.take[warp]),
                instructions.take_slot_1.eq(issue.take_slot_1),
            ]
            for slot, head in enumerate(instructions.heads):
                head = with_rounding(m, head, control.floats.frm[warp], f"rounded_{slot}_{warp}")
                if core.tensor is not None:
                    mask = control.warps.masks[warp]
                    head = of_whole_warp(m, core, head, mask, f"whole_{slot}_{warp}")
                m.d.comb += issue.heads[slot][warp].eq(head)
        started = Signal()
        m.d.sync += started.eq(started | self.start)
        m.submodules.clock_control = clock = ClockControl(self.config.core.warps)
        starts = self.start & ~started
        if self.config.clusters > 1:
            connect(m, flipped(self.launch), control.launch)
            with m.If(starts):
                m.d.comb += [
                    front_end.redirect.valid.eq(1),
                    front_end.redirect.payload.warp.eq(0),
                    front_end.redirect.payload.pc.eq(self.launch.entry),
                ]
        connect(m, clock.sleep, flipped(self.sleep))
        m.d.comb += [
            clock.start.eq(starts),
            clock.active.eq(self.active),
            clock.waiting.eq(control.warps.at_barrier),
            clock.released.eq(control.released),
            clock.in_flight.eq(~issue.drained.all() | front_end.busy),
            clock.settling.eq(counters.settling),
            counters.busy.eq(clock.awake),
            self.busy.eq(clock.busy),
            self.runs.eq(clock.runs),
            self.active.eq(Mux(started, control.active, 0)),
            front_end.active.eq(self.active),
            issue.active.eq(self.active),
        ]

    def connect_control(
        self, m: Module, control: WarpControl, counters: CoreCounters, writeback: Writeback
    ):
        """Connect the flags and event counts to the control registers."""
        retired = Value.cast(0)
        for flags, bus in zip(control.floats.flags, writeback.bus, strict=True):
            m.d.comb += [
                flags.valid.eq(bus.valid),
                flags.warp.eq(bus.payload.warp),
                flags.flags.eq(bus.payload.flags),
            ]
            retired = retired + ends(bus)
        m.d.sync += control.counters.retired.eq(retired)  # no time for a wide sum behind the buses
        m.d.comb += [
            counters.slept.eq(self.sleep.slept),
            control.counters.slept.eq(self.sleep.slept),
            control.counters.busy.eq(counters.was_busy),
            counters.number.eq(control.counters.number),
            control.counters.value.eq(counters.value),
        ]

    def count(
        self,
        m: Module,
        counters: CoreCounters,
        issue: Issue,
        collectors: Collectors,
        registers: RegisterFile,
        control: WarpControl,
        writeback: Writeback,
    ):
        """Connect events to the counters, and counter values to the monitor."""
        events = counters.events
        m.d.comb += [
            counters.slots.eq(issue.slots),
            events.operations.eq(Cat(begins(operation) for operation in collectors.operation)),
            events.is_store.eq(is_store(collectors.operation[Port.MEMORY].payload.operation)),
            events.memory_request.eq(self.request.valid & self.request.ready),
            events.fetch.eq(self.fetch.valid & self.fetch.ready),
            events.registers.eq(registers.events),
            events.collectors.eq(collectors.events),
            events.divergent_split.eq(control.divergent_split),
            self.observed.counters.eq(
                Cat(control.counters.mcycle, control.counters.minstret, counters.values)
            ),
            self.observed.active.eq(self.active),
        ]
        for done, bus in zip(events.done, writeback.bus, strict=True):
            m.d.comb += done.eq(Mux(ends(bus), bus.payload.mask, 0))
