"""Runs with energy from gates for the fit of the event energies, kept in a folder."""

import json
import os
from pathlib import Path
from typing import Any

from spica import base, hw, kernels, synth
from spica.base.build_cache import digest
from spica.base.errors import UserError
from spica.base.progress import Progress
from spica.explore.energy.event_fit import MeasuredRun, measured_run
from spica.explore.energy.gates import (
    GateMachine,
    GateOptions,
    gate_machine,
    read_costs,
    run_with_gates,
)
from spica.hw.emit.shared_block import describe
from spica.hw.presets import PRESETS
from spica.kernels.elements import nearest
from spica.sim.report.result import PASS
from spica.sim.run.options import RunOptions
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.request.request import Request
from spica.sim.run.request.resolve import resolve
from spica.sim.run.workload import Workload
from spica.synth.cache import source_key

from .energy_operands import operands
from .energy_runs import EnergyRun

__all__ = ["INSTANCES", "Measurements", "work_of"]

#: Instances of a block without memories that are sampled.
INSTANCES = 8


class Measurements:
    """Results of runs with energy from gates, kept in a folder.

    Parameters
    ----------
    folder : Path
        Folder of the results.
    gates : GateOptions
        Library and macros; the windows are those of each run.
    progress : callable
        Progress callback.

    """

    def __init__(self, folder: Path, gates: GateOptions, progress: Progress):
        self.folder, self.gates, self.progress = folder, gates, progress
        self.costs = read_costs(gates)
        files = [path.read_text() for path in (gates.liberty, gates.sram_table) if path is not None]
        rooms = [Path(room.__path__[0]) for room in (base, hw, kernels, synth)]
        self.sources = digest([*files, *map(source_key, rooms)])
        self.machine: tuple[str, GateMachine] | None = None

    def machine_of(self, run: EnergyRun) -> GateMachine:
        """Return the blocks of the machine of a run; those of the last machine are kept."""
        if self.machine is None or self.machine[0] != run.preset:
            machine = gate_machine(PRESETS[run.preset], run.preset, self.costs, self.progress)
            self.machine = run.preset, machine
        return self.machine[1]

    def stored(self, run: EnergyRun) -> dict[str, Any] | None:
        """Return the kept result of a run; None without one of the same run and sources."""
        try:
            entry = json.loads((self.folder / f"{run.name}.json").read_text())
        except (OSError, ValueError):
            return None
        return entry["result"] if entry["key"] == self.key(run) else None

    def key(self, run: EnergyRun) -> str:
        """Return a hash of what determines a result."""
        return digest([describe(run), self.sources])

    def result(self, run: EnergyRun) -> dict[str, Any]:
        """Return the result of a run, kept or new."""
        known = self.stored(run)
        if known is not None:
            return known
        workload, settings = work_of(run)
        windows, cycles = run.windows
        gates = GateOptions(
            liberty=self.gates.liberty,
            sram_table=self.gates.sram_table,
            windows=windows,
            window_cycles=cycles,
            instances=INSTANCES,
        )
        result = run_with_gates(
            *(workload, run.preset, PRESETS[run.preset], settings),
            costs=self.costs,
            gates=gates,
            machine=self.machine_of(run),
            progress=self.progress,
        )
        if result["check"]["verdict"] != PASS:
            raise UserError(f"{run.label} on {run.preset} must pass its check to be fitted to")
        draft = self.folder / f"{run.name}.draft"
        draft.write_text(json.dumps({"key": self.key(run), "result": result}))
        os.replace(draft, self.folder / f"{run.name}.json")
        return result

    def measured(self, run: EnergyRun) -> MeasuredRun:
        """Return a run for the fit."""
        return measured_run(self.result(run), PRESETS[run.preset])


def work_of(run: EnergyRun) -> tuple[Workload, RunOptions]:
    """Return the workload of a run, and its options."""
    config = PRESETS[run.preset]
    options: dict[str, Any] = dict(run.options)
    request = Request(kernel=run.kernel, preset=run.preset, size=run.size, **options)
    resolved = resolve(request)
    workload, settings = resolved.workload, resolved.options
    if run.operands == "random":
        return workload, settings
    if not isinstance(workload, ProductWorkload):
        raise UserError(f"operands {run.operands} need a product by the host, not {run.label}")
    sizes = {"m": workload.m, "n": workload.n, "k": workload.k}
    form = config.units[0].operand
    a, b = (nearest(operand, form) for operand in operands(run.operands, **sizes))
    return ProductWorkload(**sizes, data="given", given=(a, b)), settings
