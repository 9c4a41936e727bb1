"""Energy model of a block from its mapped netlist: replay of recorded windows, and their energy."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...base.build_cache import digest
from ...base.errors import UserError
from ...hw.emit.writer.recorded import Places
from ..blocks import Block
from ..cache import cached, source_key
from ..liberty import Library, mapping_key
from ..macros import Macro
from .batches import BatchSums
from .block_energy import BlockEnergy, BlockWeights, block_weights, energy_of
from .flip_flop_memory import StorageCells
from .mapped_netlist import MappedNetlist, map_block
from .memory_accesses import MemoryPorts, memory_pj, memory_ports
from .memory_energy import MemoryEnergy, memory_energy
from .power_library import PowerLibrary
from .program import Program, compile_netlist
from .recorded_nets import NetRows, opaque_ports
from .recorded_signals import Recorded
from .replay import replay
from .waveform import Waveform

__all__ = ["BlockModel", "Costs", "InstanceEnergy", "block_model"]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs of cells and memories.

    Parameters
    ----------
    library : Library
        Library that blocks are mapped to.
    cells : PowerLibrary
        Power data of its cells.
    macros : sequence of Macro
        Macros of memories, with energies.
    storage : StorageCells
        Cells of memories made of flip-flops.

    """

    library: Library
    cells: PowerLibrary
    macros: Sequence[Macro]
    storage: StorageCells


@dataclass(frozen=True, kw_only=True)
class InstanceEnergy:
    """Energy of an instance of a block in the windows that count.

    Parameters
    ----------
    logic : BlockEnergy
        Energy of cells and nets.
    clocked_cycles : int
        Cycles that a clock edge begins.
    memory : float
        Energy of accesses to memories in pJ.
    reads, writes : int
        These accesses.
    memory_leakage : float
        Leakage power of memories in nW.
    batches : BatchSums
        Energy and cycles of each batch of windows.
    windows, counting : int
        Windows, and those of them in which the netlist computes every recorded value.
    differing : tuple of str
        Signals that differ in the others.

    """

    logic: BlockEnergy
    clocked_cycles: int
    memory: float
    reads: int
    writes: int
    memory_leakage: float
    batches: BatchSums
    windows: int
    counting: int
    differing: tuple[str, ...]

    @property
    def cycles(self) -> int:
        """Cycles of the windows that count."""
        return self.logic.cycles


@dataclass(frozen=True, kw_only=True)
class BlockModel:
    """Energy model of a block.

    Parameters
    ----------
    netlist : MappedNetlist
        Netlist without its cells.
    program : Program
        Evaluation of its nets.
    weights : BlockWeights
        Energy per toggle.
    clock : str or None
        Clock port; None without registers and clocked memories.
    memories : tuple of (MemoryPorts, MemoryEnergy)
        Memories.
    known : list of NetRows
        Rows of nets in the recordings of instances so far.

    """

    netlist: MappedNetlist
    program: Program
    weights: BlockWeights
    clock: str | None
    memories: tuple[tuple[MemoryPorts, MemoryEnergy], ...]
    known: list[NetRows] = field(default_factory=list)

    @property
    def children(self) -> list[tuple[str, str]]:
        """Path and block of each other block in it."""
        return [(part.name, part.block) for part in self.netlist.opaque if part.block is not None]

    def recorded(self, places: Places | None = None) -> Recorded:
        """Return the signals that `energy` needs, with their places in the file."""
        names = {*self.netlist.names, *opaque_ports(self.netlist)}
        return Recorded(names=names, clock=self.clock, places=places)

    def energy(self, waveform: Waveform) -> InstanceEnergy:
        """Return the energy of an instance in all windows of its waveform."""
        windows = waveform.windows
        observed = [net for ports, _ in self.memories for net in ports.nets]
        replayed = replay(
            *(self.netlist, self.program, waveform.signals, windows),
            clocked=waveform.clocked,
            observed=observed,
            known=self.known,
            weights=self.weights.toggle,
        )
        memory, reads, writes = memory_pj(self.memories, replayed)
        clocked = replayed.batch_sums(replayed.clocked)
        logic = replayed.weighted + self.weights.clock * clocked
        return InstanceEnergy(
            logic=energy_of(
                self.weights, replayed.toggles, replayed.cycles, replayed.clocked_cycles
            ),
            clocked_cycles=replayed.clocked_cycles,
            memory=float(memory.sum()),
            batches=BatchSums(
                energy=logic + replayed.batch_sums(memory),
                clocked_cycles=clocked,
                cycles=replayed.batch_sums(np.ones(replayed.cycles)),
            ),
            reads=reads,
            writes=writes,
            memory_leakage=sum(energy.leakage for _, energy in self.memories),
            windows=len(windows),
            counting=sum(replayed.counts),
            differing=replayed.differing,
        )


def block_model(block: Block, costs: Costs) -> BlockModel:
    """Return the energy model of a block, whose mapping and program are cached."""

    def build() -> tuple[MappedNetlist, Program, BlockWeights, str | None]:
        netlist = map_block(costs.library, costs.cells, block)
        weights = block_weights(netlist, costs.cells)
        clock = clock_of(netlist)
        return netlist.without_cells, compile_netlist(netlist), weights, clock

    # Blocks of equal text may contain equal blocks of different names.
    names = [block.name, *(f"{name}={below}" for name, below in block.names.items())]
    key = digest([mapping_key(costs.library, block), *names, source_key(Path(__file__).parent)])
    netlist, program, weights, clock = cached("energy", key, build)
    memories = []
    for ports in memory_ports(netlist):
        assert ports.memory.shape is not None
        shape = ports.memory.shape
        energy = memory_energy(shape, costs.macros, costs.library.nand2, costs.storage)
        memories.append((ports, energy))
    return BlockModel(
        netlist=netlist, program=program, weights=weights, clock=clock, memories=tuple(memories)
    )


def clock_of(netlist: MappedNetlist) -> str | None:
    """Return the port that clocks the registers and memories of a block; raise for several."""
    clocks = set(netlist.clocks)
    for part in netlist.opaque:
        if part.shape is not None:
            ports = ["WR_CLK"] if part.shape.ports.endswith("async") else ["WR_CLK", "RD_CLK"]
            clocks |= {net for port in ports for net in part.inputs.get(port, ()) if net > 1}
    names = sorted(name for name, nets in netlist.inputs.items() if clocks & set(nets))
    if len(names) > 1:
        raise UserError(f"{netlist.name} must have one clock, not {', '.join(names)}")
    return names[0] if names else None
