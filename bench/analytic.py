"""Benchmark of the analytic model of `gemm`: predicted and simulated cycles by preset."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.sim.analytic.gemm import predict, product_of
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

#: Products whose timelines gave the constants of the program, and products of every other kind.
SINGLE_TILES = (
    *((1, 1, 1), (7, 5, 3), (16, 16, 16), (32, 16, 16), (64, 16, 16), (128, 16, 16), (16, 32, 16)),
    *((16, 64, 16), (16, 16, 32), (16, 16, 64), (32, 32, 32), (64, 64, 64), (128, 64, 16)),
    *((128, 64, 32), (128, 64, 64), (96, 80, 64)),
)
PRODUCTS = (
    *((16, 16, 128), (16, 16, 256), (128, 64, 128), (128, 64, 256), (128, 64, 512)),
    *((128, 128, 128), (256, 64, 128), (256, 128, 128), (256, 256, 64), (256, 256, 128)),
    *((256, 256, 256), (64, 256, 64), (48, 80, 112), (256, 64, 256), (64, 128, 256)),
    *((192, 192, 192), (96, 96, 96), (256, 128, 64), (160, 96, 224), (224, 224, 64)),
    *((240, 48, 176), (512, 64, 64), (64, 512, 64), (64, 64, 512), (512, 512, 512)),
    *((512, 256, 128), (128, 512, 256), (144, 208, 80), (112, 240, 256), (256, 192, 96)),
    *((80, 256, 160), (176, 176, 176), (32, 256, 256), (256, 16, 256), (256, 256, 32)),
    *((256, 32, 128), (384, 384, 384), (128, 256, 64), (240, 240, 240), (192, 64, 192)),
    *((208, 112, 48), (224, 96, 32)),
    *((128, 96, 112), (256, 160, 256), (192, 256, 64), (64, 192, 192), (512, 128, 64)),
    (128, 128, 512),
)
#: Products whose rows begin within a beat, or whose last tiles have few rows or columns.
RAGGED = (
    *((100, 60, 90), (33, 17, 65), (200, 200, 200), (129, 65, 129), (250, 130, 70)),
    *((255, 255, 255), (100, 100, 100), (150, 250, 50), (250, 250, 250), (65, 65, 65)),
    *((180, 180, 180), (220, 140, 100), (248, 184, 120), (136, 72, 200), (72, 200, 136)),
)
#: Products on tensor units: whole tiles of C, parts of tiles, and rows that begin within beats.
WHOLE = (
    *((128, 64, 64), (128, 64, 256), (128, 64, 1024), (128, 128, 128), (256, 128, 128)),
    *((256, 256, 256), (128, 192, 64), (384, 192, 96), (512, 64, 64), (512, 512, 512)),
)
PARTS = (
    *((64, 64, 64), (64, 64, 512), (128, 32, 256), (16, 16, 512), (192, 192, 192)),
    *((64, 512, 64), (256, 32, 512), (512, 16, 256), (16, 512, 256), (320, 320, 320)),
)
WITHIN_BEATS = ((100, 60, 90), (33, 17, 65), (200, 200, 200), (250, 130, 300))
#: Products on tensor units fed by registers: those whose cycles gave constants of the program, and
#: others.
FITTED = (
    *((128, 64, 16), (128, 64, 64), (128, 64, 512), (128, 128, 128), (128, 256, 64)),
    *((128, 256, 16), (128, 256, 80), (256, 64, 128), (16, 16, 16), (64, 64, 64), (64, 128, 64)),
    *((64, 64, 512), (64, 128, 256), (8, 16, 256), (33, 17, 65), (192, 192, 192), (64, 256, 64)),
    *((256, 256, 64), (256, 256, 256), (160, 160, 48)),
)
OTHERS = (
    *((1, 1, 1), (8, 8, 64), (96, 48, 40), (100, 60, 90), (120, 64, 64), (130, 66, 40)),
    *((256, 16, 64), (64, 128, 16), (64, 128, 128), (64, 128, 512), (64, 256, 128)),
    *((128, 192, 160), (128, 256, 128), (200, 200, 200), (255, 255, 255)),
)
FITTED_FP32 = (
    *((64, 64, 16), (64, 64, 64), (64, 64, 256), (64, 128, 64), (128, 128, 8), (128, 128, 32)),
    *((128, 128, 40), (128, 128, 128), (16, 16, 16), (32, 64, 64), (33, 17, 65), (40, 130, 24)),
    *((48, 200, 64), (100, 60, 90), (192, 192, 192), (256, 256, 256)),
)
OTHERS_FP32 = (
    *((1, 1, 1), (16, 16, 128), (64, 192, 96), (64, 256, 64), (72, 72, 64), (96, 80, 56)),
    *((120, 120, 120), (128, 64, 128), (128, 128, 48), (160, 160, 160), (200, 200, 200)),
    (256, 64, 64),
)
KINDS = {"single tile": SINGLE_TILES, "several tiles": PRODUCTS, "ragged": RAGGED}
QUICK = {"single tile": SINGLE_TILES[-5:], "several tiles": PRODUCTS[5:9], "ragged": RAGGED[:3]}
TENSOR = {"whole tiles": WHOLE, "parts of tiles": PARTS, "ragged": WITHIN_BEATS}
TENSOR_QUICK = {"whole tiles": WHOLE[:2], "parts of tiles": PARTS[:2], "ragged": WITHIN_BEATS[:1]}
REGISTERS = {"fitted": FITTED, "others": OTHERS}
REGISTERS_FP32 = {"fitted": FITTED_FP32, "others": OTHERS_FP32}
REGISTERS_QUICK = {"fitted": FITTED[:2], "others": OTHERS[1:3]}


@dataclass(frozen=True, kw_only=True)
class Section:
    """Products of a preset by kind, and the largest wanted error of cycles in percent."""

    kinds: dict[str, tuple[tuple[int, int, int], ...]]
    quick: dict[str, tuple[tuple[int, int, int], ...]]
    limit: float


SECTIONS = {
    "virgo": Section(kinds=KINDS, quick=QUICK, limit=2.0),
    "hopper": Section(kinds=TENSOR, quick=TENSOR_QUICK, limit=10.0),
    "ampere": Section(kinds=REGISTERS, quick=REGISTERS_QUICK, limit=10.0),
    "volta": Section(kinds=REGISTERS, quick=REGISTERS_QUICK, limit=10.0),
    "ampere_fp32": Section(kinds=REGISTERS_FP32, quick=REGISTERS_QUICK, limit=10.0),
}


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every run."""
    cases = [
        (preset, kind, sizes)
        for preset, section in SECTIONS.items()
        for kind, all_ in (section.quick if quick else section.kinds).items()
        for sizes in all_
    ]
    runs: list[dict] = []
    configs: dict[str, Any] = {}
    for number, (preset, kind, (m, n, k)) in enumerate(cases):
        tell(f"gemm {m} x {n} x {k} on {preset}", number, len(cases))
        config, sizes = PRESETS[preset], {"m": m, "n": n, "k": k}
        product, kernel = product_of(config, **sizes), EXACT_KERNELS["gemm"](config)
        result, run = measured(preset, predict, product, kernel, sizes)
        configs[preset] = result["config"]
        runs.append({"preset": preset, "kind": kind, "sizes": sizes} | run)
        yield {
            "runs": runs,
            "targets": [target.as_dict() for target in targets(runs)],
            "versions": result["versions"],
            "config": dict(configs),
        }


