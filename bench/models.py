"""Benchmark of the kinds of Verilated models: builds from nothing, after one change, and speed."""

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.kernels.kernel import find_kernel
from spica.sim.report.result import PASS
from spica.sim.run import rtl_executor
from spica.sim.run.exact_kernels import EXACT_KERNELS
from spica.sim.run.options import BUILDS, SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .target import Target
from .timing import clocking, command, speed

__all__ = ["measure", "tables"]

#: Whether each model is composed.
MODELS = {"flat": False, "blocks": True}
#: Both models of each preset and kernel run in turns, as often as this.
REPETITIONS = 5
CASES = {
    "tiny": {"sgemm": (32, 32, 32)},
    "core": {"sgemm": (64, 64, 64), "vecadd": (65536,)},
    "virgo": {"gemm": (256, 256, 256), "sgemm": (64, 64, 64), "vecadd": (65536,)},
}
#: Least speed of blocks to the model in one piece.
QUICK = 0.8
BUSY = {("virgo", "sgemm"): 1.3}
#: Most processor seconds of a first run from an empty cache.
COLD = {"core": 45.0, "virgo": 110.0}
#: Changes of one field of `virgo`, and most seconds to a result, from a cache with the preset.
CHANGES = {
    "DMA": ("dma.queue=8", 15.0),
    "L2": ("l2.mshrs=32", 15.0),
    "core": ("core.collectors=5", 30.0),
    "matrix unit": ("matrix.accumulator_bytes=65536", 35.0),
}
RUN = {"core": ["vecadd", "--size", "64"], "virgo": ["gemm", "--size", "64"]}


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every part."""
    result: dict = {"speed": {}, "cold": {}, "changed": {}}
    for preset in ["core"] if quick else CASES:
        for name in CASES[preset]:
            tell(f"{name} on {preset}", 0, 0)
            result["speed"][f"{preset} {name}"] = compared(
                preset, name, 2 if quick else REPETITIONS
            )
            yield result | {"targets": targets(result)}
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as folder:
        # Compiles the standard library of C++ for the caches of the compiler itself.
        command(["run", *RUN["core"], "--preset", "tiny"], f"{folder}/tools")
        for preset in ["core"] if quick else RUN:
            for build in BUILDS:
                tell(f"{preset}, {build}, from an empty cache", 0, 0)
                cache = f"{folder}/{preset}-{build}"
                arguments = ["run", *RUN[preset], "--preset", preset, "--build", build]
                result["cold"][f"{preset} {build}"] = command(arguments, cache)[0]
                yield result | {"targets": targets(result)}
        for block, (change, _) in {} if quick else CHANGES.items():
            tell(f"virgo, {block} changed", 0, 0)
            cache = f"{folder}/changed"
            shutil.copytree(f"{folder}/virgo-quick", cache)
            arguments = ["run", *RUN["virgo"], "--preset", "virgo", "--set", change]
            result["changed"][block] = {"change": change} | command(arguments, cache)[0]
            shutil.rmtree(Path(cache))
            yield result | {"targets": targets(result)}


def compared(preset: str, name: str, repetitions: int) -> dict:
    """Return the speed of both models, which must give the same result."""
    config = PRESETS[preset]
    kernel = EXACT_KERNELS[name](config) if name in EXACT_KERNELS else find_kernel(name)
    sizes = dict(zip(kernel.dimensions, CASES[preset][name], strict=True))
    options = SimtOptions(engine="verilator", lockstep=False)
    figures: dict[str, list[dict]] = {model: [] for model in MODELS}
    results = {}
    for _ in range(1 + repetitions):
        for model, is_composed in MODELS.items():
            with (
                patch.object(rtl_executor, "composed", return_value=is_composed),
                clocking() as times,
            ):
                found = run_workload(
                    KernelWorkload(kernel, sizes), preset, PRESETS[preset], options
                )
            if found["check"]["verdict"] != PASS:
                raise SystemExit(f"{name} must pass before its speed counts: {found['check']}")
            assert found.pop("speed")["model"] == model
            results[model] = found
            figures[model].append(speed(found["run_cycles"], times))
    if results["flat"] != results["blocks"]:
        raise SystemExit(f"{name} on {preset} must have one result, not one for each model")
    rates = {
        model: statistics.median(each["cycles_per_processor_second"] for each in runs[1:])
        for model, runs in figures.items()
    }
    return {
        "cycles": results["flat"]["run_cycles"],
        "cycles_per_processor_second": rates,
        "ratio": rates["blocks"] / rates["flat"],
        "runs": figures,
    }


def targets(result: dict) -> list[dict]:
    """Return the targets."""
    found = []
    for preset, kernels in CASES.items():
        for name in kernels:
            if figures := result["speed"].get(f"{preset} {name}"):
                least = BUSY.get((preset, name), QUICK)
                title = f"speed of blocks to that of one piece, {name} on {preset}"
                found.append(Target(name=title, value=figures["ratio"], limit=least, at_least=True))
    for preset, most in COLD.items():
        for build in BUILDS:
            if figures := result["cold"].get(f"{preset} {build}"):
                title = f"processor time of a first run on {preset}, {build}"
                value = figures["processor_seconds"]
                found.append(Target(name=title, value=value, limit=most, unit="s"))
    for block, (_, most) in CHANGES.items():
        if figures := result["changed"].get(block):
            title = f"time of a run on virgo with a changed {block}"
            found.append(Target(name=title, value=figures["seconds"], limit=most, unit="s"))
    return [target.as_dict() for target in found]


def tables(result: dict) -> Iterator:
    """Yield the tables of the result."""
    table = new_table(
        "Speed of both models, in turns", "case", numbers=["cycles", "flat", "blocks", "ratio"]
    )
    for name, each in result["speed"].items():
        rates = each["cycles_per_processor_second"]
        table.add_row(
            name,
            f"{each['cycles']:,}",
            *(f"{rates[model]:,.0f}" for model in MODELS),
            f"{each['ratio']:.2f}",
        )
    table.caption = "Cycles per processor second, medians."
    yield table
    table = new_table("First run", "case", numbers=["seconds", "processor seconds"])
    rows = {f"{name}, from an empty cache": each for name, each in result["cold"].items()}
    for block, each in result["changed"].items():
        rows[f"virgo, {block} changed: {each['change']}"] = each
    for title, each in rows.items():
        table.add_row(title, f"{each['seconds']:.1f}", f"{each['processor_seconds']:.1f}")
    yield table
