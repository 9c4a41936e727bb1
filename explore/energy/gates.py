"""Energy of a run from gates: sampled windows of its RTL, replayed on mapped netlists.

The run is repeated with a waveform of the windows, since their places follow from its length.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ...base.build_cache import scratch_folder
from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...hw.emit.emission import REST
from ...hw.emit.writer.recorded import Places
from ...hw.emit.writer.variables.names import identifier
from ...sim.engine.blocks.composition import CLOCKS, PLACES
from ...sim.run.options import WAVEFORM, RunOptions
from ...sim.run.request.energy import GATES, require_cluster_run
from ...sim.run.workload import Workload, run_workload
from ...synth.design import Design, cluster_design
from ...synth.energy.block_model import BlockModel, Costs, block_model
from ...synth.energy.design_energy import PartEnergy, part_energy
from ...synth.energy.flip_flop_memory import storage_cells
from ...synth.energy.memory_energy import open_macros, read_energy_macros
from ...synth.energy.power_library import read_power_library
from ...synth.energy.sampling import Part, parts_of, sampled_windows
from ...synth.energy.waveform import WaveformFile, clock_ports, read_waveforms
from ...synth.liberty import read_library
from .section import LIMITS, energy_of_run

__all__ = [
    "GateMachine",
    "GateOptions",
    "gate_machine",
    "read_costs",
    "run_with_gates",
]

#: Window behind the end of every run.
NEVER = ((1 << 64) - 2, (1 << 64) - 1)


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Options of the energy of a run from gates.

    Parameters
    ----------
    liberty : Path
        Cell library with power tables.
    sram_table : Path or None
        Macros of memories with energies, a CSV file; None for macros of an open process.
    megahertz : float
        Clock frequency, for power and leakage.
    windows, window_cycles : int
        Windows of the run, and cycles of each.
    instances : int
        Largest number of instances of a block in a group to sample, if it has no memories; the
        default covers all blocks of the presets. Of a block with memories all are sampled, since
        accesses may be in few of them.
    dram_pj_per_bit : float or None
        Energy of a bit that DRAM reads or writes, in pJ; None for no energy of DRAM.

    """

    liberty: Path
    sram_table: Path | None = None
    megahertz: float = 100.0
    windows: int = 128
    window_cycles: int = 8
    instances: int = 256
    dram_pj_per_bit: float | None = None


def read_costs(options: GateOptions) -> Costs:
    """Return the costs of cells and memories; raise `UserError` if a file lacks what they need."""
    library = read_library(options.liberty)
    cells = read_power_library(options.liberty)
    table = options.sram_table
    macros = open_macros(library.nand2) if table is None else read_energy_macros(table)
    return Costs(library=library, cells=cells, macros=macros, storage=storage_cells(cells))


