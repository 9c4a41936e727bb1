"""Fit of the event energies: ``python -m bench.energy_events --liberty FILE``, from the root.

Runs every run of `bench.energy_runs` with its energy from gates, fits the energies of all blocks,
checks them against the runs that are not fitted, and writes ``explore/energy/event_energies.json``.
Results of runs are kept in a folder, so that an interrupted fit continues and a longer table needs
only its new runs. Exit code 1 if a check differs more than the limits.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spica import kernels, synth
from spica.api.progress import ProgressDisplay
from spica.cli.options import new_table, standard_output
from spica.cli.run import chosen
from spica.cli.run_options import Options
from spica.explore.energy.event_data import DATA as FILE
from spica.explore.energy.event_data import EventEnergies, read_energies, text_of
from spica.explore.energy.event_fit import (
    MeasuredRun,
    differences,
    fitted_blocks,
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
from spica.synth.clocked_parts import cluster_parts
from spica.synth.energy.block_model import Costs

from .energy_operands import operands
from .energy_runs import CHECK, DATA, FIT, RUNS, EnergyRun

__all__ = ["INSTANCES", "Measurements", "fitted", "main", "missed"]

FOLDER = Path(__file__).parent / "results" / "energy_runs"
#: Instances of a block without memories that are sampled.
INSTANCES = 8
#: Largest differences of a run that checks the fit: of the total, and of a group above 5 % of it.
TOTAL, GROUP = 0.10, 0.20


class Measurements:
    """Results of runs with energy from gates, kept in a folder.

    Parameters
    ----------
    folder : Path
        Folder of the results.
    gates : GateOptions
        Library and macros; the windows are those of each run.
    is_reused : bool
        Whether results are used although the sources of kernels or of the energy model changed.
    progress : callable
        Progress callback.

    """

    def __init__(self, folder: Path, gates: GateOptions, is_reused: bool, progress: Progress):
        self.folder, self.gates, self.is_reused = folder, gates, is_reused
        self.progress = progress
        self.costs: Costs | None = None
        self.machine: tuple[str, GateMachine] | None = None

    def machine_of(self, run: EnergyRun, costs: Costs) -> GateMachine:
        """Return the blocks of the machine of a run; those of the last machine are kept."""
        if self.machine is None or self.machine[0] != run.preset:
            found = gate_machine(PRESETS[run.preset], run.preset, costs, self.progress)
            self.machine = run.preset, found
        return self.machine[1]

    def key(self, run: EnergyRun) -> dict[str, str]:
        """Return hashes of what determines a result."""
        config, table = PRESETS[run.preset], self.gates.sram_table
        files = [path.read_text() for path in (self.gates.liberty, table) if path is not None]
        parts = cluster_parts(config, run.preset)
        rooms = (Path(kernels.__path__[0]), Path(synth.__path__[0]) / "energy")
        return {
            "run": digest([describe(run), describe(config)]),
            "files": digest(files),
            "blocks": digest(sorted(f"{each.block} {each.digest}" for each in parts)),
            "sources": digest([source_key(room) for room in rooms]),
        }

    def stored(self, run: EnergyRun) -> dict[str, Any] | None:
        """Return the kept result of a run; None without one that is valid."""
        try:
            found = json.loads((self.folder / f"{run.name}.json").read_text())
        except (OSError, ValueError):
            return None
        key = self.key(run)
        same = [name for name in key if not (self.is_reused and name == "sources")]
        if any(found["key"].get(name) != key[name] for name in same):
            return None
        return found["result"]

    def result(self, run: EnergyRun) -> dict[str, Any]:
        """Return the result of a run, kept or new."""
        found = self.stored(run)
        if found is not None:
            return found
        if self.costs is None:
            self.costs = read_costs(self.gates)
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
            machine=self.machine_of(run, self.costs),
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
    """Return the event energies of the blocks in some runs, and those of other blocks as before.

    Runs of other presets take part if their results are kept: a block may be in several machines.
    """
    others = [run for run in RUNS if run not in table and run.use == FIT]
    kept = [run for run in others if measurements.stored(run) is not None]
    runs = {run: measurements.measured(run) for run in (*table, *kept)}
    blocks = fitted_blocks([each for run, each in runs.items() if run.use == FIT])
    new = {(each.block, each.group) for each in blocks}
    source = source_of(measurements)
    if before is not None:
        require_same_files(before.source, source)
        blocks += [each for each in before.blocks if (each.block, each.group) not in new]
    energies = EventEnergies(
        source=source,
        presets={} if before is None else dict(before.presets),
        blocks=blocks,
    )
    for preset in dict.fromkeys(run.preset for run in table):
        own = {run: each for run, each in runs.items() if run.preset == preset and run in table}
        energies.presets[preset] = account(own, energies)  # type: ignore[index]  # own mapping
    return energies


def require_same_files(before: Mapping[str, Any], now: Mapping[str, Any]):
    """Raise unless the kept data of other blocks have the same library and macros."""
    for name in ("liberty", "sram_table"):
        if before[name] != now[name]:
            raise UserError(
                f"{name} must be that of the data file, {before[name]}, not {now[name]}; write "
                "another library's data to a new file with --output"
            )


def account(runs: Mapping[EnergyRun, MeasuredRun], energies: EventEnergies) -> dict[str, Any]:
    """Return the differences of the runs of a preset, and its factors of other data."""
    found = {run: differences(each, energies) for run, each in runs.items()}
    return {
        "runs": [
            {"run": run.label, "use": run.use, **each}
            for run, each in found.items()
            if run.use != DATA
        ],
        "data": {
            run.data: {
                "run": run.label,
                "total": 1 / (1 + each["total"]),
                "groups": {name: 1 / (1 + group) for name, group in each["groups"].items()},
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
    costs = measurements.costs or read_costs(gates)
    return {
        "command": f"python -m bench.energy_events --liberty {gates.liberty.name}{macros}",
        "liberty": gates.liberty.name,
        "voltage": costs.cells.voltage,
        "sram_table": table,
        "versions": versions(),
    }


def missed(energies: EventEnergies, presets: Iterable[str]) -> list[str]:
    """Return a sentence for each check that differs more than the limits."""
    sentences = []
    for preset in presets:
        for run in energies.presets[preset]["runs"]:
            if run["use"] != CHECK:
                continue
            figures = {"total": (run["total"], TOTAL)}
            figures |= {name: (each, GROUP) for name, each in run["groups"].items()}
            sentences += [
                f"{preset}: {name} of {run['run']} differs by {100 * each:+.1f} %"
                for name, (each, limit) in figures.items()
                if abs(each) > limit
            ]
    return sentences


def print_differences(energies: EventEnergies, presets: Iterable[str]):
    """Print the differences of all runs from gates."""
    out = standard_output()
    for preset in presets:
        table = new_table(
            f"events against gates, {preset}", "run", "use", numbers=("gates, nJ", "total")
        )
        table.add_column("largest group")
        for run in energies.presets[preset]["runs"]:
            group, worst = max(run["groups"].items(), key=lambda each: abs(each[1]))
            total = f"{100 * run['total']:+.2f} %"
            gates = f"{run['gates_pj'] / 1e3:,.1f}"
            table.add_row(run["run"], run["use"], gates, total, f"{100 * worst:+.1f} % {group}")
        out.print(table)
        for name, factors in energies.presets[preset]["data"].items():
            out.print(f"{name}: {factors['total']:.3f} of random data, {factors['groups']}")


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
    parser.add_argument(
        "--reuse",
        action="store_true",
        help="use kept results although kernels or the energy model changed",
    )
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
        measurements = Measurements(arguments.runs, gates, arguments.reuse, progress)
        for number, run in enumerate(table):
            progress(f"{run.label} on {run.preset}", number, len(table))
            measurements.result(run)
        before = read_energies(arguments.output) if arguments.output.exists() else None
        energies = fitted(table, measurements, before)
    draft = arguments.output.with_suffix(".draft")
    draft.write_text(text_of(energies))
    os.replace(draft, arguments.output)
    presets = presets_of(table)
    print_differences(energies, presets)
    sentences = missed(energies, presets)
    for sentence in sentences:
        print(f"missed: {sentence}", file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"energy_events: {error}")
