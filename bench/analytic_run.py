"""Runs beside the analytic model, and the targets that every kind of run has."""

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from spica.hw.config import PRESETS, ClusterConfig
from spica.kernels.kernel import Kernel
from spica.sim.analytic.work import Levels, Prediction, counted_levels, counted_traffic
from spica.sim.harness.dram import DramConfig
from spica.sim.report.result import PASS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .target import Target

__all__ = [
    "LEVELS",
    "RUN_COLUMNS",
    "error_target",
    "exactness",
    "level_error",
    "measured",
    "product_level_targets",
    "run_cells",
    "work_targets",
]

Problem = TypeVar("Problem")

#: Bytes of DRAM in `Levels`.
LEVELS = ("dram_read_bytes", "dram_written_bytes")
#: Columns of figures in tables of runs.
RUN_COLUMNS = ("predicted", "simulated", "error, %", "DRAM read, %", "written, %")
#: Largest wanted difference of the bytes that a product reads from DRAM, in KiB.
PRODUCT_LIMIT = 10


def measured(
    preset: str,
    predict: Callable[[ClusterConfig, Problem, DramConfig], Prediction],
    problem: Problem,
    kernel: Kernel,
    sizes: dict[str, int],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the result of a run, and its figures beside those of the model.

    Parameters
    ----------
    preset : str
        Machine.
    predict, problem
        The model, and what it takes between config and memory.
    kernel, sizes
        The kernel of this problem, with its sizes.

    """
    config, memory = PRESETS[preset], DramConfig()
    began = time.perf_counter()
    predicted = predict(config, problem, memory)
    seconds = time.perf_counter() - began
    options = SimtOptions(engine="verilator", lockstep=False, memory=memory)
    result = run_workload(KernelWorkload(kernel, sizes), preset, config, options)
    run = {
        "predicted": predicted.cycles,
        "cycles": result["cycles"],
        "error": 100 * (predicted.cycles / result["cycles"] - 1),
        "terms": predicted.terms,
        "work_differs": counted_traffic(config, result) != predicted.traffic,
        "levels": levels_of(predicted, counted_levels(config, result)),
        "verdict": result["check"]["verdict"],
        "seconds": seconds,
    }
    return result, run


def levels_of(predicted: Prediction, counted: Levels) -> dict[str, tuple[int, int]]:
    """Return predicted and counted bytes by level, without those that the model does not have."""
    known = {} if predicted.levels is None else predicted.levels.known()
    return {name: (count, getattr(counted, name)) for name, count in known.items()}


def level_error(run: dict, level: str) -> float | None:
    """Return the error of the bytes of a level of a run, in percent; None without a prediction."""
    if level not in run["levels"]:
        return None
    predicted, counted = run["levels"][level]
    return 100 * (predicted / counted - 1)


def run_cells(run: dict, digits: int = 1) -> list[str]:
    """Return the cells of a run in `RUN_COLUMNS`; the error of cycles has so many digits."""
    levels = [level_error(run, level) for level in LEVELS]
    return [
        *(f"{run['predicted']:,}", f"{run['cycles']:,}", f"{run['error']:+.{digits}f}"),
        *("" if error is None else f"{error:+.1f}" for error in levels),
    ]


def exactness(run: dict) -> str:
    """Return whether the exact work of a run is as predicted."""
    return "differ" if run["work_differs"] else "exact"


def product_level_targets(runs: list[dict]) -> Iterator[Target]:
    """Yield the targets of the bytes of DRAM of products."""
    read, written = (
        [abs(predicted - counted) for predicted, counted in filter(None, pairs)]
        for pairs in ([run["levels"].get(level) for run in runs] for level in LEVELS)
    )
    yield Target(
        name="largest difference of bytes that a product reads from DRAM",
        value=max(read, default=0) / 1024,
        limit=PRODUCT_LIMIT,
        unit="KiB",
    )
    yield Target(
        name="products with other bytes written to DRAM than predicted",
        value=sum(count > 0 for count in written),
        limit=0,
    )


def error_target(what: str, runs: list[dict], limit: float) -> Target:
    """Return the target of the largest error of the predicted cycles of runs, in percent."""
    return Target(
        name=f"largest error of predicted cycles {what}",
        value=max(abs(run["error"]) for run in runs),
        limit=limit,
        unit="%",
    )


def work_targets(runs: list[dict]) -> Iterator[Target]:
    """Yield the targets of exact work and of right values."""
    yield Target(
        name="runs with other bytes, rows or products than predicted",
        value=sum(run["work_differs"] for run in runs),
        limit=0,
    )
    wrong = sum(run["verdict"] != PASS for run in runs)
    yield Target(name="runs with a wrong value", value=wrong, limit=0)
