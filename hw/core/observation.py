"""Monitor ports of a core, for checkers, counters and traces."""

from typing import Any

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ..config import PipelineConfig
from ..isa.csr import COUNTERS
from ..isa.operations import Port
from ..lib.interfaces.core_memory import warp_shape
from ..lib.interfaces.execution_unit import OPERANDS, begins, ends, result_layout
from ..lib.interfaces.memory_fault import memory_fault_layout
from ..lib.probes import FlattenedResponseSignature, flatten
from .control.faults import fault_layout
from .issue.issue import Issue
from .issue.stall_reason import StallReason
from .operands.collector_pool import Collectors
from .operands.writeback import Writeback

__all__ = ["ObservationSignature", "collected_layout", "place_layout", "probe"]


def place_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of an instruction's identity in an event: its warp and pc."""
    return data.StructLayout({"warp": warp_shape(config), "pc": 32})


def collected_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of an instruction that enters a collector.

    ``collector`` is the allocated collector, one-hot; ``pending`` marks the operands that will
    arrive on a bus.
    """
    return data.StructLayout({
        **place_layout(config).members,
        "mask": config.threads,
        "port": Port,
        "pending": OPERANDS,
        "collector": config.collectors,
    })


class ObservationSignature(wiring.Signature):
    """Monitor of the instructions in each cycle; every field is a separate port.

    An instruction with register groups is collected and dispatched with its first micro-operation,
    and done with its last result. Its other results are `partial`.

    Members
    -------
    collected : Out(FlattenedResponseSignature(collected_layout)).array(issue_width)
        An instruction leaves issue and enters a collector; the first of two is older.
    dispatched : Out(FlattenedResponseSignature(place_layout)).array(len(config.ports))
        An instruction leaves its collector for the unit of this `Port`.
    offered : Out(FlattenedResponseSignature(place_layout)).array(len(config.ports))
        The unit of this `Port` offers a result; valid until it is written.
    done : Out(FlattenedResponseSignature(result_layout)).array(writeback_buses)
        An instruction completes: it is on a bus, and written if it writes.
    partial : Out(1).array(writeback_buses)
        The other fields of `done` are a result of an instruction of which others follow. Only in
        cores with register groups.
    multiplies : Out(1)
        The tensor unit starts a step in this cycle. Only with a tensor unit.
    slots : Out(4).array(issue_width)
        `StallReason` of each issue slot in the previous cycle.
    reasons : Out(4 * warps)
        `StallReason` of each warp.
    active, at_barrier : Out(warps)
    asleep : Out(warps)
        Those of `at_barrier` that sleep until a unit has made progress. Only in cores that await
        units.
    fault : Out(FlattenedResponseSignature(fault_layout))
    memory_fault : Out(FlattenedResponseSignature(memory_fault_layout))
    counters : Out(64 * len(COUNTERS))
        Values of all ``COUNTERS``, in their order, 64 bits each; see `CoreCounters`.
    """

    def __init__(self, config: PipelineConfig):
        place = FlattenedResponseSignature(place_layout(config))
        collected = FlattenedResponseSignature(collected_layout(config))
        done = FlattenedResponseSignature(result_layout(config))
        bits = StallReason.as_shape().width  # pyright: ignore[reportAttributeAccessIssue]
        partial = {"partial": Out(1).array(config.writeback_buses)} if config.group_sizes else {}
        multiplies = {"multiplies": Out(1)} if config.tensor is not None else {}
        asleep = {"asleep": Out(config.warps)} if config.awaits_units else {}
        super().__init__({
            **partial,
            **multiplies,
            **asleep,
            "collected": Out(collected).array(config.issue_width),
            "dispatched": Out(place).array(len(config.ports)),
            "offered": Out(place).array(len(config.ports)),
            "done": Out(done).array(config.writeback_buses),
            "slots": Out(bits).array(config.issue_width),
            "reasons": Out(bits * config.warps),
            "active": Out(config.warps),
            "at_barrier": Out(config.warps),
            "fault": Out(FlattenedResponseSignature(fault_layout(config))),
            "memory_fault": Out(FlattenedResponseSignature(memory_fault_layout(config))),
            "counters": Out(64 * len(COUNTERS)),
        })


def probe(
    m: Module,
    observed: Any,
    issue: Issue,
    collectors: Collectors,
    units: dict[Port, Any],
    writeback: Writeback,
    memory_fault: Any,
):
    """Drive an `ObservationSignature` from the blocks of a core."""
    for number, port in enumerate(observed.collected):
        source = collectors.i[number]
        instruction = source.payload.instruction
        m.d.comb += [
            port.valid.eq(begins(source)),
            port.warp.eq(source.payload.warp),
            port.mask.eq(source.payload.mask),
            port.pc.eq(instruction.pc),
            port.port.eq(instruction.port),
            port.pending.eq(source.payload.pending),
            port.collector.eq(collectors.allocated[number]),
        ]
    for port, unit in units.items():
        operation, dispatched = collectors.operation[port], observed.dispatched[port]
        m.d.comb += dispatched.valid.eq(begins(operation))
        m.d.comb += observed.offered[port].valid.eq(unit.o.valid)
        for source, shown in ((operation, dispatched), (unit.o, observed.offered[port])):
            m.d.comb += [shown.warp.eq(source.payload.warp), shown.pc.eq(source.payload.pc)]
    for number, bus in enumerate(writeback.bus):
        flatten(m, bus, observed.done[number])
        if "partial" in observed.signature.members:
            m.d.comb += [
                observed.done[number].valid.eq(ends(bus)),
                observed.partial[number].eq(bus.valid & bus.payload.more),
            ]
    if "multiplies" in observed.signature.members:
        m.d.comb += observed.multiplies.eq(units[Port.TENSOR].events.active)
    if "asleep" in observed.signature.members:
        m.d.comb += observed.asleep.eq(units[Port.CONTROL].asleep)
    flatten(m, units[Port.CONTROL].fault, observed.fault)
    flatten(m, memory_fault, observed.memory_fault)
    for number, slot in enumerate(observed.slots):
        m.d.comb += slot.eq(issue.slots[number])
    m.d.comb += [
        observed.reasons.eq(issue.reason),
        observed.at_barrier.eq(units[Port.CONTROL].warps.at_barrier),
    ]
