"""Runs beside the analytic model, and the targets that every kind of run has."""

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from spica.hw.config import PRESETS, ClusterConfig
from spica.kernels.kernel import Kernel
from spica.sim.analytic.work import Prediction, counted_traffic
from spica.sim.harness.dram import DramConfig
from spica.sim.report.result import PASS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .target import Target

__all__ = ["error_target", "measured", "work_targets"]

Problem = TypeVar("Problem")


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
        "verdict": result["check"]["verdict"],
        "seconds": seconds,
    }
    return result, run


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
