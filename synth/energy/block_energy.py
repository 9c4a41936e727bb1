"""Energy of a mapped block from the toggles of its nets.

Left out: the clock tree, wires, glitches within a cycle, and the pins of memories.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .cell_energy import SLEW, CellEnergy, cell_energy
from .mapped_netlist import ONE, ZERO, Instance, MappedNetlist
from .power_library import Cell, PowerLibrary
from .program import state_nets

__all__ = ["BlockEnergy", "BlockWeights", "block_weights", "energy_of"]


@dataclass(frozen=True, kw_only=True)
class BlockWeights:
    """Energies of a block per event.

    Parameters
    ----------
    internal : array of float
        Internal energy of cells per toggle of each net in pJ: of the cell that drives it, and of
        cells whose inputs it drives.
    switching : array of float
        Energy to charge or discharge each net in pJ, half its capacitance times the voltage
        squared. The capacitance is that of the pins in this block.
    clock_internal : float
        Internal energy of all clock pins in pJ per clocked cycle without a change of state.
    clock_switching : float
        Energy to charge and discharge all clock pins in pJ per clocked cycle.
    leakage : float
        Leakage power of all cells in nW.

    """

    internal: NDArray[np.float64]
    switching: NDArray[np.float64]
    clock_internal: float
    clock_switching: float
    leakage: float

    @property
    def toggle(self) -> NDArray[np.float64]:
        """Energy per toggle of each net in pJ."""
        return self.internal + self.switching

    @property
    def clock(self) -> float:
        """Energy of all clock pins in pJ per clocked cycle."""
        return self.clock_internal + self.clock_switching


@dataclass(frozen=True, kw_only=True)
class BlockEnergy:
    """Energy of a block in some cycles, without memories and other blocks.

    Parameters
    ----------
    internal : float
        Internal energy of cells due to toggles in pJ.
    switching : float
        Energy of nets in pJ.
    clock : float
        Energy of clock pins in pJ, with the clock withheld in idle cycles.
    ungated_clock : float
        The same with a clock in every cycle.
    leakage : float
        Leakage power in nW.
    cycles : int
        Cycles.

    """

    internal: float
    switching: float
    clock: float
    ungated_clock: float
    leakage: float
    cycles: int

    @property
    def dynamic(self) -> float:
        """Energy without leakage in pJ, with clocks withheld in idle cycles."""
        return self.internal + self.switching + self.clock

    def leakage_energy(self, megahertz: float) -> float:
        """Return the energy of leakage at a clock frequency in pJ."""
        return self.leakage * self.cycles / megahertz * 1e-3


def block_weights(
    netlist: MappedNetlist, library: PowerLibrary, slew: float = SLEW
) -> BlockWeights:
    """Return the energies of a netlist per event, with a slew of all inputs in ns."""
    capacitance = np.zeros(netlist.nets)
    clocks = 0.0
    for instance in netlist.cells:
        clock = instance.clock if instance.cell.flip_flop else None
        for name, net in instance.nets.items():
            if net == clock:
                clocks += instance.cell.pins[name].capacitance
            else:
                capacitance[net] += instance.cell.pins[name].capacitance
    capacitance[[ZERO, ONE]] = 0.0
    reader = WeightReader(slew)
    internal = np.zeros(netlist.nets)
    for instance in netlist.cells:
        reader.add(instance, capacitance, internal)
    return BlockWeights(
        internal=internal,
        switching=capacitance * (library.voltage**2 / 2),
        clock_internal=reader.clock,
        clock_switching=clocks * library.voltage**2,
        leakage=sum(instance.cell.leakage for instance in netlist.cells),
    )


class WeightReader:
    """Sum of the energies of instances; equal cells with equal ties are averaged once."""

    def __init__(self, slew: float):
        self.slew = slew
        self.clock = 0.0
        self.known: dict[tuple[str, tuple[tuple[str, int], ...]], CellEnergy] = {}

    def add(
        self, instance: Instance, capacitance: NDArray[np.float64], internal: NDArray[np.float64]
    ):
        """Add the energies of an instance to its nets, and to the clock."""
        ties = {pin: net for pin, net in instance.nets.items() if net in (ZERO, ONE)}
        energy = self.energy(instance.cell, ties)
        for pin, mean in energy.pins.items():
            if pin in instance.nets:
                net = instance.nets[pin]
                internal[net] += mean.at(self.slew, capacitance[net])
        if instance.cell.flip_flop is not None:
            held = energy.clock.at(self.slew)
            state, _ = state_nets(instance)
            internal[state] += energy.change.at(self.slew) - held
            self.clock += held

    def energy(self, cell: Cell, ties: Mapping[str, int]) -> CellEnergy:
        """Return the energies of a cell."""
        key = (cell.name, tuple(sorted(ties.items())))
        if key not in self.known:
            self.known[key] = cell_energy(cell, ties)
        return self.known[key]


def energy_of(
    weights: BlockWeights, toggles: NDArray[np.uint64], cycles: int, clocked_cycles: int
) -> BlockEnergy:
    """Return the energy of a block.

    Parameters
    ----------
    weights : BlockWeights
        Energies per event.
    toggles : array of int
        Toggles of each net, as `evaluate_program` counts them.
    cycles, clocked_cycles : int
        Cycles in which toggles were counted, and those of them with a clock.

    """
    if not 0 <= clocked_cycles <= cycles:
        raise ValueError(f"clocked_cycles must be 0 to {cycles}, not {clocked_cycles}")
    return BlockEnergy(
        internal=float(weights.internal @ toggles),
        switching=float(weights.switching @ toggles),
        clock=weights.clock * clocked_cycles,
        ungated_clock=weights.clock * cycles,
        leakage=weights.leakage,
        cycles=cycles,
    )
