"""Benchmark of the analytic model: cycles of products on `virgo`, exact work on all presets."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.kernels.attention.cores import problem_of
from spica.kernels.kernel import Kernel
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.analytic.finished import KERNELS
from spica.sim.analytic.gemm import predict, product_of
from spica.sim.analytic.work import PAIR, Prediction, counted_levels, counted_traffic
from spica.sim.report.result import PASS
from spica.sim.run.exact_kernels import EXACT_KERNELS, exact_attention_kernel
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

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
KINDS = {"single tile": SINGLE_TILES, "several tiles": PRODUCTS, "ragged": RAGGED}
QUICK = {"single tile": SINGLE_TILES[-5:], "several tiles": PRODUCTS[5:9], "ragged": RAGGED[:3]}
#: Products whose work is compared on other presets and with other kernels.
SIZES = (
    *((1, 1, 1), (16, 16, 512), (33, 17, 65), (100, 60, 90), (64, 512, 64), (128, 128, 128)),
    *((192, 192, 192), (250, 130, 70)),
)
OTHERS = (
    *(("gemm", preset) for preset in ("tiny", "hopper", "ampere", "ampere_fp32", "volta")),
    *((kernel, "virgo") for kernel in KERNELS),
    (PAIR, "virgo_hetero"),
)
#: Attention: queries, keys, heads, and whether the mask is causal; in each preset with two depths.
ATTENTION = ((7, 9, 1, False), (64, 64, 1, False), (100, 150, 2, False), (200, 200, 2, True))
DEPTHS = (64, 128)
ATTENTION_PRESETS = ("virgo", "virgo_fp32", "hopper", "ampere", "ampere_fp32", "volta")
#: Largest wanted error of cycles, in percent.
LIMIT = 2.0
CYCLES = "cycles"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run: kernel and preset, kind of product, sizes by name, and the depth of attention."""

    kernel: str
    preset: str
    kind: str
    sizes: dict[str, int]
    causal: bool = False

    def run(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the result of the run, and its figures beside those of the model."""
        config = PRESETS[self.preset]
        predicted, kernel = self.predicted()
        options = SimtOptions(engine="verilator", lockstep=False)
        result = run_workload(KernelWorkload(kernel, self.sizes), self.preset, config, options)
        levels, counted = predicted.levels, counted_levels(config, result)
        known = {} if levels is None else levels.known()
        return result, {
            "kernel": self.kernel,
            "preset": self.preset,
            "kind": self.kind,
            "sizes": self.sizes,
            "causal": self.causal,
            "predicted": predicted.cycles,
            "least": predicted.least_cycles,
            "cycles": result["cycles"],
            "error": predicted.cycles and 100 * (predicted.cycles / result["cycles"] - 1),
            "terms": predicted.terms,
            "work_differs": counted_traffic(config, result) != predicted.traffic,
            "program": {name: getattr(counted, name) - count for name, count in known.items()},
            "verdict": result["check"]["verdict"],
        }

    def predicted(self) -> tuple[Prediction, Kernel]:
        """Return the prediction, and the kernel of the run."""
        config = PRESETS[self.preset]
        if self.kernel == "attention":
            problem = problem_of(config, **self.sizes, causal=self.causal)
            kernel = exact_attention_kernel(config, causal=self.causal)
            return predict_attention(config, problem), kernel
        product = product_of(config, **self.sizes)
        kernel = EXACT_KERNELS[self.kernel](config)
        return predict(config, product, kernel=self.kernel), kernel


def cases(quick: bool) -> Iterator[Case]:
    """Yield all runs: those on `virgo` with predicted cycles first."""
    for kind, all_ in (QUICK if quick else KINDS).items():
        for sizes in all_:
            yield Case(
                kernel="gemm", preset="virgo", kind=kind, sizes=dict(zip("mnk", sizes, strict=True))
            )
    for kernel, preset in OTHERS:
        for sizes in SIZES[2:3] if quick else SIZES:
            yield Case(
                kernel=kernel, preset=preset, kind="", sizes=dict(zip("mnk", sizes, strict=True))
            )
    for preset in ATTENTION_PRESETS:
        for depth in DEPTHS[:1] if quick else DEPTHS:
            for queries, keys, heads, causal in ATTENTION[:1] if quick else ATTENTION:
                sizes = {"queries": queries, "keys": keys, "heads": heads, "depth": depth}
                yield Case(
                    kernel="attention",
                    preset=preset,
                    kind=f"D = {depth}",
                    sizes=sizes,
                    causal=causal,
                )


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every run."""
    chosen = list(cases(quick))
    runs: list[dict] = []
    configs: dict[str, Any] = {}
    for number, case in enumerate(chosen):
        sizes = " x ".join(map(str, case.sizes.values()))
        tell(f"{case.kernel} {sizes} on {case.preset}", number, len(chosen))
        result, run = case.run()
        configs[case.preset] = result["config"]
        runs.append(run)
        yield {
            "runs": runs,
            "targets": [target.as_dict() for target in targets(runs)],
            "versions": result["versions"],
            "config": dict(configs),
        }


def targets(runs: list[dict]) -> Iterator[Target]:
    """Yield the targets of the runs."""
    yield Target(
        name="largest error of predicted cycles",
        value=max((abs(run["error"]) for run in runs if run["predicted"]), default=0.0),
        limit=LIMIT,
        unit="%",
    )
    yield Target(
        name="runs with other bytes, rows or products than predicted",
        value=sum(run["work_differs"] for run in runs),
        limit=0,
    )
    yield Target(
        name="runs of fewer cycles than the limits",
        value=sum(run["cycles"] < run["least"] for run in runs),
        limit=0,
    )
    wrong = sum(run["verdict"] != PASS for run in runs)
    yield Target(name="runs with a wrong value", value=wrong, limit=0)


def tables(result: dict[str, Any]) -> Iterator:
    """Yield the errors of cycles by kind of product, every product, and the work by kernel."""
    timed = [run for run in result["runs"] if run["predicted"]]
    yield error_table(timed)
    table = new_table(
        "cycles of every product on virgo",
        *("m x n x k", "work"),
        numbers=["predicted", "simulated", "error, %"],
    )
    for run in timed:
        table.add_row(
            " x ".join(map(str, run["sizes"].values())),
            exactness([run]),
            *(f"{run['predicted']:,}", f"{run['cycles']:,}", f"{run['error']:+.2f}"),
        )
    yield table
    yield work_table(result["runs"])


def error_table(runs: list[dict]):
    """Return the table of the errors of predicted cycles."""
    table = new_table(
        "errors of predicted cycles of gemm on virgo, in percent",
        "kind",
        numbers=["products", f"within {LIMIT:g} %", "median", "mean", "largest"],
    )
    for kind in (*dict.fromkeys(run["kind"] for run in runs), "all"):
        errors = [abs(run["error"]) for run in runs if kind in ("all", run["kind"])]
        table.add_row(
            kind,
            f"{len(errors)}",
            f"{sum(error <= LIMIT for error in errors)}",
            *(f"{figure(errors):.2f}" for figure in (median, mean, max)),
        )
    return table


def work_table(runs: list[dict]):
    """Return the table of the work by kernel and preset.

    Bytes of DRAM beside operands and results are those of the program; a range has the fewest and
    the most of all runs. The share is that of the limits in the cycles of the run nearest to them.
    """
    table = new_table(
        "work, and bytes of DRAM beside operands and results",
        *("kernel", "preset", "work"),
        numbers=["runs", "read more", "written more", "nearest to the limits, %"],
    )
    groups = dict.fromkeys((run["kernel"], run["preset"], run["kind"]) for run in runs)
    named = {key: (key[0], key[1], key[2] if key[0] == "attention" else "") for key in groups}
    for kernel, preset, kind in dict.fromkeys(named.values()):
        own = [
            run
            for run in runs
            if named[run["kernel"], run["preset"], run["kind"]] == (kernel, preset, kind)
        ]
        table.add_row(
            kernel,
            f"{preset}, {kind}" if kind else preset,
            exactness(own),
            f"{len(own)}",
            *(extent(own, level) for level in ("dram_read_bytes", "dram_written_bytes")),
            f"{100 * max(run['least'] / run['cycles'] for run in own):.1f}",
        )
    return table


def exactness(runs: list[dict]) -> str:
    """Return whether the work of runs is as predicted."""
    return "differs" if any(run["work_differs"] for run in runs) else "exact"


def extent(runs: list[dict], level: str) -> str:
    """Return the fewest and the most bytes beside operands and results."""
    found = [run["program"][level] for run in runs if level in run["program"]]
    if not found:
        return ""
    few, most = min(found), max(found)
    return f"{few:,}" if few == most else f"{few:,} to {most:,}"
