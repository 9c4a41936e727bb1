"""Fit of the event energies: ``python -m bench.energy_events --liberty FILE``, from the root.

Runs every run of `bench.energy_runs` with its energy from gates, fits the energies of all groups,
checks them against the runs that are not fitted, and writes ``explore/energy/event_energies.json``.
Results of runs are kept in a folder, so that an interrupted fit continues and a longer table needs
only its new runs. Exit code 1 if a check differs more than the limits.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spica import hw, kernels, synth
from spica.api.progress import ProgressDisplay
from spica.cli.options import new_table, standard_output
from spica.cli.run import chosen
from spica.cli.run_options import Options
from spica.explore.energy.event_data import DATA as FILE
from spica.explore.energy.event_data import EventEnergies, read_energies, text_of
from spica.explore.energy.event_fit import (
    MeasuredRun,
    differences,
    fitted_groups,
    measured_run,
)
from spica.explore.energy.gates import (
    GateMachine,
    GateOptions,
    gate_machine,
    read_costs,
    run_with_gates,
)
from spica.hw.base.build_cache import digest
from spica.hw.base.errors import UserError
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.hw.emit.shared_block import describe
from spica.kernels.elements import nearest
from spica.sim.engine.versions import versions
from spica.sim.report.result import PASS
from spica.sim.run.options import RunOptions
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.workload import Workload
from spica.synth.cache import source_key

from .energy_operands import operands
from .energy_runs import CHECK, DATA, FIT, RUNS, EnergyRun

__all__ = ["INSTANCES", "Measurements", "fitted", "main", "missed"]

FOLDER = Path(__file__).parent / "results" / "energy_runs"
#: Instances of a block without memories that are sampled.
INSTANCES = 8
#: Largest differences of a run that checks the fit: of the total, and of a group above 5 % of it.
TOTAL, GROUP = 0.10, 0.20
#: Difference of a group with other data that its preset has a factor for.
DIFFERENT = 0.1


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
        rooms = [Path(room.__path__[0]) for room in (hw, kernels, synth)]
        self.sources = digest([*files, *map(source_key, rooms)])
        self.machine: tuple[str, GateMachine] | None = None

    def machine_of(self, run: EnergyRun) -> GateMachine:
        """Return the blocks of the machine of a run; those of the last machine are kept."""
        if self.machine is None or self.machine[0] != run.preset:
            found = gate_machine(PRESETS[run.preset], run.preset, self.costs, self.progress)
            self.machine = run.preset, found
        return self.machine[1]

    def stored(self, run: EnergyRun) -> dict[str, Any] | None:
        """Return the kept result of a run; None without one of the same run and sources."""
        try:
            found = json.loads((self.folder / f"{run.name}.json").read_text())
        except (OSError, ValueError):
            return None
        return found["result"] if found["key"] == self.key(run) else None

    def key(self, run: EnergyRun) -> str:
        """Return a hash of what determines a result."""
        return digest([describe(run), self.sources])

    def result(self, run: EnergyRun) -> dict[str, Any]:
        """Return the result of a run, kept or new."""
        found = self.stored(run)
        if found is not None:
            return found
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
    options = Options(preset=run.preset, size=run.size, **dict(run.options))  # pyright: ignore[reportArgumentType]  # by name
    workload, settings = chosen(run.kernel, (), config, options)
    if run.operands == "random":
        return workload, settings
    if not isinstance(workload, ProductWorkload):
        raise UserError(f"operands {run.operands} need a product by the host, not {run.label}")
    sizes = {"m": workload.m, "n": workload.n, "k": workload.k}
    form = config.units[0].operand
    a, b = (nearest(each, form) for each in operands(run.operands, **sizes))
    return ProductWorkload(**sizes, data="given", operands=(a, b)), settings


def fitted(
    table: Sequence[EnergyRun], measurements: Measurements, before: EventEnergies | None
) -> EventEnergies:
    """Return the event energies of the groups in some runs, and those of other groups as before.

    Runs of other presets take part if their results are kept: a group may be in several machines.
    """
    kept = [run for run in RUNS if run in table or measurements.stored(run) is not None]
    groups = fitted_groups([measurements.measured(run) for run in kept if run.use == FIT])
    source = source_of(measurements)
    presets: Mapping[str, Any] = {}
    if before is not None:
        require_same_files(before.source, source)
        names = {**before.groups, **groups}
        groups = {name: {**before.groups.get(name, {}), **groups.get(name, {})} for name in names}
        presets = before.presets
    return EventEnergies(source=source, presets=presets, groups=groups)


def require_same_files(before: Mapping[str, Any], now: Mapping[str, Any]):
    """Raise unless the kept data of other groups have the same library and macros."""
    for name in ("liberty", "sram_table"):
        if before[name] != now[name]:
            raise UserError(
                f"{name} must be that of the data file, {before[name]}, not {now[name]}; write "
                "another library's data to a new file with --output"
            )


def account(found: Mapping[EnergyRun, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the largest differences of the runs of a preset, and its factors of other data."""
    worst = {}
    for use in (FIT, CHECK):
        own = {run.label: each for run, each in found.items() if run.use == use}
        run = max(own, key=lambda label: abs(own[label]["total"]))
        worst[use] = {"use": use, "runs": len(own), "run": run, "total": own[run]["total"]}
    return {
        "runs": list(worst.values()),
        "data_factors": {
            run.data: {
                "run": run.label,
                "total": 1 / (1 + each["total"]),
                "groups": {
                    name: 1 / (1 + group)
                    for name, group in each["groups"].items()
                    if abs(group) > DIFFERENT
                },
            }
            for run, each in found.items()
            if run.use == DATA
        },
    }


