"""Benchmark of MAC utilisation of `matrix` by size and DRAM bandwidth, with its losses."""

from collections.abc import Callable, Iterator

from spica.cli.options import new_table
from spica.hw.config import PRESETS
from spica.sim.report.cycle_account import MEANINGS
from spica.sim.run.command_run import RunOptions, run_kernel

from .target import Target

__all__ = ["measure", "tables"]

PRESET = "matrix"
SIZES = (256, 512, 1024)
#: DRAM bytes per cycle and format of C for each size.
MEMORIES = ((64, "fp16"), (64, "fp32"), (32, "fp16"), (16, "fp16"), (11, "fp16"))
#: Least utilisation at 64 B/cycle with C in FP16.
LEAST = {256: 0.95, 512: 0.98, 1024: 0.99}
KEPT = (
    *("size", "formats", "seed", "cycles", "mac_utilization", "mac_active", "breakdown", "check"),
    *("memory", "tiling", "counters", "simulated_cycles", "simulated_cycles_per_second"),
)


def measure(quick: bool, tell: Callable[[str, int, int], None]) -> Iterator[dict]:
    """Yield the result after every run, so that an interrupted benchmark keeps its measurements."""
    sizes, memories = (SIZES[:1], MEMORIES[:2]) if quick else (SIZES, MEMORIES)
    cases = [(size, *memory) for size in sizes for memory in memories]
    runs: list[dict] = []
    for number, (size, bandwidth, c_format) in enumerate(cases):
        tell(f"gemm {size}, {bandwidth} B/cycle, C in {c_format}", number, len(cases))
        options = RunOptions(dram_bandwidth=bandwidth, c_format=c_format)
        result = run_kernel("gemm", PRESET, PRESETS[PRESET], size, size, size, options)
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
        size, standard = run["size"]["m"], (run["formats"]["c"], run["memory"]["bytes_per_cycle"])
        if standard == ("fp16", 64):
            yield Target(
                name=f"MAC utilisation of gemm {size}, {PRESET}, 64 B/cycle",
                value=100 * run["mac_utilization"],
                limit=100 * LEAST[size],
                unit="%",
                at_least=True,
            )
    wrong = sum(run["check"]["verdict"] != "pass" for run in runs)
    yield Target(name="runs with a wrong result", value=wrong, limit=0)


def tables(result: dict) -> Iterator:
    """Yield the tables of the result: utilisation, and losses in percent of the cycles."""
    losses = [name for name in MEANINGS if name != "multiply_adds"]
    shown = [
        name for name in losses if any(run["breakdown"][name]["cycles"] for run in result["runs"])
    ]
    table = new_table(
        f"gemm on {result['preset']}: utilisation and losses in percent of the cycles",
        *("M = N = K", "C", "verdict"),
        numbers=["B/cycle", "cycles", "MAC util", "active", *shown, "DRAM B/cycle used"],
    )
    for run in result["runs"]:
        table.add_row(
            f"{run['size']['m']}",
            run["formats"]["c"],
            run["check"]["verdict"],
            f"{run['memory']['bytes_per_cycle']:g}",
            f"{run['cycles']:,}",
            f"{100 * run['mac_utilization']:.2f} %",
            f"{100 * run['mac_active']:.2f} %",
            *(f"{run['breakdown'][name]['percent']:.2f}" for name in shown),
            f"{run['memory']['used_bytes_per_cycle']:.1f}",
        )
    yield table
    yield "\n".join(f"{name}: {MEANINGS[name]}" for name in shown)
