"""Benchmark of the analytic model of kernels of products other than `gemm`, against RTL."""

from collections.abc import Iterator
from functools import partial
from statistics import mean, median
from typing import Any

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.sim.analytic.finished.prediction import KERNELS
from spica.sim.analytic.finished.program import FITTED
from spica.sim.analytic.gemm import predict, product_of
from spica.sim.analytic.work import PAIR
from spica.sim.run.exact_kernels import EXACT_KERNELS

from .analytic_run import (
    RUN_COLUMNS,
    error_target,
    exactness,
    measured,
    product_level_targets,
    run_cells,
    work_targets,
)
from .target import Target

__all__ = ["measure", "tables"]

#: Machines of products that the cores finish, and of two products at once.
PRESET, PAIR_PRESET = "virgo", "virgo_hetero"
FORMATS = ("fp16", "fp32")
#: Largest wanted error of cycles in percent.
LIMIT = 10.0
#: Products of no fit.
OTHERS = (
    *((32, 64, 64), (33, 200, 300), (64, 256, 128), (96, 96, 96), (128, 64, 256), (128, 128, 64)),
    *((130, 66, 40), (192, 192, 192), (200, 200, 200), (256, 128, 256), (512, 64, 64)),
)
KINDS = {"fitted": FITTED, "others": OTHERS}
PAIRS = {
    "aligned": (
        *((16, 16, 16), (64, 64, 64), (128, 128, 128), (256, 256, 256), (256, 64, 128)),
        *((512, 128, 64), (64, 256, 256), (128, 64, 512), (384, 384, 384)),
    ),
    "ragged": ((33, 17, 65), (100, 60, 90), (200, 200, 200), (250, 130, 70)),
}


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every run."""
    cases = [
        (kernel, c_format, kind, sizes)
        for kernel in (*KERNELS, PAIR)
        for c_format in (FORMATS[:1] if kernel == PAIR else FORMATS)
        for kind, all_ in (PAIRS if kernel == PAIR else KINDS).items()
        for sizes in (all_[:1] if quick else all_)
    ]
    runs: list[dict] = []
    configs: dict[str, Any] = {}
    for number, (kernel, c_format, kind, (m, n, k)) in enumerate(cases):
        tell(f"{kernel} {m} x {n} x {k}, C in {c_format}", number, len(cases))
        preset = PAIR_PRESET if kernel == PAIR else PRESET
        config = PRESETS[preset]
        sizes = {"m": m, "n": n, "k": k}
        product = product_of(config, **sizes, c_format=c_format)
        exact = EXACT_KERNELS[kernel](config, c_format=c_format)
        result, run = measured(preset, partial(predict, kernel=kernel), product, exact, sizes)
        configs[preset] = result["config"]
        runs.append({"kernel": kernel, "c_format": c_format, "kind": kind, "sizes": sizes} | run)
        yield {
            "runs": runs,
            "targets": [target.as_dict() for target in targets(runs)],
            "versions": result["versions"],
            "config": dict(configs),
        }


def targets(runs: list[dict]) -> Iterator[Target]:
    """Yield the targets of the runs."""
    for kernel in dict.fromkeys(run["kernel"] for run in runs):
        own = [run for run in runs if run["kernel"] == kernel]
        yield error_target(f"of {kernel}", own, LIMIT)
    yield from work_targets(runs)
    yield from product_level_targets(runs)


def tables(result: dict[str, Any]) -> Iterator:
    """Yield the errors by kernel and kind of product, and every run."""
    runs = result["runs"]
    summary = new_table(
        "errors of predicted cycles, in percent",
        *("kernel", "products", "largest of"),
        numbers=["runs", f"within {LIMIT:g} %", "median", "mean", "largest"],
    )
    for kernel, kind in dict.fromkeys((run["kernel"], run["kind"]) for run in runs):
        own = [run for run in runs if (run["kernel"], run["kind"]) == (kernel, kind)]
        errors = [abs(run["error"]) for run in own]
        worst = max(own, key=lambda run: abs(run["error"]))
        summary.add_row(
            *(kernel, kind, label(worst), f"{len(own)}"),
            f"{sum(error <= LIMIT for error in errors)}",
            *(f"{figure(errors):.1f}" for figure in (median, mean, max)),
        )
    yield summary
    table = new_table(
        "cycles of every product",
        *("kernel", "m x n x k", "bytes"),
        numbers=RUN_COLUMNS,
    )
    for run in runs:
        table.add_row(run["kernel"], label(run), exactness(run), *run_cells(run))
    yield table


def label(run: dict) -> str:
    """Return the sizes and the format of C of a run."""
    return f"{' x '.join(map(str, run['sizes'].values()))}, {run['c_format']}"
