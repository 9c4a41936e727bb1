"""Effect of one instruction on what is known: registers and stack slots read and written."""

from dataclasses import replace

from ...hw.isa.csr import CSRS
from ...hw.isa.encoding import RegisterClass
from ...hw.isa.instructions import INSTRUCTIONS
from ...hw.isa.operations import PORTS, Port, TensorOperation
from ..bodies import LOADS, STORES, Step
from .state import FLOAT_BASE, STACK_POINTER, State

__all__ = ["after", "decided", "place_of", "reads", "slot"]

WORD = 0xFFFF_FFFF


def place_of(step: Step, name: str) -> int:
    """Return the place of a register operand."""
    file = INSTRUCTIONS[step.name].registers[name]
    return step.field(name) + (FLOAT_BASE if file is RegisterClass.FLOAT else 0)


def slot(step: Step, state: State) -> int | None:
    """Return the place of the stack slot that a load or store accesses, None if not known."""
    if state.depth is None or not (step.loads_from_stack or step.stores_to_stack):
        return None
    place = step.immediate("s" if step.stores_to_stack else "i") - state.depth
    return place if place < 0 else None


def reads(step: Step, state: State) -> list[int]:
    """Return the places that an instruction reads; those of a marker have no effect."""
    if not step.name or (step.name == "slti" and step.field("rd") == 0):
        return []
    places = [place_of(step, name) for name in INSTRUCTIONS[step.name].sources]
    place = slot(step, state)
    if place is not None and step.loads_from_stack:
        places.append(place)
    return places


def group_written(step: Step) -> range:
    """Return the places of the group of registers that a tensor instruction writes, if any.

    A word that instructions of several units share has the name of the first one.
    """
    operation = TensorOperation.__members__.get(step.name.upper())
    groups = None if operation is None else PORTS[Port.TENSOR].groups.get(operation)
    if groups is None or groups.destination is None:
        return range(0)
    first = groups.destination.first
    if first is None:
        first = place_of(step, "rd")
    elif groups.destination.is_selected:
        first += groups.size * step.field("rd")
    return range(first, first + groups.size)


def after(step: Step, state: State, every: int) -> State:
    """Return what is known after an instruction that is no call and changes no active threads."""
    if not step.name:
        return state
    group = group_written(step)
    if group:
        for register in group:
            state = state.with_value(register, None, every)
        return state
    place = slot(step, state)
    if step.stores_to_stack:
        if place is None:
            return state
        return state.with_value(place, state.values.get(place_of(step, "rs2")), every)
    if step.name in STORES or "rd" not in INSTRUCTIONS[step.name].registers:
        return state
    target = place_of(step, "rd")
    if target == 0:
        return state
    if target == STACK_POINTER:
        return moved_stack(step, state, every)
    value = None
    if place is not None:
        value = state.values.get(place)
    elif step.name not in LOADS:
        value = computed(step, state)
    return state.with_value(target, value, every)


def moved_stack(step: Step, state: State, every: int) -> State:
    """Return what is known after an instruction that sets the stack pointer."""
    amount = None
    if step.field("rs1") == STACK_POINTER and step.name == "addi":
        amount = step.immediate("i")
    elif step.field("rs1") == STACK_POINTER and step.name in ("add", "sub"):
        value = state.values.get(step.field("rs2"))
        if value is not None:
            signed = value - (value >> 31 << 32)
            amount = -signed if step.name == "sub" else signed
    depth = None if amount is None or state.depth is None else state.depth - amount
    return replace(state.with_value(STACK_POINTER, None, every), depth=depth)


def computed(step: Step, state: State) -> int | None:
    """Return the value that an instruction computes, None if it is not known."""
    source = None if "rs1" not in INSTRUCTIONS[step.name].registers else step.field("rs1")
    known = 0 if source == 0 else state.values.get(source) if source is not None else None
    if step.name == "lui":
        return step.immediate("u") << 12 & WORD
    if step.name == "auipc":
        return step.pc + (step.immediate("u") << 12) & WORD
    if step.name == "addi" and known is not None:
        return known + step.immediate("i") & WORD
    if step.name == "slli" and known is not None:
        return known << step.immediate("shamt") & WORD
    if step.name == "csrrs" and step.immediate("csr") == CSRS["thread_mask"].number:
        return None if isinstance(state.lanes, str) else state.lanes
    if step.name == "csrrs" and step.immediate("csr") == CSRS["warp_id"].number:
        return state.warp
    return None


def decided(step: Step, state: State) -> bool | None:
    """Return whether a comparison with zero branches, None if it is not known."""
    value = state.values.get(step.field("rs1"))
    if step.name not in ("beq", "bne") or step.field("rs2") != 0 or value is None:
        return None
    return (value == 0) == (step.name == "beq")
