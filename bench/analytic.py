"""Benchmark of the analytic model: cycles of products on `virgo`, exact work on all presets."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from spica.base.progress import Progress
from spica.cli.options import new_table
from spica.sim.analytic.work import FINISHED as KERNELS
from spica.sim.analytic.work import PAIR

from .commands import Command
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
#: Work that depends on the program too.
LEVELS = ("dram_read_bytes", "dram_written_bytes")
PROGRAM = (*LEVELS, "l1d_filled_bytes")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run: kernel and preset, kind of product, and sizes with other options of the command."""

    kernel: str
    preset: str
    kind: str = ""
    sizes: Sequence[int]
    options: str = ""

    @property
    def line(self) -> str:
        """The command."""
        size = "x".join(map(str, self.sizes))
        words = f"run {self.kernel} --preset {self.preset} --size {size} {self.options}"
        return f"{words.strip()} --no-lockstep"

    def run(self, folder: Path) -> dict[str, Any]:
        """Return the figures of the run beside those of the model."""
        result = Command(line=self.line).result(folder)
        prediction = result["prediction"]
        work: Mapping[str, dict] = prediction["work"]
        return {
            **{"kernel": self.kernel, "preset": self.preset, "kind": self.kind},
            "command": self.line,
            "sizes": result["sizes"],
            "predicted": prediction["cycles"],
            "least": max(prediction["limits"].values()),
            "cycles": result["cycles"],
            "error": prediction["cycles"] and 100 * prediction["difference"],
            "terms": prediction["terms"],
            "work_differs": any(
                pair["predicted"] != pair["measured"]
                for name, pair in work.items()
                if name not in PROGRAM
            ),
            "program": {
                name: pair["measured"] - pair["predicted"]
                for name, pair in work.items()
                if name in LEVELS
            },
        }


def cases(quick: bool) -> Iterator[Case]:
    """Yield all runs: those on `virgo` with predicted cycles first."""
    for kind, every in (QUICK if quick else KINDS).items():
        for sizes in every:
            yield Case(kernel="gemm", preset="virgo", kind=kind, sizes=sizes)
    for kernel, preset in OTHERS:
        for sizes in SIZES[2:3] if quick else SIZES:
            yield Case(kernel=kernel, preset=preset, sizes=sizes)
    for preset in ATTENTION_PRESETS:
        for depth in DEPTHS[:1] if quick else DEPTHS:
            for queries, keys, heads, causal in ATTENTION[:1] if quick else ATTENTION:
                yield Case(
                    kernel="attention",
                    preset=preset,
                    kind=f"D = {depth}",
                    sizes=(queries, depth),
                    options=f"--keys {keys} --heads {heads}{' --causal' * causal}",
                )


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after every run, which must pass."""
    chosen, runs = list(cases(quick)), []
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as folder:
        for number, case in enumerate(chosen):
            progress(f"spica {case.line}", number, len(chosen))
            runs.append(case.run(Path(folder)))
            yield {"runs": runs, "targets": [target.as_dict() for target in targets(runs)]}


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
    ratios = [run["program"][level] for run in runs if level in run["program"]]
    if not ratios:
        return ""
    few, most = min(ratios), max(ratios)
    return f"{few:,}" if few == most else f"{few:,} to {most:,}"
