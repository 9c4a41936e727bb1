"""Benchmark of the analytic model of `attention`: predicted and simulated cycles by preset."""

from collections.abc import Iterator
from statistics import mean, median
from typing import Any

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.kernels.attention.cores import problem_of
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.run.exact_kernels import exact_attention_kernel

from .analytic_attention_cases import CASES
from .analytic_run import (
    LEVELS,
    RUN_COLUMNS,
    error_target,
    exactness,
    level_error,
    measured,
    run_cells,
    work_targets,
)
from .target import Target

__all__ = ["measure", "tables"]

#: Largest wanted error of cycles in percent.
LIMIT = 10.0
#: Likewise of the bytes of DRAM.
LEVEL_LIMITS = dict(zip(LEVELS, (15.0, 10.0), strict=True))


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every run."""
    runs: list[dict] = []
    cases = [
        (preset, depth, kind, case)
        for (preset, depth), kinds in CASES.items()
        for kind, all_ in kinds.items()
        for case in (all_[:1] if quick else all_)
    ]
    for number, (preset, depth, kind, case) in enumerate(cases):
        tell(f"attention {case.label(depth)} on {preset}", number, len(cases))
        config = PRESETS[preset]
        problem = problem_of(config, depth=depth, causal=case.causal, **case.sizes)
        kernel = exact_attention_kernel(config, causal=case.causal)
        sizes = {"depth": depth, **case.sizes}
        result, run = measured(preset, predict_attention, problem, kernel, sizes)
        place = {"preset": preset, "depth": depth, "kind": kind, "case": case.label(depth)}
        runs.append(place | run)
        yield {
            "runs": runs,
            "targets": [target.as_dict() for target in targets(runs)],
            "versions": result["versions"],
        }


def machines_of(runs: list[dict]) -> list[tuple[str, int]]:
    """Return presets and head dimensions of the runs in order."""
    return list(dict.fromkeys((run["preset"], run["depth"]) for run in runs))


def runs_on(runs: list[dict], machine: tuple[str, int]) -> list[dict]:
    """Return the runs on a preset with a head dimension."""
    return [run for run in runs if (run["preset"], run["depth"]) == machine]


def targets(runs: list[dict]) -> Iterator[Target]:
    """Yield the targets of the runs."""
    for preset, depth in machines_of(runs):
        own = runs_on(runs, (preset, depth))
        yield error_target(f"on {preset}, D = {depth}", own, LIMIT)
    yield from work_targets(runs)
    for level, limit in LEVEL_LIMITS.items():
        yield Target(
            name=f"largest error of {level.replace('_', ' ')}",
            value=max(abs(level_error(run, level) or 0.0) for run in runs),
            limit=limit,
            unit="%",
        )


def tables(result: dict[str, Any]) -> Iterator:
    """Yield the errors of all presets, and for each preset every run."""
    runs = result["runs"]
    summary = new_table(
        "errors of predicted cycles of attention, in percent",
        *("preset", "runs", "largest of"),
        numbers=["D", "number", "median", "mean", "largest"],
    )
    for machine in machines_of(runs):
        own = runs_on(runs, machine)
        for kind in dict.fromkeys(run["kind"] for run in own):
            kinds = [run for run in own if run["kind"] == kind]
            errors = [abs(run["error"]) for run in kinds]
            worst = max(kinds, key=lambda run: abs(run["error"]))
            summary.add_row(
                *(machine[0], kind, worst["case"], f"{machine[1]}", f"{len(kinds)}"),
                *(f"{figure(errors):.1f}" for figure in (median, mean, max)),
            )
    yield summary
    for machine in machines_of(runs):
        yield run_table(machine, runs_on(runs, machine))


def run_table(machine: tuple[str, int], runs: list[dict]):
    """Return the table of the runs on a preset with a head dimension."""
    table = new_table(
        f"cycles of attention on {machine[0]}, D = {machine[1]}",
        *("run", "kind", "bytes"),
        numbers=RUN_COLUMNS,
    )
    for run in runs:
        table.add_row(run["case"], run["kind"], exactness(run), *run_cells(run))
    return table
