"""Scoreboard: holds back instructions with register hazards."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...isa.operations import Port
from ...lib.interfaces.core_memory import warp_shape
from ...lib.interfaces.execution_unit import OPERANDS, REGISTER_WIDTH, REGISTERS
from ..front_end_layouts import head_layout
from ..layouts import group_fields
from ..warp_state import WarpStateSignature
from .stall_reason import StallReason, reason_of_each, waits_layout
from .warp_scoreboard import (
    FIXED_PORTS,
    VARIABLE_PORTS,
    WarpScoreboard,
    issued_shape,
    releases,
)

__all__ = [
    "REACH",
    "Scoreboard",
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
        **group_fields(config),
    })


def claimed_registers(claim, enable: Value, sizes: list[int]) -> Value:
    """Return the mask of the destination registers of an issued instruction if `enable` is set."""
    registers = enable
    for size in sizes:
        spans = claim.grouped[0] & (claim.last == size - 1)
        registers = Mux(enable & spans, (1 << size) - 1, registers)
    return registers << claim.rd


def results_of(claim) -> Value:
    """Return the number of results of an issued instruction; 0 if it is not valid."""
    if "last" not in claim.shape().members:
        return claim.valid
    return claim.valid + Mux(claim.valid & claim.grouped[0], claim.last, 0)


def release_delay(config: PipelineConfig, port: Port) -> int:
    """Return the cycles from a dispatch to `port` until its consumers may issue."""
    beats = config.threads // config.lanes(port)
    return max(0, config.latency(port) + beats - 1 - REACH - 1)


class Scoreboard(Component):
    """Scoreboard: holds back instructions that would read a stale register or overtake a write.

    An issued instruction claims its destination. The register is pending until the result is on a
    writeback bus, and no other instruction that writes it issues. Exception: one that also reads
    it, as an accumulation does, cannot overtake. Consumers issue when the result will arrive while
    they gather operands (`PipelineConfig.snoop`), else when it is in the banks. An instruction with
    register groups issues when none of their registers is pending, and claims each register of its
    destination group until that register is written. The path from
    `heads` and `active` to `ready` and `pending` is combinational. Everything else takes
    effect in the next cycle.

    Members
    -------
    heads : In(head_layout(config)).array(issue_width, warps)
        Next instruction of each warp, and with an `issue_width` of 2 the one after it.
    active : In(warps)
    warps : In(WarpStateSignature(config))
    ready, ready_slot_1 : Out(warps)
        The next instruction can issue; if it issues, so can the second.
    pending : Out(ArrayLayout(ArrayLayout(3, issue_width), warps))
        Pending sources, including those written in this cycle.
    grant, issue : In(warps), In(ArrayLayout(claim_layout(config), issue_width))
        Issued instructions of the warp in `grant`.
    dispatched : In(ArrayLayout(register_event_layout(config), len(FIXED_PORTS)))
        Dispatches from collectors to these ports.
    arriving : In(ArrayLayout(register_event_layout(config), len(VARIABLE_PORTS)))
        Results of these ports that will be written soon; may be held until they are.
    written : In(ArrayLayout(done_layout(config), writeback_buses))
        Instructions that complete in this cycle.
    exhausted : In(len(config.credit_ports))
        Ports whose instructions have to wait for a credit.
    drained : Out(warps)
        The warp has nothing in flight, no product either.
    waits : Out(waits_layout(config)), reason : Out(ArrayLayout(StallReason, warps))
        Reasons why warps are not ready, by reason and by warp.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        warps, width = config.warps, config.issue_width
        event = register_event_layout(config)
        ports: dict = {
            "heads": In(head_layout(config)).array(width, warps),
            "active": In(warps),
            "warps": In(WarpStateSignature(config)),
            "ready": Out(warps),
            "ready_slot_1": Out(warps),
            "pending": Out(data.ArrayLayout(data.ArrayLayout(OPERANDS, width), warps)),
            "grant": In(warps),
            "issue": In(data.ArrayLayout(claim_layout(config), width)),
            "dispatched": In(data.ArrayLayout(event, len(FIXED_PORTS))),
            "arriving": In(data.ArrayLayout(event, len(VARIABLE_PORTS))),
            "written": In(data.ArrayLayout(done_layout(config), config.writeback_buses)),
            "exhausted": In(len(config.credit_ports)),
            "drained": Out(warps),
            "waits": Out(waits_layout(config)),
            "reason": Out(data.ArrayLayout(StallReason, warps)),
        }
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        boards = [WarpScoreboard(self.config) for _ in range(self.config.warps)]
        for warp, board in enumerate(boards):
            m.submodules[f"warp_{warp}"] = board
            for slot, heads in enumerate(self.heads):
                instruction = heads[warp].instruction
                for name in board.needs[slot].shape().members:
                    m.d.comb += board.needs[slot][name].eq(instruction[name])
            m.d.comb += [
                self.pending[warp].eq(board.pending),
                self.drained[warp].eq(board.drained),
            ]
        self.claim(m, boards)
        self.release(m, boards)
        self.retire(m, boards)
        self.select_ready(m, boards)
        return m

    def claim(self, m: Module, boards: list[WarpScoreboard]):
        """Drive the boards with the destinations of issued instructions."""
        claimed, loaded = Signal(REGISTERS), Signal(REGISTERS)
        slots = [self.issue[slot] for slot in range(self.config.issue_width)]
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
        for warp, board in enumerate(boards):
            m.d.comb += [
                board.issued.eq(issued & self.grant[warp].replicate(len(issued))),
                board.claimed.eq(claimed),
                board.loaded.eq(loaded),
            ]

    def release(self, m: Module, boards: list[WarpScoreboard]):
        """Drive the boards with the results that will be on a bus when a consumer needs them."""
        if not releases(self.config):
            return
        events = []
        for number, port in enumerate(FIXED_PORTS):
            event = self.dispatched[number]
            for stage in range(release_delay(self.config, port)):
                later = Signal.like(event, name=f"{port.name.lower()}_dispatched_{stage}")
                m.d.sync += later.eq(event)
                event = later
            events.append(event)
        events += [self.arriving[number] for number in range(len(VARIABLE_PORTS))]
        for number, event in enumerate(events):
            released = Signal(REGISTERS, name=f"released_{number}")
            warps = Signal(self.config.warps, name=f"released_warps_{number}")
            m.d.comb += [released.eq(1 << event.rd), warps.eq(event.valid << event.warp)]
            for warp, board in enumerate(boards):
                m.d.comb += [
                    board.release[number].eq(warps[warp]),
                    board.released[number].eq(released),
                ]

    def retire(self, m: Module, boards: list[WarpScoreboard]):
        """Drive the boards with the completed instructions."""
        for number in range(self.config.writeback_buses):
            event = self.written[number]
            written = Signal(REGISTERS, name=f"written_{number}")
            warps = Signal(self.config.warps, name=f"done_warps_{number}")
            m.d.comb += [written.eq(event.writes << event.rd), warps.eq(event.valid << event.warp)]
            for warp, board in enumerate(boards):
                m.d.comb += [board.done[number].eq(warps[warp]), board.written[number].eq(written)]

    def select_ready(self, m: Module, boards: list[WarpScoreboard]):
        """Compute the warps that can issue, and the stall reasons of the others."""
        stopped = Signal(self.config.warps)  # stalled until the warp is resumed
        slots = [self.issue[slot] for slot in range(self.config.issue_width)]
        stalls_warp = Cat(slot.valid & slot.stalls_warp for slot in slots).any()
        m.d.sync += stopped.eq(
            (stopped & ~(self.warps.resume | self.warps.started))
            | (self.grant & stalls_warp.replicate(self.config.warps))
        )
        first, serialises = self.column(0, "valid"), self.column(0, "serialises")
        hazard = Cat(board.hazard[0] for board in boards)
        memory = Cat(board.memory for board in boards)
        crowded = Cat(board.crowded for board in boards)
        drained = self.drained
        if self.config.awaits_products:
            settled = Cat(board.settled for board in boards) & ~self.column(0, "awaits_products")
            drained = drained | settled
        runs = Signal(self.config.warps)
        free = Signal(self.config.warps)
        undrained = Signal(self.config.warps)
        m.d.comb += [
            runs.eq(self.active & ~stopped),
            free.eq(runs & first),
            undrained.eq((serialises & ~drained) | crowded | self.without_credit(0)),
            self.ready.eq(free & ~hazard & ~undrained),
            self.waits.scoreboard.eq(free & hazard & ~memory),
            self.waits.memory.eq(free & memory),
            self.waits.drain.eq(free & ~hazard & undrained),
            self.waits.blocked.eq(self.active & stopped & ~self.warps.at_barrier),
            self.waits.no_instruction.eq(runs & ~first),
            self.waits.barrier.eq(self.active & stopped & self.warps.at_barrier),
            self.waits.idle.eq(~self.active),
            Value.cast(self.reason).eq(Cat(reason_of_each(self.waits, self.config.warps))),
        ]
        if self.config.issue_width > 1:
            hazard = Cat(board.hazard[1] for board in boards)
            held = hazard | self.column(0, "stalls_warp") | self.column(1, "serialises")
            held |= self.without_credit(1)
            m.d.comb += self.ready_slot_1.eq(self.column(1, "valid") & ~held)

    def without_credit(self, slot: int) -> Value:
        """Return the warps whose entry of a slot is for a port without a credit."""
        found = Const(0, self.config.warps)
        for number, port in enumerate(self.config.credit_ports):
            waits = Cat(one.instruction.port == port for one in self.heads[slot])
            found = found | (waits & self.exhausted[number].replicate(self.config.warps))
        return found

    def column(self, slot: int, field: str) -> Value:
        """Return a field of the entries of a slot, one bit per warp."""
        heads = self.heads[slot]
        return Cat(one.valid if field == "valid" else one.instruction[field] for one in heads)


def joined(masks) -> Value:
    """Return the union of masks of registers."""
    total = Const(0, REGISTERS)
    for mask in masks:
        total = total | mask
    return total
