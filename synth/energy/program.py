"""Levelised program of a mapped netlist: two-input operations in an order of evaluation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.errors import UserError
from .boolean import And, Constant, Expression, Name, Not, Xor
from .mapped_netlist import ONE, ZERO, Instance, MappedNetlist

__all__ = [
    "INVERT_LEFT",
    "INVERT_RESULT",
    "INVERT_RIGHT",
    "XOR",
    "Program",
    "compile_netlist",
    "state_nets",
]

#: Bits of an operation's code: exclusive or instead of conjunction, and inversions.
XOR, INVERT_LEFT, INVERT_RIGHT, INVERT_RESULT = 1, 2, 4, 8


@dataclass(frozen=True, kw_only=True)
class Program:
    """Operations that evaluate all nets of a block in one cycle.

    Parameters
    ----------
    operations : array of uint32, n x 4
        Code, result, left and right operand of each operation; the last three are slots.
    nets : int
        Number of nets, the first slots.
    slots : int
        Nets, next states and intermediate values.
    driven : tuple of int
        Nets whose values are inputs of the program: ports, registers, outputs of memories and of
        other blocks.
    states : tuple of int
        Net of each flip-flop's state.
    next_states : tuple of int
        Slot of each flip-flop's next state; the value of its net in the next cycle, if clocked.
    levels : int
        Cells on the longest path.

    """

    operations: NDArray[np.uint32]
    nets: int
    slots: int
    driven: tuple[int, ...]
    states: tuple[int, ...]
    next_states: tuple[int, ...]
    levels: int


def compile_netlist(netlist: MappedNetlist) -> Program:
    """Return the program of a netlist; raise `UserError` if its gates have a loop."""
    ordered, levels = levelised(netlist)
    writer = OperationWriter(netlist.nets + len(netlist.flip_flops))
    states, next_states = [], []
    inverted = []
    for slot, register in enumerate(netlist.flip_flops, netlist.nets):
        state, others = state_nets(register)
        states.append(state)
        next_states.append(slot)
        inverted += [(other, state) for other in others]
    for other, state in inverted:
        writer.assign(other, Not(Name("state")), {"state": state})
    for gate in ordered:
        for pin in gate.cell.pins.values():
            if pin.is_output and pin.name in gate.nets:
                if pin.function is None:
                    raise UserError(f"output {pin.name} of {gate.cell.name} must have a function")
                writer.assign(gate.nets[pin.name], pin.function, gate.nets)
    for slot, state, register in zip(next_states, states, netlist.flip_flops, strict=True):
        writer.assign(slot, *next_state_of(register, state))
    return Program(
        operations=np.array(writer.operations, np.uint32).reshape(-1, 4),
        nets=netlist.nets,
        slots=writer.slots,
        driven=tuple(sorted(set(driven_nets(netlist, states)) - {ZERO, ONE})),
        states=tuple(states),
        next_states=tuple(next_states),
        levels=levels,
    )


def driven_nets(netlist: MappedNetlist, states: list[int]) -> Iterator[int]:
    """Yield the nets that no gate drives."""
    yield from states
    for nets in netlist.inputs.values():
        yield from nets
    for part in netlist.opaque:
        for nets in part.outputs.values():
            yield from nets


def state_nets(register: Instance) -> tuple[int, list[int]]:
    """Return the net that holds a flip-flop's state, and nets that hold its inverse.

    If only the inverted output is connected, its net counts as the state.
    """
    flip_flop = register.cell.flip_flop
    assert flip_flop is not None
    sides: dict[Expression, list[int]] = {Name(flip_flop.state): [], Name(flip_flop.inverted): []}
    for pin in register.cell.pins.values():
        if pin.is_output and pin.name in register.nets:
            if pin.function not in sides:
                raise UserError(f"output {pin.name} of {register.cell.name} must be its state")
            sides[pin.function].append(register.nets[pin.name])
    plain, inverted = sides.values()
    if len(plain) > 1 or not (plain or inverted):
        raise UserError(f"{register.cell.name} must have one output of its state")
    return (plain[0], inverted) if plain else (inverted[0], inverted[1:])


def next_state_of(register: Instance, state: int) -> tuple[Expression, Mapping[str, int]]:
    """Return the next value of a state's net, and the nets of the names in it."""
    flip_flop = register.cell.flip_flop
    assert flip_flop is not None
    is_inverted = all(
        pin.function != Name(flip_flop.state)
        for pin in register.cell.pins.values()
        if pin.is_output and register.nets.get(pin.name) == state
    )
    expression = flip_flop.next_state
    if is_inverted:
        expression = Not(expression)
    return substituted(expression, flip_flop.state, flip_flop.inverted, is_inverted), {
        **register.nets,
        "state net": state,
    }