def run_with_gates(
    workload: Workload,
    preset: str,
    config: MachineConfig,
    options: RunOptions,
    *,
    costs: Costs,
    gates: GateOptions,
    machine: "GateMachine | None" = None,
    progress: Progress | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Run a workload and return its result, with its energy from gates.

    Raise `UserError` if a block cannot be mapped, before the run.

    Parameters
    ----------
    workload, preset, config, options, progress, **others
        As for `run_workload`.
    costs : Costs
        Costs of cells and memories.
    gates : GateOptions
        Samples and clock.
    machine : GateMachine or None
        Blocks of the machine, if they are there from another run.

    """
    require_cluster_run(config, options, GATES, "--engine")
    if machine is None:
        machine = gate_machine(config, preset, costs, progress)
    with scratch_folder() as folder:
        path = folder / f"windows{WAVEFORM}"
        path.mkdir()
        first = options
        if options.trace is None:
            # The model that records the windows: only one has to be built then.
            first = replace(options, trace=path, trace_samples=(NEVER,))
        result = run_workload(workload, preset, config, first, progress=progress, **others)
        cycles = result["run_cycles"]
        windows = sampled_windows(cycles, gates.windows, gates.window_cycles)
        again = replace(options, trace=path, trace_samples=tuple(windows), **unchecked(options))
        repeated = run_workload(workload, preset, config, again, progress=progress)
        if repeated["run_cycles"] != cycles:
            raise AssertionError(f"a run of {cycles} cycles took {repeated['run_cycles']} again")
        top = machine.design.top
        measured = MeasuredRun(path, top, windows, cycles, result["clocked_cycles"])
        parts = measured_parts(measured, machine, gates.instances, progress)
    source = {
        "liberty": gates.liberty.name,
        "voltage": costs.cells.voltage,
        "sram_table": None if gates.sram_table is None else gates.sram_table.name,
        "windows": len(windows),
        "sampled_cycles": sum(end - first - 1 for first, end in windows),
        "instances": sum(len(part.part.instances) for part in parts),
        "instances_sampled": sum(part.sampled for part in parts),
        "rules": list(LIMITS),
    }
    energy = energy_of_run(
        parts,
        result,
        megahertz=gates.megahertz,
        dram_pj_per_bit=gates.dram_pj_per_bit,
        source=source,
    )
    return result | {"energy": energy}


def unchecked(options: RunOptions) -> dict[str, Any]:
    """Return the options that turn off checks of the first run, which a repetition needs not."""
    known = {option.name for option in fields(options)}
    return {name: False for name in ("lockstep", "profile") if name in known}


@dataclass(frozen=True)
class GateMachine:
    """Blocks of a machine, and the energy model of each by its name."""

    design: Design
    models: Mapping[str, BlockModel]


def gate_machine(
    config: MachineConfig, preset: str, costs: Costs, progress: Progress | None = None
) -> GateMachine:
    """Return the blocks of a machine with their energy models."""
    design, models = cluster_design(config, preset), {}
    for done, name in enumerate(design.order):
        if progress is not None:
            progress(f"mapping {preset}", done, len(design.blocks))
        models[name] = block_model(design.blocks[name], costs)
    return GateMachine(design, models)


class MeasuredRun:
    """Run with waveforms of windows.

    Parameters
    ----------
    waveforms : Path
        Folder with a waveform of each part of the design, from a composed model.
    top : str
        Name of the design.
    windows : sequence of (int, int)
        First cycle of each window and the cycle after its last.
    cycles : int
        Cycles of the run.
    clocked_cycles : mapping of str to int
        Those of them with a clock, by clock domain.

    """

    def __init__(
        self,
        waveforms: Path,
        top: str,
        windows: Sequence[tuple[int, int]],
        cycles: int,
        clocked_cycles: Mapping[str, int],
    ):
        self.waveforms, self.top, self.cycles = waveforms, top, cycles
        self.recorded = [cycle for first, end in windows for cycle in range(first, end)]
        self.parts = json.loads((waveforms / CLOCKS).read_text())
        self.modules = json.loads((waveforms / PLACES).read_text())
        self.clocked_cycles: dict[str, int] = {}  # by the path of an instance
        for file, domains in zip(self.files(), self.parts.values(), strict=True):
            for path, port in clock_ports(file, domains).items():
                self.clocked_cycles[path] = clocked_cycles[domains[port]]

    def files(self) -> Iterator[WaveformFile]:
        """Yield the waveform of each part."""
        for name in self.parts:
            place = self.top if name == REST else f"{self.top}.{name}"
            with (self.waveforms / f"{name}{WAVEFORM}").open() as lines:
                yield WaveformFile(place=place, lines=lines)

    def places(self, block: str) -> Places:
        """Return the places of the signals of a block, which may be a part of a module."""
        module, _, inner = block.partition(".")
        return places_in(self.modules[REST if module == self.top else module], inner)

    def clocked(self, part: Part) -> list[int] | None:
        """Return the clocked cycles of each instance of a part; None if one is not known."""
        counts = [self.clocked_cycles.get(scope_of(path)) for path in part.instances]
        known = [count for count in counts if count is not None]
        return known if len(known) == len(counts) else None


def places_in(places: Places, part: str) -> Places:
    """Return the places of the signals of a part of a module, by its path there, or of it whole."""
    if not part:
        return places
    prefix, scope = f"{part}.", f"{scope_of(part)}."
    return {
        name.removeprefix(prefix): tuple(
            (path.removeprefix(scope), first, width) for path, first, width in pieces
        )
        for name, pieces in places.items()
        if name.startswith(prefix)
    }


def scope_of(path: str) -> str:
    """Return the scope of an instance in waveforms, by its path in the netlist."""
    return ".".join(map(identifier, path.split(".")))


def measured_parts(
    run: MeasuredRun,
    machine: GateMachine,
    instances: int,
    progress: Progress | None,
) -> list[PartEnergy]:
    """Return the energy of all parts of a design, from a waveform of windows.

    Parameters
    ----------
    run : MeasuredRun
        The run.
    machine : GateMachine
        Blocks of the machine.
    instances : int
        Largest number of instances of a part without memories to sample.
    progress : callable or None
        Progress callback.

    """
    parts = parts_of(machine.design, run.top, lambda block: machine.models[block].children)
    chosen = [
        part.instances if machine.models[part.block].memories else part.sample(instances)
        for part in parts
    ]
    samples = {
        instance: part.block for part, own in zip(parts, chosen, strict=True) for instance in own
    }
    if progress is not None:
        progress("reading waveforms", 0, 0)
    needed = {
        block: machine.models[block].recorded(run.places(block)) for block in set(samples.values())
    }
    recorded = {scope_of(instance): needed[block] for instance, block in samples.items()}
    waveforms = read_waveforms(run.files(), run.recorded, recorded)
    energies = []
    for done, (part, own) in enumerate(zip(parts, chosen, strict=True)):
        if progress is not None:
            progress("replaying windows", done, len(parts))
        model = machine.models[part.block]
        part_samples = [model.energy(waveforms.pop(scope_of(instance))) for instance in own]
        energies.append(part_energy(part, part_samples, run.cycles, run.clocked(part)))
    return energies
