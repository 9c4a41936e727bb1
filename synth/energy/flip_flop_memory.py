"""Energy of memories made of flip-flops, by estimate from a library's cells.

Rules: each word has a clock gate of its own, which is not counted. Data and addresses are random,
so half of the bits change. A write toggles the inputs of all words, clocks one word, and changes
half of its bits. A read selects through a tree of two-input multiplexers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...base.errors import UserError
from ..memories import MemoryShape
from .boolean import Expression, Name, evaluate
from .cell_energy import SLEW, cell_energy, states_of
from .power_library import Cell, Pin, PowerLibrary

__all__ = ["StorageCells", "storage_cells"]


@dataclass(frozen=True, kw_only=True)
class StorageCells:
    """Energies of the cells of a memory made of flip-flops.

    Parameters
    ----------
    data : float
        Energy per toggle of the input of one flip-flop in pJ, pin capacitance included.
    clock : float
        Energy per clock cycle of one flip-flop in pJ, pin capacitance included.
    change : float
        Further energy of a change of its state in pJ, multiplexer input included.
    select : float
        Energy per toggle of the output of a multiplexer in pJ, with an input of the next one.
    flip_flop_leakage, multiplexer_leakage : float
        Leakage power in nW.

    """

    data: float
    clock: float
    change: float
    select: float
    flip_flop_leakage: float
    multiplexer_leakage: float

    def write_energy(self, shape: MemoryShape) -> float:
        """Return the energy of a write of one word in pJ."""
        return shape.width * (shape.depth * self.data / 2 + self.clock + self.change / 2)

    def read_energy(self, shape: MemoryShape) -> float:
        """Return the energy of a read of one word in pJ.

        A multiplexer that selects one of n words changes its output with probability
        (1 - 1 / n) / 2 if the next address is as likely to be any word.
        """
        toggles, inputs, words = 0.0, shape.depth, 1
        while inputs > 1:
            inputs, words = inputs // 2, 2 * words
            toggles += inputs * (1 - 1 / words) / 2
        return shape.width * toggles * self.select

    def leakage(self, shape: MemoryShape, reads: int) -> float:
        """Return the leakage power in nW, with a tree of multiplexers for each read port."""
        trees = reads * shape.width * (shape.depth - 1)
        return shape.bits * self.flip_flop_leakage + trees * self.multiplexer_leakage


def storage_cells(library: PowerLibrary, slew: float = SLEW) -> StorageCells:
    """Return the energies of the smallest flip-flop and multiplexer of a library."""
    flip_flop, ties = smallest_flip_flop(library)
    state = flip_flop.flip_flop
    assert state is not None and state.clock is not None and isinstance(state.next_state, Name)
    multiplexer = smallest_multiplexer(library)
    select = next(pin for pin in multiplexer.pins.values() if pin.is_output)
    pin = max(pin.capacitance for pin in multiplexer.pins.values() if not pin.is_output)
    half = library.voltage**2 / 2
    stored, selected = cell_energy(flip_flop, ties), cell_energy(multiplexer, {})
    output = next(name for name, pin in flip_flop.pins.items() if pin.function == Name(state.state))
    data = flip_flop.pins[state.next_state.name]
    held = stored.clock.at(slew)
    return StorageCells(
        data=stored.pins[data.name].at(slew) + data.capacitance * half,
        clock=held + 2 * flip_flop.pins[state.clock].capacitance * half,
        change=stored.change.at(slew) - held + stored.pins[output].at(slew, pin) + pin * half,
        select=selected.pins[select.name].at(slew, pin) + pin * half,
        flip_flop_leakage=flip_flop.leakage,
        multiplexer_leakage=multiplexer.leakage,
    )


def smallest_flip_flop(library: PowerLibrary) -> tuple[Cell, dict[str, int]]:
    """Return the smallest plain flip-flop, and the constants that disable its reset."""
    choices = []
    for cell in library.cells.values():
        flip_flop = cell.flip_flop
        if flip_flop is None or not cell.is_supported or flip_flop.clock is None:
            continue
        if not isinstance(flip_flop.next_state, Name) or not has_output(cell, flip_flop.state):
            continue
        used = {flip_flop.next_state.name, flip_flop.clock}
        controls = [pin.name for pin in cell.pins.values() if not pin.is_output]
        controls = [name for name in controls if name not in used]
        resets = [reset for reset in (flip_flop.clear, flip_flop.preset) if reset is not None]
        for ties in states_of(controls, {}):
            if not any(evaluate(reset, ties) for reset in resets):
                choices.append((cell.area, cell.name, ties))
                break
    if not choices:
        raise UserError(f"--liberty must hold a plain flip-flop; {library.name} has none")
    _, name, ties = min(choices, key=lambda choice: choice[:2])
    return library.cells[name], ties


def has_output(cell: Cell, state: str) -> bool:
    """Return whether a flip-flop has an output of its state."""
    return any(pin.function == Name(state) for pin in cell.pins.values())


def smallest_multiplexer(library: PowerLibrary) -> Cell:
    """Return the smallest cell that selects one of two inputs by a third."""
    cells = [
        cell
        for cell in library.cells.values()
        if cell.is_supported and cell.flip_flop is None and is_multiplexer(cell.pins.values())
    ]
    if not cells:
        raise UserError(f"--liberty must hold a multiplexer of two inputs; {library.name} has none")
    return min(cells, key=lambda cell: (cell.area, cell.name))


def is_multiplexer(pins: Iterable[Pin]) -> bool:
    """Return whether pins are those of a multiplexer of two inputs."""
    pins = list(pins)
    inputs = [pin.name for pin in pins if not pin.is_output]
    functions: list[Expression] = [pin.function for pin in pins if pin.function is not None]
    if len(inputs) != 3 or len(functions) != 1:
        return False
    states = list(states_of(inputs, {}))
    values = [evaluate(functions[0], state) for state in states]
    return any(
        values == [state[high if state[select] else low] for state in states]
        for select in inputs
        for low in inputs
        for high in inputs
        if len({select, low, high}) == 3
    )
