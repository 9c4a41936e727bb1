"""Diagnosis of a program that ended in a fault, in a deadlock or at its limit."""

from collections.abc import Iterator, Sequence
from typing import Any

from ...base.errors import MachineError
from ...hw.config import CoreConfig
from ...hw.isa.assembly import FLOAT_NAMES, INTEGER_NAMES, disassemble
from ...hw.isa.encoding import IMMEDIATES, REGISTER_FIELDS, RegisterClass
from ...hw.isa.instructions import INSTRUCTIONS, find
from ...hw.isa.operations import Unit
from ...kernels.inspection import helper_advice, inspect_program
from ...kernels.program import Program
from ..harness.stop_reason import StopReason
from ..iss.machine import Iss
from ..iss.outcome import Cause, Fault, Outcome, WarpState
from ..machine.memory_layout import MemoryLayout
from ..machine.stacks import core_of
from .diagnostics_text import ADVICE, diagnostics_text, with_warnings
from .source_locations import Locator

__all__ = ["ProgramError", "explain"]

#: Sentence of a deadlock, by whether a warp waits for a unit.
DEADLOCKS = {
    False: "deadlock: every warp that has not ended waits at a barrier",
    True: "deadlock: every warp that has not ended waits at a barrier or for a unit",
}
#: Instructions listed before a faulting one.
SHOWN = 7


class ProgramError(MachineError):
    """A program that did not end; the error has the findings of the inspection of its code.

    Parameters
    ----------
    program : Program
    diagnostics : dict
        Report of `explain`, for a result file.
    core : CoreConfig
        Config of the cores that ran it.
    text : str or None
        The report as text; None for that of `diagnostics_text`.

    """

    def __init__(
        self,
        program: Program,
        diagnostics: dict[str, Any],
        core: CoreConfig,
        text: str | None = None,
    ):
        warnings = inspect_program(program, has_atomics=core.atomics)
        text = diagnostics_text(diagnostics) if text is None else text
        super().__init__(with_warnings(text, warnings))
        self.diagnostics = diagnostics | {"code_warnings": warnings}


def explain(
    iss: Iss, program: Program, memory_layout: MemoryLayout, outcome: Outcome
) -> dict[str, Any]:
    """Return the report on the end of a run; without ``sentence`` if that is no failure."""
    result: dict[str, Any] = {"stop": outcome.stop.text, "instructions": outcome.instructions}
    if outcome.stop is StopReason.DONE:
        return result | {"exit_code": outcome.exit_code}
    locator = Locator(program)
    if outcome.stop is StopReason.FAULT:
        assert outcome.fault is not None
        fault = outcome.fault
        state = iss.warp(fault.core, fault.warp)
        strays = strayed(memory_layout, fault.core, fault.warp, state, fault)
        return result | explain_fault(iss, locator, memory_layout, fault) | strays
    if outcome.stop is StopReason.DEADLOCK:
        states = [state for _, _, state in warps_of(iss, memory_layout)]
        sentence = DEADLOCKS[any(state.sleeps for state in states)]
    else:
        sentence = "the limit was reached before the program ended"
    groups: dict[str, dict[str, Any]] = {}
    for core, warp, state in warps_of(iss, memory_layout):
        stands = where_it_stands(iss, locator, core, warp, state)
        stands |= strayed(memory_layout, core, warp, state)
        group = groups.setdefault(repr(stands), stands | {"warps": []})
        group["warps"].append([core, warp])
    return result | {
        "sentence": sentence,
        "groups": list(groups.values()),
        "barriers": list(barriers(iss, memory_layout)),
        "devices": iss.devices.describe(),
        "devices_idle": iss.devices.idle,
    }


