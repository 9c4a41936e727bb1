"""Scoreboard events: claims and results of instructions, decoded for the warps they belong to."""

from collections.abc import Iterable

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...isa.operations import Port
from ...lib.interfaces.core_memory import warp_shape
from ...lib.interfaces.execution_unit import REGISTER_WIDTH, REGISTERS
from ..layouts import acquire_field, group_fields
from .warp_scoreboard import (
    FIXED_PORTS,
    VARIABLE_PORTS,
    RegisterEventsSignature,
    issued_shape,
    releases,
)

__all__ = [
    "REACH",
    "ClaimSignature",
    "EventDecoder",
    "ScoreboardEventsSignature",
    "claim_layout",
    "done_layout",
    "register_event_layout",
    "release_delay",
]

#: Cycles from the issue of an instruction to the bus cycle that it should catch. Its collector
#: first snoops the buses in the second cycle; a third costs nothing if another operand is read
#: from the banks meanwhile.
REACH = 3


def register_event_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the announcement of a result; `valid` only if it writes `rd`."""
    return data.StructLayout({"valid": 1, "warp": warp_shape(config), "rd": REGISTER_WIDTH})


def done_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the completion of an instruction, with a write of `rd` if `writes`."""
    return data.StructLayout({
        "valid": 1,
        "warp": warp_shape(config),
        "rd": REGISTER_WIDTH,
        "writes": 1,
    })


def claim_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the scoreboard's view of an issued instruction."""
    return data.StructLayout({
        "valid": 1,
        "rd": REGISTER_WIDTH,
        "writes": 1,
        "loads": 1,
        "stalls_warp": 1,
        **acquire_field(config),
        **group_fields(config),
    })


class ScoreboardEventsSignature(wiring.Signature):
    """Progress of results, from the units and buses to the scoreboard.

    Members
    -------
    dispatched : Out(ArrayLayout(register_event_layout(config), len(FIXED_PORTS)))
        Dispatches from collectors to these ports.
    arriving : Out(ArrayLayout(register_event_layout(config), len(VARIABLE_PORTS)))
        Results of these ports that will be written soon; may be held until they are.
    written : Out(ArrayLayout(done_layout(config), writeback_buses))
        Instructions that complete in this cycle.
    """

    def __init__(self, config: PipelineConfig):
        event = register_event_layout(config)
        super().__init__({
            "dispatched": Out(data.ArrayLayout(event, len(FIXED_PORTS))),
            "arriving": Out(data.ArrayLayout(event, len(VARIABLE_PORTS))),
            "written": Out(data.ArrayLayout(done_layout(config), config.writeback_buses)),
        })


class ClaimSignature(wiring.Signature):
    """Issue of instructions, which claim their destinations.

    Members
    -------
    grant : Out(warps)
        Warp of the instructions, one-hot.
    slots : Out(ArrayLayout(claim_layout(config), issue_width))
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "grant": Out(config.warps),
            "slots": Out(data.ArrayLayout(claim_layout(config), config.issue_width)),
        })


def claimed_registers(claim: data.View, enable: Value, sizes: list[int]) -> Value:
    """Return the mask of the destination registers of an issued instruction if `enable` is set."""
    registers = enable
    for size in sizes:
        spans = claim.grouped[0] & (claim.last == size - 1)
        registers = Mux(enable & spans, (1 << size) - 1, registers)
    return registers << claim.rd


def results_of(claim: data.View) -> Value:
    """Return the number of results of an issued instruction; 0 if it is not valid."""
    if "last" not in claim.shape().members:
        return claim.valid
    return claim.valid + Mux(claim.valid & claim.grouped[0], claim.last, 0)


def release_delay(config: PipelineConfig, port: Port) -> int:
    """Return the cycles from a dispatch to `port` until its consumers may issue."""
    beats = config.threads // config.lanes(port)
    return max(0, config.latency(port) + beats - 1 - REACH - 1)


class EventDecoder(Component):
    """Event decoder of the scoreboard: masks of registers, enabled for the warps of the events.

    Combinational, except that a dispatch is delayed until its consumers may issue.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    claims : In(ClaimSignature(config))
    results : In(ScoreboardEventsSignature(config))
    warp : Out(RegisterEventsSignature(config)).array(warps)
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "claims": In(ClaimSignature(config)),
            "results": In(ScoreboardEventsSignature(config)),
            "warp": Out(RegisterEventsSignature(config)).array(config.warps),
        })

    def elaborate(self, platform):
        m = Module()
        self.claim(m)
        self.release(m)
        self.retire(m)
        return m

    def claim(self, m: Module):
        """Drive the destinations of issued instructions."""
        claimed, loaded = Signal(REGISTERS), Signal(REGISTERS)
        slots = [self.claims.slots[slot] for slot in range(self.config.issue_width)]
        sizes = self.config.group_sizes
        m.d.comb += [
            claimed.eq(
                joined(claimed_registers(slot, slot.valid & slot.writes, sizes) for slot in slots)
            ),
            loaded.eq(
                joined(
                    claimed_registers(slot, slot.valid & slot.writes & slot.loads, sizes)
                    for slot in slots
                )
            ),
        ]
        issued = Signal(issued_shape(self.config))
        m.d.comb += issued.eq(sum(results_of(slot) for slot in slots))
        for warp, events in enumerate(self.warp):
            m.d.comb += [
                events.issued.eq(issued & self.claims.grant[warp].replicate(len(issued))),
                events.claimed.eq(claimed),
                events.loaded.eq(loaded),
            ]

    def release(self, m: Module):
        """Drive the results that will be on a bus when a consumer needs them."""
        if not releases(self.config):
            return
        announced = []
        for number, port in enumerate(FIXED_PORTS):
            event = self.results.dispatched[number]
            for stage in range(release_delay(self.config, port)):
                later = Signal.like(event, name=f"{port.name.lower()}_dispatched_{stage}")
                m.d.sync += later.eq(event)
                event = later
            announced.append(event)
        announced += [self.results.arriving[number] for number in range(len(VARIABLE_PORTS))]
        for number, event in enumerate(announced):
            released = Signal(REGISTERS, name=f"released_{number}")
            warps = Signal(self.config.warps, name=f"released_warps_{number}")
            m.d.comb += [released.eq(1 << event.rd), warps.eq(event.valid << event.warp)]
            for warp, events in enumerate(self.warp):
                m.d.comb += [
                    events.release[number].eq(warps[warp]),
                    events.released[number].eq(released),
                ]

    def retire(self, m: Module):
        """Drive the completed instructions."""
        for number in range(self.config.writeback_buses):
            event = self.results.written[number]
            written = Signal(REGISTERS, name=f"written_{number}")
            warps = Signal(self.config.warps, name=f"done_warps_{number}")
            m.d.comb += [written.eq(event.writes << event.rd), warps.eq(event.valid << event.warp)]
            for warp, events in enumerate(self.warp):
                m.d.comb += [
                    events.done[number].eq(warps[warp]),
                    events.written[number].eq(written),
                ]


def joined(masks: Iterable[Value]) -> Value:
    """Return the union of masks of registers."""
    total = Const(0, REGISTERS)
    for mask in masks:
        total = total | mask
    return total
