"""A SIMT core: how its boxes are wired."""

from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import ClusterConfig
from ..streams import ResponseSignature
from .barrier import barrier_layout, barrier_request_layout
from .collectors import Collectors
from .csr_file import core_shape
from .divide import DivideUnit
from .dynamic_rounding import DynamicRounding
from .faults import fault_layout
from .fp32 import Fp32Unit
from .front_end import FrontEnd
from .front_layouts import fetch_request_layout, fetch_response_layout
from .integer import IntegerUnit
from .issue import Issue
from .layouts import data_request_layout, data_response_layout, result_layout
from .load_store import LoadStoreUnit
from .memory_layouts import memory_fault_layout
from .operations import Port
from .register_file import RegisterFile
from .scoreboard import FIXED_PORTS, VARIABLE_PORTS
from .special import SpecialUnit
from .warp_control import WarpControl
from .writeback import Writeback

__all__ = ["Core"]

HEADS = ("heads", "seconds")


class Core(wiring.Component):
    """RV32IMF for all threads of all warps, one or two instructions of a warp per cycle.

    ::

        front end ─► issue ─► collectors ─► units ─► writeback ─► register file
            ▲                  ▲      ▲                  │              │
            │                  │      └── buses ─────────┤              │
         control               └────────── operands ─────┼──────────────┘
                                                         └─► scoreboard, in issue

    Parameters
    ----------
    config : ClusterConfig
        With cores.

    Members
    -------
    number : In(core_shape(config))
        Which core this is.
    fetch, fetched : Out(stream), In(ResponseSignature)
        Instructions: requests for two words, and what memory answers.
    request, response : Out(stream), In(ResponseSignature)
        Data: accesses of as many threads as there are lanes, and what memory answers.
    barrier, barrier_refused, release : see `WarpControl`
    command : Out(stream.Signature(32))
        Words for the matrix units of the cluster.
    fault, memory_fault : Out(ResponseSignature)
        A warp went wrong, in control or in memory; it does not go on.
    done : Out(ResponseSignature(result_layout(config.core))).array(writeback_buses)
        Instructions as they are done, with what they write.
    exit_code : Out(32)
    active : Out(warps)
    busy : Out(1)
        A warp is active, or something of one is under way.
    """

    fetch: stream.Interface
    request: stream.Interface
    barrier: stream.Interface
    command: stream.Interface
    fetched: Any
    response: Any
    release: Any
    fault: Any
    memory_fault: Any
    barrier_refused: Signal
    number: Signal
    exit_code: Signal
    active: Signal
    busy: Signal
    done: list

    def __init__(self, config: ClusterConfig):
        self.config = config
        core = config.core
        assert core is not None
        super().__init__({
            "number": In(core_shape(config)),
            "fetch": Out(stream.Signature(fetch_request_layout(core))),
            "fetched": In(ResponseSignature(fetch_response_layout(core))),
            "request": Out(stream.Signature(data_request_layout(core))),
            "response": In(ResponseSignature(data_response_layout(core))),
            "barrier": Out(stream.Signature(barrier_request_layout(config))),
            "barrier_refused": In(1),
            "release": In(ResponseSignature(barrier_layout(config))),
            "command": Out(stream.Signature(32)),
            "fault": Out(ResponseSignature(fault_layout(core))),
            "memory_fault": Out(ResponseSignature(memory_fault_layout(core))),
            "done": Out(ResponseSignature(result_layout(core))).array(core.writeback_buses),
            "exit_code": Out(32),
            "active": Out(core.warps),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        core = self.config.core
        assert core is not None
        m.submodules.front_end = front_end = FrontEnd(core)
        m.submodules.issue = issue = Issue(core)
        m.submodules.collectors = collectors = Collectors(core)
        m.submodules.registers = registers = RegisterFile(core)
        m.submodules.writeback = writeback = Writeback(core, len(Port))
        m.submodules.control = control = WarpControl(self.config)
        units: dict[Port, Any] = {
            Port.INT: IntegerUnit(core),
            Port.FP32: Fp32Unit(core),
            Port.DIVIDE: DivideUnit(core),
            Port.SPECIAL: SpecialUnit(core),
            Port.MEMORY: LoadStoreUnit(core),
        }
        for port, unit in units.items():
            m.submodules[port.name.lower()] = unit
        units[Port.CONTROL] = control

        self.connect_outside(m, front_end, units[Port.MEMORY], control)
        self.connect_warps(m, front_end, issue, control)
        for slot in range(core.issue_width):
            connect(m, issue.o[slot], collectors.i[slot])
        for number in range(core.collectors):
            connect(m, collectors.request[number], registers.request[number])
            connect(m, registers.data[number], collectors.data[number])
        for port, unit in units.items():
            connect(m, collectors.operation[port], unit.i)
            connect(m, unit.o, writeback.result[port])
        connect(m, units[Port.INT].branch, control.branch)
        for number in range(core.writeback_buses):
            connect(m, writeback.write[number], registers.write[number])
            connect(m, writeback.bus[number], collectors.bus[number])
            m.d.comb += [
                self.done[number].valid.eq(writeback.bus[number].valid),
                self.done[number].payload.eq(writeback.bus[number].payload),
            ]
        self.tell_scoreboard(m, issue, collectors, writeback)
        self.tell_control(m, control, writeback)
        m.d.comb += self.busy.eq(control.active.any() | ~issue.drained.all() | front_end.busy)
        return m

    def connect_outside(self, m: Module, front_end, memory, control):
        """Connect what goes to memory and to the rest of the cluster."""
        connect(m, front_end.request, flipped(self.fetch))
        connect(m, flipped(self.fetched), front_end.response)
        connect(m, memory.request, flipped(self.request))
        connect(m, flipped(self.response), memory.response)
        connect(m, memory.fault, flipped(self.memory_fault))
        connect(m, control.fault, flipped(self.fault))
        connect(m, control.barrier, flipped(self.barrier))
        connect(m, flipped(self.release), control.release)
        connect(m, control.command, flipped(self.command))
        m.d.comb += [
            control.core.eq(self.number),
            control.barrier_refused.eq(self.barrier_refused),
            self.exit_code.eq(control.exit_code),
            self.active.eq(control.active),
        ]

    def connect_warps(self, m: Module, front_end, issue, control):
        """Connect the state of the warps with those who choose among them."""
        connect(m, control.redirect, front_end.redirect)
        core = self.config.core
        assert core is not None
        for name in HEADS[: core.issue_width]:
            for warp in range(core.warps):
                rounding = DynamicRounding()
                m.submodules[f"rounding_{name}_{warp}"] = rounding
                m.d.comb += [
                    rounding.head.eq(getattr(front_end, name)[warp]),
                    rounding.frm.eq(control.frm[warp]),
                    getattr(issue, name)[warp].eq(rounding.o),
                ]
        m.d.comb += [
            front_end.active.eq(control.active),
            front_end.take.eq(issue.take),
            front_end.take_second.eq(issue.take_second),
            issue.masks.eq(control.masks),
            issue.active.eq(control.active),
            issue.at_barrier.eq(control.at_barrier),
            issue.started.eq(control.started),
            issue.resume.eq(control.resume),
        ]

    def tell_scoreboard(self, m: Module, issue, collectors, writeback):
        """Tell what has been handed to units, and what has come from them."""
        for news, port in zip(issue.dispatched, FIXED_PORTS, strict=True):
            operation = collectors.operation[port]
            m.d.comb += [
                news.valid.eq(operation.valid & operation.ready & operation.payload.writes),
                news.warp.eq(operation.payload.warp),
                news.rd.eq(operation.payload.rd),
            ]
        for news, port in zip(issue.arriving, VARIABLE_PORTS, strict=True):
            result = writeback.result[port]
            m.d.comb += [
                news.valid.eq(result.valid & result.payload.writes),
                news.warp.eq(result.payload.warp),
                news.rd.eq(result.payload.rd),
            ]
        for done, bus in zip(issue.written, writeback.bus, strict=True):
            m.d.comb += [
                done.valid.eq(bus.valid),
                done.warp.eq(bus.payload.warp),
                done.rd.eq(bus.payload.rd),
                done.writes.eq(bus.payload.writes),
            ]

    def tell_control(self, m: Module, control, writeback):
        """Tell what control registers count and collect."""
        retired = Value.cast(0)
        for flags, bus in zip(control.flags, writeback.bus, strict=True):
            m.d.comb += [
                flags.valid.eq(bus.valid),
                flags.warp.eq(bus.payload.warp),
                flags.flags.eq(bus.payload.flags),
            ]
            retired = retired + bus.valid
        m.d.comb += [control.retired.eq(retired), control.busy.eq(self.busy)]
