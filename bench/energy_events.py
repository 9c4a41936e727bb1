"""Fit of the event energies: ``python -m bench.energy_events --liberty FILE``, from the root.

Runs every run of `bench.energy_runs` with its energy from gates, fits the energies of all groups,
checks them against the runs that are not fitted, and writes ``explore/energy/event_energies.json``.
Results of runs are kept in a folder, so that an interrupted fit continues and a longer table needs
only its new runs. Exit code 1 if a check differs more than the limits.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spica.api.progress import ProgressDisplay
from spica.base.errors import UserError
from spica.cli.options import new_table, standard_output
from spica.explore.energy.event_data import DATA as FILE
from spica.explore.energy.event_data import (
    RECONSTRUCTED,
    EventEnergies,
    GroupEnergies,
    energies_in,
    read_energies,
    text_of,
)
from spica.explore.energy.event_fit import Rows, differences, fitted_groups
from spica.explore.energy.event_table import EventBlock, event_blocks
from spica.explore.energy.gates import GateOptions
from spica.hw.presets import PRESETS
from spica.sim.engine.versions import versions

from .energy_measurements import Measurements
from .energy_runs import CHECK, DATA, FIT, RUNS, EnergyRun

__all__ = ["fitted", "main", "missed", "shared_rows"]

FOLDER = Path(__file__).parent / "results" / "energy_runs"
#: Largest differences of a run that checks the fit: of the total, and of a group above 5 % of it.
TOTAL, GROUP = 0.10, 0.20
#: Difference of a group with other data that its preset has a factor for.
DIFFERENT = 0.1


def shared_rows(
    table: Sequence[EnergyRun], before: EventEnergies, is_kept: Callable[[EnergyRun], bool]
) -> dict[str, dict[str, GroupEnergies]]:
    """Return the rows, by group and config, of the presets whose results are not all kept.

    They stay as they are, since a fit would miss these results. Raise `UserError` if the presets
    of the runs have no other rows.
    """
    own = presets_of(table)
    away = dict.fromkeys(
        run.preset
        for run in RUNS
        if run.preset in before.presets and run.preset not in own
        if run.use == FIT and not is_kept(run)
    )
    rows: dict[str, dict[str, GroupEnergies]] = {}
    for block in blocks_of(away):
        if (row := before.find(block)) is not None:
            rows.setdefault(block.group, {})[block.config] = row
    if all(block.config in rows.get(block.group, {}) for block in blocks_of(own)):
        raise UserError(
            f"all energies of {', '.join(own)} are also those of {', '.join(away)}; name these "
            "presets in --only too, since their results are not kept"
        )
    return rows


def blocks_of(presets: Iterable[str]) -> Iterator[EventBlock]:
    """Yield the groups of some presets with their configs."""
    for preset in presets:
        yield from event_blocks(PRESETS[preset])


def fitted(
    table: Sequence[EnergyRun],
    measurements: Measurements,
    before: EventEnergies | None,
    fixed: Mapping[str, Rows],
) -> EventEnergies:
    """Return the event energies of the groups in some runs, and the rows of others as before.

    Runs of other presets take part if their results are kept: a group may be in several machines.
    `fixed` are the rows that stay as before though the runs have them.
    """
    available = [run for run in RUNS if run in table or measurements.stored(run) is not None]
    groups = fitted_groups(
        [measurements.measured(run) for run in available if run.use == FIT], fixed
    )
    source = source_of(measurements)
    presets: Mapping[str, Any] = {}
    if before is not None:
        own = presets_of(table)
        past = before.source.get(RECONSTRUCTED, [])
        source |= {RECONSTRUCTED: [entry for entry in past if entry not in own]}
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


def account(errors: Mapping[EnergyRun, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the largest differences of the runs of a preset, and its factors of other data."""
    worst = {}
    for use in (FIT, CHECK):
        own = {run.label: difference for run, difference in errors.items() if run.use == use}
        run = max(own, key=lambda label: abs(own[label]["total"]))
        worst[use] = {"use": use, "runs": len(own), "run": run, "total": own[run]["total"]}
    return {
        "runs": list(worst.values()),
        "data_factors": {
            run.data: {
                "run": run.label,
                "total": 1 / (1 + difference["total"]),
                "groups": {
                    name: 1 / (1 + group)
                    for name, group in difference["groups"].items()
                    if abs(group) > DIFFERENT
                },
            }
            for run, difference in errors.items()
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


def missed(errors: Mapping[EnergyRun, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each check that differs more than the limits."""
    return [
        f"{run.preset}: {name} of {run.label} differs by {100 * difference:+.1f} %"
        for run, run_errors in errors.items()
        if run.use == CHECK
        for name, difference in {"total": run_errors["total"], **run_errors["groups"]}.items()
        if abs(difference) > (TOTAL if name == "total" else GROUP)
    ]


def print_differences(errors: Mapping[EnergyRun, Mapping[str, Any]]):
    """Print the differences of all runs from gates."""
    table = new_table(
        *("events against gates", "preset", "run", "use"), numbers=("gates, nJ", "total")
    )
    table.add_column("largest group")
    for run, run_errors in errors.items():
        group, worst = max(run_errors["groups"].items(), key=lambda item: abs(item[1]))
        gates, total = f"{run_errors['gates_pj'] / 1e3:,.1f}", f"{100 * run_errors['total']:+.2f} %"
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
    before = read_energies(arguments.output) if arguments.output.exists() else None
    fixed: Mapping[str, Rows] = {}
    with ProgressDisplay() as progress:
        measurements = Measurements(arguments.runs, gates, progress)
        if before is not None:
            require_same_files(before.source, source_of(measurements))
            fixed = shared_rows(table, before, lambda run: measurements.stored(run) is not None)
        for number, run in enumerate(table):
            progress(f"{run.label} on {run.preset}", number, len(table))
            measurements.result(run)
        energies = energies_in(text_of(fitted(table, measurements, before, fixed)))
        errors = {run: differences(measurements.measured(run), energies) for run in table}
    presets = {
        preset: account({run: entry for run, entry in errors.items() if run.preset == preset})
        for preset in presets_of(table)
    }
    energies = replace(energies, presets={**energies.presets, **presets})
    draft = arguments.output.with_suffix(".draft")
    draft.write_text(text_of(energies))
    os.replace(draft, arguments.output)
    print_differences(errors)
    for block in dict.fromkeys(blocks_of(presets)):
        if block.config in fixed.get(block.group, {}):
            print(f"as before, since other presets have it too: {block.group} ({block.config})")
    sentences = missed(errors)
    for sentence in sentences:
        print(f"missed: {sentence}", file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"energy_events: {error}")