def strayed(
    memory_layout: MemoryLayout,
    core: int,
    warp: int,
    state: WarpState,
    fault: Fault | None = None,
) -> dict[str, Any]:
    """Return the lanes of a warp that left their stacks, or would by a fault; bytes of a stack."""
    stacks = memory_layout.stacks_of
    checks = memory_layout.has_stacks and state.active
    lanes = stacks.strayed(core, warp, state) if checks else []
    if not lanes and fault is not None and fault.cause is Cause.STACK_EXCEEDED:
        assert fault.address is not None
        first, *_ = moved = lanes_of(fault.lanes)
        low = stacks.top(core, warp, first) - stacks.bytes_per_thread
        lanes = [[lane, low - fault.address] for lane in moved]
    return {"strayed": lanes, "stack_bytes": stacks.bytes_per_thread}


def warps_of(iss: Iss, memory_layout: MemoryLayout) -> Iterator[tuple[int, int, WarpState]]:
    """Yield core, warp and state of every warp of the machine."""
    for core in range(memory_layout.config.all_cores):
        for warp in range(core_of(memory_layout.config).warps):
            yield core, warp, iss.warp(core, warp)


def explain_fault(
    iss: Iss, locator: Locator, memory_layout: MemoryLayout, fault: Fault
) -> dict[str, Any]:
    """Return the details of a fault: location, history, registers, region near the address."""
    state = iss.warp(fault.core, fault.warp)
    history = iss.history(fault.core, fault.warp)
    lanes, active = lanes_of(fault.lanes), lanes_of(state.mask)
    # A divergent branch involves all active threads, not only the faulting lanes.
    shown = active if fault.cause is Cause.DIVERGENT_BRANCH else lanes
    pcs = [pc for pc, _, _ in history]
    return {
        "sentence": fault.sentence,
        "cause": fault.cause.value,
        "advice": advice_on(fault, locator.program),
        "core": fault.core,
        "warp": fault.warp,
        "lanes": lanes,
        "active_lanes": active,
        "pc": fault.pc,
        "assembly": disassemble(fault.word) if fault.word else None,
        "location": locator.at(fault.pc),
        "partner": partner_of(fault, locator),
        "came_from": None if locator.own(fault.pc) else locator.latest(pcs),
        "address": fault.address,
        "addresses": [
            [lane, *near] for lane, near in near_addresses(state, memory_layout, fault, lanes)
        ],
        "registers": registers(state, fault.word, shown),
        "registers_lanes": shown,
        "open_splits": [
            {"lanes": lanes_of(entry.both), "location": locator.at(entry.pc - 4)}
            for entry in state.stack
        ],
        "history": [
            {
                "pc": pc,
                "lanes": lanes_of(mask),
                "assembly": disassemble(word),
                "location": locator.at(pc),
            }
            for pc, word, mask in [*history[-SHOWN:], (fault.pc, fault.word, state.mask)]
            if word
        ],
    }


def advice_on(fault: Fault, program: Program) -> str | None:
    """Return what to change after a fault, None if its sentence says it."""
    if fault.cause is Cause.DIVERGENT_BRANCH and (helper := helper_advice(program, fault.pc)):
        return f"threads disagree in {helper}"
    return ADVICE.get(fault.cause.value)


def partner_of(fault: Fault, locator: Locator) -> dict[str, Any] | None:
    """Return the other access of a race, with its location, None for other faults."""
    if fault.partner is None:
        return None
    return vars(fault.partner) | {"location": locator.at(fault.partner.pc)}


