"""Benchmark of kernels on the instruction-set model: instructions and lanes used."""

from collections.abc import Iterator

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.kernels.kernel import find_kernel
from spica.sim.report.result import PASS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .target import Target

__all__ = ["measure", "tables"]

PRESET = "core"
#: Sizes in the order of each kernel's dimensions.
SIZES = {
    "vecadd": (8192,),
    "saxpy": (8192,),
    "copy": (8192,),
    "strided": (8192, 4),
    "random_access": (8192, 8192),
    "chase": (256, 16, 256),
    "reduce": (8192,),
    "transpose": (128, 128),
    "stencil": (64, 64),
    "conv2d": (64, 64),
    "gemv": (128, 128),
    "sgemm": (64, 64, 64),
    "softmax": (64, 256),
    "layernorm": (64, 256),
    "bitonic_sort": (4096,),
    "mandelbrot": (64, 64),
    "nbody": (256,),
}
#: Largest number of warp-instructions: a core that issues one per cycle then keeps its cycle
#: budget.
INSTRUCTIONS = {"vecadd": 10_000, "sgemm": 150_000}


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after each kernel."""
    rows: dict[str, dict] = {}
    for done, (name, extents) in enumerate(SIZES.items()):
        progress(f"running {name}", done, len(SIZES))
        kernel = find_kernel(name)
        if quick:
            extents = tuple(max(1, extent // 4) for extent in extents)
        sizes = dict(zip(kernel.dimensions, extents, strict=True))
        result = run_workload(KernelWorkload(kernel, sizes), PRESET, PRESETS[PRESET], SimtOptions())
        rows[name] = {
            "sizes": sizes,
            "instructions": result["instructions"]["warp"],
            "lane_utilization": result["lane_utilization"],
            "operations_per_instruction": result["operations_per_instruction"],
            "verdict": result["check"]["verdict"],
        }
        yield {"preset": PRESET, "kernels": rows, "targets": targets(rows)}


def targets(rows: dict[str, dict]) -> list[dict]:
    """Return what must hold: every kernel right, and few instructions where that is a budget."""
    wrong = sum(row["verdict"] != PASS for row in rows.values())
    found = [Target(name="kernels that computed a wrong value", value=wrong, limit=0)]
    found += [
        Target(name=f"instructions of {name}", value=rows[name]["instructions"], limit=limit)
        for name, limit in INSTRUCTIONS.items()
        if name in rows
    ]
    return [target.as_dict() for target in found]


def tables(result: dict) -> list:
    """Return the table of kernels."""
    table = new_table(
        f"Kernels on {result['preset']}, instruction-set model",
        "kernel",
        "size",
        numbers=["instructions", "lanes used", "operations per instruction"],
    )
    for name, row in result["kernels"].items():
        table.add_row(
            name,
            " x ".join(f"{extent:,}" for extent in row["sizes"].values()),
            f"{row['instructions']:,}",
            f"{100 * row['lane_utilization']:.1f} %",
            f"{row['operations_per_instruction']:.2f}",
        )
    return [table]
