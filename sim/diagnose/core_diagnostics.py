"""Diagnosis of a program that failed on the RTL, with the state of each warp and memory port."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...hw.core.control.faults import FaultCause
from ...hw.core.issue.stall_reason import StallReason
from ...hw.isa.instructions import INSTRUCTIONS
from ...hw.isa.operations import PORTS, Port
from ...hw.lib.interfaces.memory_fault import MemoryFault
from ...kernels.program import Program
from ..harness.stop_reason import StopReason
from ..iss.faults import lane_text
from ..iss.outcome import Outcome
from ..lockstep.missed_store import MissedStore
from ..machine.memory_layout import MemoryLayout
from ..machine.program_machine import ProgramMachine
from ..machine.program_outcome import CoreFault, ProgramOutcome
from .diagnostics import explain
from .diagnostics_text import counted, diagnostics_text, head_lines, warps_text
from .place_text import place_lines, spot
from .source_locations import Locator

__all__ = ["core_diagnostics_text", "explain_core"]

SCREEN, WIDTH = 40, 100
#: Number of groups of warps in a report.
SHOWN = 8
SENTENCES = {
    StopReason.HANG: "the machine hangs: no progress for a long time",
    StopReason.MISMATCH: "the RTL differs from the instruction-set model",
    StopReason.DEADLOCK: "deadlock: every warp that has not ended waits at a barrier",
    StopReason.LIMIT: "the program had not ended when its limit of cycles was reached",
    StopReason.VIOLATION: "the cluster broke a rule of AXI",
}
#: Stop reasons that the model in lockstep has too.
ALIKE = (StopReason.FAULT, StopReason.DEADLOCK, StopReason.LIMIT)
#: Descriptions of faults, of control and of memory.
CONTROL_FAULTS = {
    FaultCause.ILLEGAL: "illegal instruction",
    FaultCause.FETCH: "instruction fetch outside the program",
    FaultCause.UNKNOWN_CSR: "no such control register",
    FaultCause.READ_ONLY_CSR: "write to a read-only control register",
    FaultCause.STACK_OVERFLOW: "overflow of the divergence stack",
    FaultCause.STACK_UNDERFLOW: "join without a split",
    FaultCause.MISALIGNED_JUMP: "misaligned jump",
    FaultCause.DIVERGENT_BRANCH: "divergent branch",
    FaultCause.BARRIER_NUMBER: "no such barrier",
    FaultCause.BARRIER_COUNT: "barrier count out of range",
    FaultCause.BARRIER_DISAGREES: "barrier count differs from that of waiting warps",
    FaultCause.BARRIER_FULL: "arrival at a barrier that is already complete",
    FaultCause.WSPAWN_COUNT: "more warps started than the core has",
    FaultCause.NO_PRODUCT: "wait for products of a warp that has started none",
    FaultCause.NO_PROGRESS: "wait for an address that is no register to wait for",
    FaultCause.INACTIVE_THREADS: "tensor instruction with inactive threads",
}
MEMORY_FAULTS = {
    MemoryFault.MISALIGNED: "misaligned access",
    MemoryFault.UNADDRESSABLE: "access outside memory",
    MemoryFault.REFUSED: "access refused by memory",
    MemoryFault.NOT_SHARED: "operand outside shared memory",
}
#: State of a warp, by its stall reason.
WAITS = {
    StallReason.NONE: "can issue",
    StallReason.SCOREBOARD: "waits for a result",
    StallReason.MEMORY: "waits for a load",
    StallReason.DRAIN: "waits for its instructions in flight, or for room in a unit",
    StallReason.BLOCKED: "waits for a branch or a control instruction",
    StallReason.NO_INSTRUCTION: "waits for instructions",
    StallReason.BARRIER: "waits at a barrier",
    StallReason.IDLE: "is not active",
}


def explain_core(
    machine: ProgramMachine,
    program: Program,
    memory_layout: MemoryLayout,
    outcome: ProgramOutcome,
    trace: Path | None = None,
) -> dict[str, Any]:
    """Return the diagnosis of a run that did not end normally; `trace` is that of a difference.

    In lockstep the model has the state of the RTL, and adds its knowledge of the program, unless
    only the RTL has the fault: the model's units refuse nothing.
    """
    locator = Locator(program)
    result: dict[str, Any] = {
        "stop": outcome.stop.text,
        "cycles": outcome.cycles,
        "instructions": outcome.instructions,
        "sentence": SENTENCES.get(outcome.stop, ""),
        "mismatch": outcome.mismatch or outcome.violation,
        "cores": list(cores(machine, locator)),
        "units": outcome.waits,
        "lockstep": machine.iss is not None,
        "program": None,
        "race": None if outcome.missed is None else explain_race(outcome.missed, locator),
        "trace": None if trace is None else str(trace),
    }
    if result["race"]:
        result["sentence"] = "race: a load missed a store for want of a fence"
    if outcome.fault is not None:
        result |= explain_fault(outcome.fault, locator, memory_layout)
    if machine.iss is not None and outcome.stop in ALIKE:
        stop, code, instructions = outcome.stop, outcome.exit_code, outcome.instructions
        fault = machine.iss.fault() if stop is StopReason.FAULT else None
        ended = Outcome(stop, code, instructions, fault, outcome.seconds)
        if outcome.fault is None or (fault is not None and fault.pc == outcome.fault.pc):
            result["program"] = explain(machine.iss, program, memory_layout, ended)
    return result


def explain_fault(
    fault: CoreFault, locator: Locator, memory_layout: MemoryLayout
) -> dict[str, Any]:
    """Return the diagnosis of a fault reported by the RTL."""
    cause, address, near = fault.cause, "", None
    if isinstance(cause, MemoryFault):
        words, address = MEMORY_FAULTS[cause], f" to {fault.address:#010x}"
        near = memory_layout.describe(fault.address)
    else:
        words = CONTROL_FAULTS[cause]
    who = f"core {fault.core}, warp {fault.warp}, {lane_text(fault.lanes)}"
    return {
        "sentence": f"{words}{address} at {fault.pc:#010x}, {who}",
        "core": fault.core,
        "warp": fault.warp,
        "pc": fault.pc,
        "lanes": fault.lanes,
        "address": fault.address,
        "near": near,
        "location": locator.at(fault.pc),
    }


def explain_race(missed: MissedStore, locator: Locator) -> dict[str, Any]:
    """Return a load that missed a store, and that store, with their locations."""
    return vars(missed) | {
        "who": missed.who,
        "location": locator.at(missed.pc),
        "writer_location": missed.writer and locator.at(missed.writer[2]),
    }


def race_lines(race: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about a load that missed a store."""
    load = f"core {race['core']}, warp {race['warp']} loads at {race['pc']:#010x}"
    yield f"  {load} from {race['address']:#010x} what was there before the store"
    yield from place_lines(race["location"])
    place = f" at {race['writer'][2]:#010x}" if race["writer"] else ""
    yield f"  {race['who']} stored{place}; this was complete in cycle {race['written']:,}"
    if race["writer"]:
        yield from place_lines(race["writer_location"])
    yield "  call vx_fence before the load, or choose --races ignore"