def substituted(expression: Expression, state: str, inverted: str, is_inverted: bool) -> Expression:
    """Return an expression with the net of a state instead of the names of the state."""
    net = Name("state net")
    match expression:
        case Name(name) if name in (state, inverted):
            return net if (name == state) != is_inverted else Not(net)
        case Not(operand):
            return Not(substituted(operand, state, inverted, is_inverted))
        case And(left, right) | Xor(left, right):
            return type(expression)(
                substituted(left, state, inverted, is_inverted),
                substituted(right, state, inverted, is_inverted),
            )
    return expression


def levelised(netlist: MappedNetlist) -> tuple[list[Instance], int]:
    """Return the gates, each after those that drive it, by levels and cells; and the levels."""
    drivers = {net: gate for gate in netlist.gates for net in output_nets(gate)}
    waiting: dict[str, int] = {}
    readers: dict[str, list[Instance]] = {}
    for gate in netlist.gates:
        sources = {drivers[net].name for net in input_nets(gate) if net in drivers}
        waiting[gate.name] = len(sources)
        for source in sources:
            readers.setdefault(source, []).append(gate)
    level = [gate for gate in netlist.gates if not waiting[gate.name]]
    ordered: list[Instance] = []
    levels = 0
    while level:
        levels += 1
        # Equal cells follow each other: the evaluator then predicts its branches.
        ordered += sorted(level, key=lambda gate: gate.cell.name)
        following = []
        for gate in level:
            for reader in readers.get(gate.name, ()):
                waiting[reader.name] -= 1
                if not waiting[reader.name]:
                    following.append(reader)
        level = following
    if len(ordered) < len(netlist.gates):
        looped = len(netlist.gates) - len(ordered)
        raise UserError(
            f"gates of {netlist.name} must have no combinational loop; {looped} of "
            f"{len(netlist.gates)} are in one or depend on one"
        )
    return ordered, levels


def output_nets(gate: Instance) -> list[int]:
    """Return the nets that a gate drives."""
    return [net for pin, net in gate.nets.items() if gate.cell.pins[pin].is_output]


def input_nets(gate: Instance) -> list[int]:
    """Return the nets that a gate reads."""
    return [net for pin, net in gate.nets.items() if not gate.cell.pins[pin].is_output]


class OperationWriter:
    """Writer of operations; intermediate values are in slots that all expressions share."""

    def __init__(self, first: int):
        self.first = first
        self.slots = first
        self.operations: list[tuple[int, int, int, int]] = []

    def assign(self, target: int, expression: Expression, nets: Mapping[str, int]):
        """Write the operations that compute an expression into a slot."""
        self.free = self.first
        slot, is_inverted = self.value(expression, nets, target)
        if slot != target:
            self.write(INVERT_RESULT if is_inverted else 0, target, slot, slot)
        elif is_inverted:
            code, result, left, right = self.operations[-1]
            self.operations[-1] = (code ^ INVERT_RESULT, result, left, right)

    def value(
        self, expression: Expression, nets: Mapping[str, int], target: int | None = None
    ) -> tuple[int, bool]:
        """Write an expression; return the slot of its value, and whether it is inverted there."""
        match expression:
            case Name(name):
                return nets.get(name, ZERO), False
            case Constant(value):
                return (ONE if value else ZERO), False
            case Not(operand):
                slot, is_inverted = self.value(operand, nets, target)
                return slot, not is_inverted
            case And(left, right) | Xor(left, right):
                (a, invert_a), (b, invert_b) = self.value(left, nets), self.value(right, nets)
                result = self.temporary() if target is None else target
                code = INVERT_LEFT * invert_a | INVERT_RIGHT * invert_b
                if isinstance(expression, Xor):
                    code = XOR | (INVERT_RESULT if invert_a != invert_b else 0)
                self.write(code, result, a, b)
                return result, False

    def temporary(self) -> int:
        """Return a slot that the current expression does not use yet."""
        self.free += 1
        self.slots = max(self.slots, self.free)
        return self.free - 1

    def write(self, code: int, result: int, left: int, right: int):
        """Append an operation."""
        self.operations.append((code, result, left, right))
