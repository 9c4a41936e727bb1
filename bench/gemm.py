"""Benchmark of MAC utilisation of `matrix` by size and DRAM bandwidth, with its losses."""

from collections.abc import Iterator

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.sim.harness.dram import DramConfig
from spica.sim.report.result import PASS
from spica.sim.report.tables import percent
from spica.sim.report.utilization import ACTIVITIES, USEFUL
from spica.sim.run.options import RunOptions
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.workload import run_workload

from .runs import bandwidth_of
from .target import Target

__all__ = ["measure", "tables"]

PRESET = "matrix"
SIZES = (256, 512, 1024)
#: DRAM bytes per cycle and format of C for each size.
MEMORIES = ((64, "fp16"), (64, "fp32"), (32, "fp16"), (16, "fp16"), (11, "fp16"))
#: Least utilisation at 64 B/cycle with C in FP16.
LEAST = {256: 0.98, 512: 0.997, 1024: 0.999}
KEPT = (
    *("sizes", "options", "seed", "cycles", "run_cycles", "mac_utilization", "matrix_units"),
    *("check", "memory", "tiling", "counters", "speed"),
)


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every run, so that an interrupted benchmark keeps its measurements."""
    sizes, memories = (SIZES[:1], MEMORIES[:2]) if quick else (SIZES, MEMORIES)
    cases = [(size, *memory) for size in sizes for memory in memories]
    runs: list[dict] = []
    for number, (size, bandwidth, c_format) in enumerate(cases):
        tell(f"gemm {size}, {bandwidth} B/cycle, C in {c_format}", number, len(cases))
        product = ProductWorkload(m=size, n=size, k=size, c_format=c_format)
        options = RunOptions(memory=DramConfig(bytes_per_cycle=float(bandwidth)))
        result = run_workload(product, PRESET, PRESETS[PRESET], options)
        runs.append({key: result[key] for key in KEPT})
        yield {
            "preset": PRESET,
            "runs": runs,
            "targets": [target.as_dict() for target in targets(runs)],
            "versions": result["versions"],
            "config": result["config"],
        }


def targets(runs: list[dict]) -> Iterator[Target]:
    """Yield the targets of the runs."""
    for run in runs:
        size = run["sizes"]["m"]
        if (c_format_of(run), bandwidth_of(run)) == ("fp16", 64):
            yield Target(
                name=f"MAC utilisation of gemm {size}, {PRESET}, 64 B/cycle",
                value=100 * run["mac_utilization"],
                limit=100 * LEAST[size],
                unit="%",
                at_least=True,
            )
    wrong = sum(run["check"]["verdict"] != PASS for run in runs)
    yield Target(name="runs with a wrong value", value=wrong, limit=0)


def c_format_of(run: dict) -> str:
    """Return the format of C."""
    return run["options"]["formats"]["c"]


def tables(result: dict) -> Iterator:
    """Yield the result for people: utilisation, and its losses in percent of the cycles."""
    units = [run["matrix_units"]["matrix"] for run in result["runs"]]
    shown = [
        name
        for name in ACTIVITIES
        if name != USEFUL and any(cycles_of(unit, name) for unit in units)
    ]
    table = new_table(
        f"gemm on {result['preset']}: utilisation and losses in percent of the cycles",
        *("M = N = K", "C", "verdict"),
        numbers=["B/cycle", "cycles", "MAC util", "active", *shown, "DRAM B/cycle used"],
    )
    for run, unit in zip(result["runs"], units, strict=True):
        table.add_row(
            f"{run['sizes']['m']}",
            c_format_of(run),
            run["check"]["verdict"],
            f"{bandwidth_of(run):g}",
            f"{run['cycles']:,}",
            percent(run["mac_utilization"]),
            percent(unit["mac_active"]),
            *(f"{100 * unit['breakdown'][name]['share']:.2f}" for name in shown),
            f"{run['memory']['traffic']['region']['bytes_per_cycle']:.1f}",
        )
    yield table
    yield "\n".join(f"{name}: {ACTIVITIES[name][1]}" for name in shown)


def cycles_of(unit: dict, activity: str) -> float:
    """Return the cycles of an activity of a matrix unit."""
    return unit["breakdown"].get(activity, {"cycles": 0})["cycles"]