def cores(machine: ProgramMachine, locator: Locator) -> Iterator[dict[str, Any]]:
    """Yield the state of each core and its warps."""
    for number, state in enumerate(machine.core_states()):
        warps = [warp for warp in range(machine.core.warps) if state.active >> warp & 1]
        yield {
            "core": number,
            "fetches_under_way": state.pending_fetches,
            "accesses_under_way": state.pending_requests,
            "warps": [
                {
                    "warp": warp,
                    "waits": wait_of(state.reason[warp], locator.program, state.pc[warp]),
                    "instructions_under_way": state.under_way[warp],
                    "last_issued": state.pc[warp],
                    "unit": PORTS[Port(state.port[warp])].name,
                    "location": locator.at(state.pc[warp]),
                }
                for warp in warps
            ],
        }


def wait_of(reason: int, program: Program, pc: int) -> str:
    """Return the state of a warp as text, by its stall reason and its last instruction."""
    word = program.word_at(pc)
    is_wait = word is not None and INSTRUCTIONS["vx_wait"].matches(word)
    if reason == StallReason.BARRIER and is_wait:
        return "sleeps until a unit has made progress"
    return WAITS[StallReason(reason)]


def core_diagnostics_text(diagnostics: dict[str, Any]) -> str:
    """Return the result of `explain_core` as text of at most a screen."""
    when = f"in cycle {diagnostics['cycles']:,}, after {diagnostics['instructions']:,} instructions"
    if diagnostics["mismatch"]:
        lines = head_lines(f"{diagnostics['sentence']}, {when}")
        if diagnostics["race"]:
            lines += race_lines(diagnostics["race"])
        if diagnostics["trace"]:
            lines.append("  the instructions before it, with operands:")
            lines.append(f"  {diagnostics['trace']}")
        lines += diagnostics["mismatch"].splitlines()
    elif diagnostics["program"] is not None:
        lines = [*diagnostics_text(diagnostics["program"]).splitlines(), f"  {when}"]
    else:
        lines = head_lines(f"{diagnostics['sentence']}, {when}")
        if diagnostics.get("near"):
            lines.append(f"  {diagnostics['address']:#010x} is {diagnostics['near']}")
        if diagnostics.get("location"):
            lines.append(f"  {spot(diagnostics['location'])}")
    if diagnostics["stop"] != "fault" or diagnostics["program"] is None:
        lines += core_lines(diagnostics)
        lines += [f"  {part}" for part in diagnostics["units"].split("; ") if part]
    if diagnostics["stop"] in ("fault", "deadlock") and not diagnostics["lockstep"]:
        lines.append("  run in lockstep with the model for details")
    whole = f"  {diagnostics['trace']}"  # a file name is not cut
    lines = [line if line == whole else line[:WIDTH].rstrip() for line in lines]
    if len(lines) > SCREEN:
        lines[SCREEN - 1 :] = ["  and more; --json FILE has all of it"]
    return "\n".join(lines)


def core_lines(diagnostics: dict[str, Any]) -> Iterator[str]:
    """Yield the state of the cores, with warps in the same state grouped."""
    groups: dict[tuple, list[list[int]]] = {}
    for core in diagnostics["cores"]:
        fetches, accesses = core["fetches_under_way"], core["accesses_under_way"]
        if core["warps"]:
            active = counted("warp", (warp["warp"] for warp in core["warps"]))
            yield (
                f"  core {core['core']}: active {active}; fetches in flight: {fetches}, accesses: "
                f"{accesses}"
            )
        for warp in core["warps"]:
            alike = (warp["waits"], warp["instructions_under_way"], warp["last_issued"])
            key = (*alike, warp["unit"], spot(warp["location"]))
            groups.setdefault(key, []).append([core["core"], warp["warp"]])
    for (waits, under_way, pc, unit, where), warps in list(groups.items())[:SHOWN]:
        yield f"  {warps_text(warps)}: {waits}; instructions in flight: {under_way}"
        yield f"    last issued {pc:#010x} to the {unit}, {where}"
    if len(groups) > SHOWN:
        yield f"  and {sum(map(len, list(groups.values())[SHOWN:]))} warps elsewhere"