def near_addresses(
    state: WarpState, memory_layout: MemoryLayout, fault: Fault, lanes: list[int]
) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield each faulting lane with its address and the nearest region."""
    if fault.address is None:
        return
    instruction = find(fault.word) if fault.word else None
    if instruction is None or instruction.unit not in (Unit.LSU, Unit.ATOMIC, Unit.BARRIER):
        yield lanes[0], (fault.address, memory_layout.describe(fault.address))
        return
    form = next((one for one in instruction.operands if one in ("i", "s")), None)
    offset = 0 if form is None else IMMEDIATES[form].decode(fault.word)
    base = state.integers[fault.word >> REGISTER_FIELDS["rs1"] & 0x1F]
    for lane in lanes:
        address = (int(base[lane]) + offset) & 0xFFFF_FFFF
        yield lane, (address, memory_layout.describe(address))


def registers(state: WarpState, word: int, lanes: list[int]) -> dict[str, list[int]]:
    """Return the source register values of an instruction in these lanes, by register name."""
    instruction = find(word) if word else None
    by_register: dict[str, list[int]] = {}
    if instruction is None:
        return by_register
    for field, file in instruction.registers.items():
        number = word >> REGISTER_FIELDS[field] & 0x1F
        if field not in instruction.sources or (file is RegisterClass.INTEGER and number == 0):
            continue
        integer = file is RegisterClass.INTEGER
        name = (INTEGER_NAMES if integer else FLOAT_NAMES)[number]
        values = (state.integers if integer else state.floats)[number]
        by_register[name] = [int(values[lane]) for lane in lanes]
    return by_register


def where_it_stands(
    iss: Iss, locator: Locator, core: int, warp: int, state: WarpState
) -> dict[str, Any]:
    """Return the final state of a warp: waits, runs, loops, has ended or never started."""
    history = iss.history(core, warp)
    pcs = [pc for pc, _, _ in history]
    if not history:
        return {"does": "waits" if state.active else "never began", "location": None}
    if not state.active:
        return {"does": "ended", "location": locator.latest(pcs)}
    if state.waits:
        return {
            "does": "waits",
            "barrier": barrier_of(state, history[-1][1]),
            "unit": state.waits if state.sleeps else None,
            "phase": state.waits if state.awaits_phase else None,
            "location": locator.latest(pcs),
        }
    # An instruction that occurs twice in the history is part of a loop.
    loop = sorted({pc for pc in pcs if pcs.count(pc) > 1})
    return {
        "does": "loops" if loop else "runs",
        "instructions": len(loop or set(pcs)),
        "first_pc": min(loop or pcs),
        "last_pc": max(loop or pcs),
        "locations": locator.lines(loop or pcs),
    }


def barrier_of(state: WarpState, word: int) -> list[int] | None:
    """Return number and count of the barrier that the last instruction, `word`, waits at."""
    if not INSTRUCTIONS["vx_bar"].matches(word):
        return None
    lane = state.mask.bit_length() - 1
    fields = (REGISTER_FIELDS["rs1"], REGISTER_FIELDS["rs2"])
    return [int(state.integers[word >> field & 0x1F][lane]) for field in fields]


def barriers(iss: Iss, memory_layout: MemoryLayout) -> Iterator[dict[str, Any]]:
    """Yield each barrier with waiting warps: number, count, arrivals per core, missing warps."""
    arrived: dict[tuple[int, int], list[tuple[int, int]]] = {}
    begun: list[tuple[int, int]] = []
    for core, warp, state in warps_of(iss, memory_layout):
        history = iss.history(core, warp)
        begun += [(core, warp)] if history else []
        if not (state.active and state.waits and history):
            continue
        barrier = barrier_of(state, history[-1][1])
        if barrier is not None:
            arrived.setdefault((barrier[0], barrier[1]), []).append((core, warp))
    for (number, count), warps in arrived.items():
        counts = [0] * memory_layout.config.all_cores
        for core, _ in warps:
            counts[core] += 1
        yield {
            "number": number,
            "count": count,
            "arrived": counts,
            "missing": missing_warps(number, count, warps, begun, counts),
        }


def missing_warps(
    number: int,
    count: int,
    arrived: Sequence[tuple[int, int]],
    begun: Sequence[tuple[int, int]],
    counts: Sequence[int],
) -> list[list[int]]:
    """Return the warps that a barrier of warps lacks; none if it could be any of several."""
    if number >> 31:
        return []
    absent = [[core, warp] for core, warp in begun if (core, warp) not in arrived]
    lacking = [sum(core == other for other, _ in absent) for core in range(len(counts))]
    unclear = {core for core, here in enumerate(counts) if count - here != lacking[core]}
    return [[core, warp] for core, warp in absent if core not in unclear]


def lanes_of(mask: int) -> list[int]:
    """Return the lanes of a mask."""
    return [lane for lane in range(32) if mask >> lane & 1]
