"""Internal energy of a cell per transition, averaged over the states it can be in.

Rules, all of them about what a count of toggles does not hold:

- Every input has the same slew, `SLEW` unless given. The load of an output is the capacitance of
  the pins it drives.
- A toggle costs the mean of a rise and a fall, since a net rises as often as it falls.
- All states of the pins are equally likely, except pins tied to a constant. In each state the
  first group whose condition holds applies, or else the group without a condition.
- An output's energy is the mean over all inputs and states in which this input changes the output.
- Inputs of a flip-flop change in the half cycle before its active clock edge. At the passive edge,
  its inputs thus agree with its state. At the active edge they agree in cycles that do not change
  the state; the states in which they disagree give the energy of cycles that change it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from .boolean import evaluate
from .power_library import Cell, InternalPower, Pin
from .power_table import PowerTable

__all__ = ["SLEW", "CellEnergy", "TableMean", "cell_energy"]

#: Transition time of every input in ns.
SLEW = 0.1

State = Mapping[str, int]
Table = Callable[[InternalPower], PowerTable]
Weights = list[tuple[float, PowerTable]]


@dataclass(frozen=True, kw_only=True)
class TableMean:
    """Weighted sum of energy tables."""

    weights: tuple[tuple[float, PowerTable], ...]

    def at(self, slew: float, load: float = 0.0) -> float:
        """Return the energy in pJ at a slew in ns and a load in pF."""
        return sum(weight * table.at(slew, load) for weight, table in self.weights)


@dataclass(frozen=True, kw_only=True)
class CellEnergy:
    """Internal energies of a cell.

    Parameters
    ----------
    pins : mapping of str to TableMean
        Energy per toggle of each output, and of each input other than a clock.
    clock : TableMean
        Energy of both edges of the clock in a cycle that does not change the state.
    change : TableMean
        The same in a cycle that changes it, without the energy of the outputs.

    """

    pins: Mapping[str, TableMean]
    clock: TableMean
    change: TableMean


def cell_energy(cell: Cell, ties: Mapping[str, int]) -> CellEnergy:
    """Return the internal energies of a cell, of which some pins are tied to constants."""
    if cell.flip_flop is not None:
        return flip_flop_energy(cell, ties)
    free = [pin.name for pin in cell.pins.values() if not pin.is_output and pin.name not in ties]
    states = [with_outputs(cell, state) for state in states_of(free, ties)]
    pins = {}
    for pin in cell.pins.values():
        if pin.is_output:
            pins[pin.name] = toggle_mean(pin, sensitive(cell, pin, free, states))
        elif pin.name in free:
            pins[pin.name] = toggle_mean(pin, ((None, state) for state in states))
    return CellEnergy(pins=pins, clock=TableMean(weights=()), change=TableMean(weights=()))


def states_of(free: Iterable[str], ties: State) -> Iterator[dict[str, int]]:
    """Yield all states of some pins, with the tied ones."""
    free = list(free)
    for values in product((0, 1), repeat=len(free)):
        yield {**ties, **dict(zip(free, values, strict=True))}


def with_outputs(cell: Cell, state: State) -> dict[str, int]:
    """Return a state of inputs and registers with the outputs."""
    outputs = {
        pin.name: evaluate(pin.function, state)
        for pin in cell.pins.values()
        if pin.function is not None
    }
    return {**state, **outputs}


def sensitive(
    cell: Cell, output: Pin, free: Iterable[str], states: list[dict[str, int]]
) -> Iterator[tuple[str, State]]:
    """Yield all pairs of an input and a state in which this input changes an output."""
    for name in free:
        for state in states:
            changed = with_outputs(cell, {**state, name: 1 - state[name]})
            if changed[output.name] != state[output.name]:
                yield name, state


def toggle_mean(pin: Pin, events: Iterable[tuple[str | None, State]]) -> TableMean:
    """Return the energy of a pin per toggle, caused by an input, the mean over events."""
    events = list(events)
    halves = [
        *chosen(pin, events, lambda power: power.rise),
        *chosen(pin, events, lambda power: power.fall),
    ]
    return TableMean(weights=merged((weight / 2, table) for weight, table in halves))


def chosen(pin: Pin, events: Sequence[tuple[str | None, State]], table: Table) -> Weights:
    """Return the tables of a pin that apply in events, each with its share of the events."""
    tables = []
    for cause, state in events:
        groups = [power for power in pin.power if cause is None or cause_fits(power, cause)]
        power = next(
            (power for power in groups if power.when and evaluate(power.when, state)),
            next((power for power in groups if power.when is None), None),
        )
        if power is not None:
            tables.append((1 / len(events), table(power)))
    return tables


def cause_fits(power: InternalPower, cause: str) -> bool:
    """Return whether a group is about transitions that an input causes."""
    return not power.related or cause in power.related


def merged(weights: Iterable[tuple[float, PowerTable]]) -> tuple[tuple[float, PowerTable], ...]:
    """Return weighted tables, each table once."""
    tables: dict[int, PowerTable] = {}
    sums: dict[int, float] = {}
    for weight, table in weights:
        tables[id(table)] = table
        sums[id(table)] = sums.get(id(table), 0.0) + weight
    return tuple((sums[key], table) for key, table in tables.items())


def flip_flop_energy(cell: Cell, ties: State) -> CellEnergy:
    """Return the energies of a flip-flop."""
    flip_flop = cell.flip_flop
    assert flip_flop is not None and flip_flop.clock is not None
    is_falling = flip_flop.is_falling
    clock = cell.pins[flip_flop.clock]
    free = [
        pin.name
        for pin in cell.pins.values()
        if not pin.is_output and pin is not clock and pin.name not in ties
    ]
    held, changing = flip_flop_states(cell, free, {**ties, clock.name: int(is_falling)})
    pins = {}
    for pin in cell.pins.values():
        if pin.is_output:
            pins[pin.name] = toggle_mean(pin, ((clock.name, state) for state in changing))
        elif pin.name in free:
            pins[pin.name] = toggle_mean(pin, ((None, state) for state in (*held, *changing)))
    tables: tuple[Table, Table] = (lambda power: power.rise, lambda power: power.fall)
    active, passive = tables[::-1] if is_falling else tables
    after = [(None, {**state, clock.name: 1 - state[clock.name]}) for state in held]
    passive_weights = chosen(clock, after, passive)
    held_weights = chosen(clock, [(None, state) for state in held], active)
    changing_weights = chosen(clock, [(None, state) for state in changing], active)
    return CellEnergy(
        pins=pins,
        clock=TableMean(weights=merged([*held_weights, *passive_weights])),
        change=TableMean(weights=merged([*changing_weights, *passive_weights])),
    )


def flip_flop_states(
    cell: Cell, free: list[str], ties: State
) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Return the states before an active edge that does not change a flip-flop, and that does."""
    flip_flop = cell.flip_flop
    assert flip_flop is not None
    both: tuple[list[dict[str, int]], list[dict[str, int]]] = ([], [])
    for inputs in states_of([flip_flop.state, *free], ties):
        state = {**inputs, flip_flop.inverted: 1 - inputs[flip_flop.state]}
        if any(evaluate(c, state) for c in (flip_flop.clear, flip_flop.preset) if c is not None):
            continue
        following = evaluate(flip_flop.next_state, state)
        both[following != state[flip_flop.state]].append(with_outputs(cell, state))
    return both