def source_of(measurements: Measurements) -> dict[str, Any]:
    """Return command, files and versions of a fit."""
    gates = measurements.gates
    table = None if gates.sram_table is None else gates.sram_table.name
    macros = "" if table is None else f" --sram-table {table}"
    return {
        "command": f"python -m bench.energy_events --liberty {gates.liberty.name}{macros}",
        "liberty": gates.liberty.name,
        "voltage": measurements.costs.cells.voltage,
        "sram_table": table,
        "versions": versions(),
    }


def missed(found: Mapping[EnergyRun, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each check that differs more than the limits."""
    return [
        f"{run.preset}: {name} of {run.label} differs by {100 * difference:+.1f} %"
        for run, each in found.items()
        if run.use == CHECK
        for name, difference in {"total": each["total"], **each["groups"]}.items()
        if abs(difference) > (TOTAL if name == "total" else GROUP)
    ]


def print_differences(found: Mapping[EnergyRun, Mapping[str, Any]]):
    """Print the differences of all runs from gates."""
    table = new_table(
        *("events against gates", "preset", "run", "use"), numbers=("gates, nJ", "total")
    )
    table.add_column("largest group")
    for run, each in found.items():
        group, worst = max(each["groups"].items(), key=lambda item: abs(item[1]))
        gates, total = f"{each['gates_pj'] / 1e3:,.1f}", f"{100 * each['total']:+.2f} %"
        largest = f"{100 * worst:+.1f} % {group}"
        table.add_row(run.preset, run.label, run.use, gates, total, largest)
    standard_output().print(table)


def parsed() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.energy_events", description=__doc__)
    parser.add_argument("--liberty", type=Path, required=True, help="cell library")
    parser.add_argument("--sram-table", type=Path, help="memory macros with energies")
    parser.add_argument(
        "--only", nargs="+", choices=presets_of(RUNS), help="presets to run and fit"
    )
    parser.add_argument("--runs", type=Path, default=FOLDER, help="folder of the kept results")
    parser.add_argument("--output", type=Path, default=FILE, help="data file")
    return parser.parse_args()


def presets_of(table: Iterable[EnergyRun]) -> list[str]:
    """Return the presets of some runs."""
    return list(dict.fromkeys(run.preset for run in table))


def main() -> int:
    arguments = parsed()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    table = [run for run in RUNS if arguments.only is None or run.preset in arguments.only]
    gates = GateOptions(liberty=arguments.liberty, sram_table=arguments.sram_table)
    with ProgressDisplay() as progress:
        measurements = Measurements(arguments.runs, gates, progress)
        for number, run in enumerate(table):
            progress(f"{run.label} on {run.preset}", number, len(table))
            measurements.result(run)
        before = read_energies(arguments.output) if arguments.output.exists() else None
        energies = fitted(table, measurements, before)
        found = {run: differences(measurements.measured(run), energies) for run in table}
    presets = {
        preset: account({run: each for run, each in found.items() if run.preset == preset})
        for preset in presets_of(table)
    }
    energies = replace(energies, presets={**energies.presets, **presets})
    draft = arguments.output.with_suffix(".draft")
    draft.write_text(text_of(energies))
    os.replace(draft, arguments.output)
    print_differences(found)
    sentences = missed(found)
    for sentence in sentences:
        print(f"missed: {sentence}", file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"energy_events: {error}")