def presets_of(runs: list[dict]) -> list[str]:
    """Return the presets of the runs in order."""
    return list(dict.fromkeys(run["preset"] for run in runs))


def targets(runs: list[dict]) -> Iterator[Target]:
    """Yield the targets of the runs."""
    for preset in presets_of(runs):
        own = [run for run in runs if run["preset"] == preset]
        yield error_target(f"on {preset}", own, SECTIONS[preset].limit)
    yield from work_targets(runs)
    yield from product_level_targets(runs)


def tables(result: dict[str, Any]) -> Iterator:
    """Yield for each preset the errors by kind of product, and every product."""
    for preset in presets_of(result["runs"]):
        yield from preset_tables(preset, [run for run in result["runs"] if run["preset"] == preset])


def preset_tables(preset: str, runs: list[dict]) -> Iterator:
    """Yield the tables of a preset."""
    limit = SECTIONS[preset].limit
    summary = new_table(
        f"errors of predicted cycles of gemm on {preset}, in percent",
        "kind",
        numbers=["products", f"within {limit:g} %", "median", "mean", "largest"],
    )
    for kind in (*dict.fromkeys(run["kind"] for run in runs), "all"):
        errors = [abs(run["error"]) for run in runs if kind in ("all", run["kind"])]
        summary.add_row(
            kind,
            f"{len(errors)}",
            f"{sum(error <= limit for error in errors)}",
            *(f"{figure(errors):.2f}" for figure in (median, mean, max)),
        )
    yield summary
    table = new_table(
        f"cycles of every product on {preset}",
        *("m x n x k", "bytes"),
        numbers=RUN_COLUMNS,
    )
    for run in runs:
        table.add_row(
            " x ".join(map(str, run["sizes"].values())),
            exactness(run),
            *run_cells(run, digits=2),
        )
    yield table
