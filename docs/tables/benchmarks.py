"""Tables of benchmarks.md."""

from statistics import mean, median
from typing import Any

from pages import table

from .stored import Stored, cited, commands, measured_at, percent, read, section, share

__all__ = ["SECTIONS", "bandwidth_of", "by_size"]

#: MAC utilisation of Virgo in table 3 of the publication, in percent.
PUBLISHED = {256: "66.1", 512: "77.9", 1024: "86.5"}
#: Largest error of a good prediction, in percent.
GOOD = 2.0
KINDS = {
    "single tile": "one step: M up to 128, N and K up to 64",
    "several tiles": "several steps, rows begin at beats of DRAM",
    "ragged": "rows begin within beats",
}


def bandwidth_of(result: dict[str, Any]) -> int:
    """Return the DRAM bandwidth of a run in bytes per cycle."""
    return int(result["memory"]["parameters"]["bytes_per_cycle"])


def by_size(results: list[dict[str, Any]]) -> dict[tuple[int, int], dict[str, Any]]:
    """Return results of square products by size and DRAM bandwidth."""
    return {(entry["sizes"]["m"], bandwidth_of(entry)): entry for entry in results}


def grid(results: dict[tuple[int, int], dict[str, Any]], size: int) -> list[str]:
    """Return the cells of a size: utilisation by bandwidth, empty where not measured."""
    entries = (results.get((size, bandwidth)) for bandwidth in BANDWIDTHS)
    return [share(entry["mac_utilization"]) if entry else "" for entry in entries]


BANDWIDTHS = (64, 32, 16, 11)


def cluster_products() -> str:
    """Return MAC utilisation of `virgo` by size and DRAM bandwidth."""
    runs = read("virgo")
    results = by_size([run.result for run in runs])
    rows = ([f"{size}", *grid(results, size), PUBLISHED[size]] for size in PUBLISHED)
    header = ["M = N = K", *(f"{entry} B/cycle" for entry in BANDWIDTHS), "published"]
    return section(runs[:2], header, rows)


def report() -> str:
    """Return the first parts of the report of a product on `virgo`."""
    (run,) = (run for run in read("virgo") if run.output)
    parts = run.output.split("\n\n")
    end = next(k for k, part in enumerate(parts) if part.startswith("Issue slots"))
    lines = "\n\n".join(part.rstrip() for part in parts[:end])
    return f"\n{commands([run])}\n\n```\n{lines}\n```\n\n{measured_at([run])}\n"


def fused_product() -> str:
    """Return cycles of a product whose result the cores finish."""
    (fused,) = read("gelu")
    (plain,) = (
        run for run in read("virgo") if (run.result["sizes"]["m"], bandwidth_of(run.result)) == SAME
    )
    rows = (
        [
            f"`{run.result['kernel']}`",
            f"{run.result['cycles']:,}",
            percent(run.result["cycles"] / plain.result["cycles"] - 1),
        ]
        for run in (plain, fused)
    )
    return section([plain, fused], ["kernel", "cycles", "more than `gemm`"], rows)


SAME = (512, 64)


def accelerator_products() -> str:
    """Return MAC utilisation of `matrix` by size, DRAM bandwidth and format of C."""
    runs = read("matrix")
    halves = by_size([run.result for run in runs if c_format(run) == "fp16"])
    wide = by_size([run.result for run in runs if c_format(run) == "fp32"])
    rows = (
        [
            f"{size}",
            *grid(halves, size),
            share(wide[size, 64]["mac_utilization"]),
            cited(run for run in runs if run.result["sizes"]["m"] == size),
        ]
        for size in dict.fromkeys(size for size, _ in halves)
    )
    header = ["M = N = K", *(f"{entry} B/cycle" for entry in BANDWIDTHS), "64 B/cycle, C in FP32"]
    return section(runs, [*header, "commit"], rows, has_commits=True, examples=2)


def c_format(run: Stored) -> str:
    """Return the format of C."""
    return run.result["options"]["formats"]["c"]


def operand_formats() -> str:
    """Return cycles and MAC utilisation by format of the operands."""
    runs = read("operands")
    rows = (
        [
            f"`{run.result['preset']}`",
            run.result["options"]["formats"]["a"],
            f"{run.result['cycles']:,}",
            share(run.result["mac_utilization"]),
            cited([run]),
        ]
        for run in runs
    )
    header = ["preset", "operands", "cycles", "MAC utilisation, %", "commit"]
    return section(runs, header, rows, has_commits=True, examples=2)


def core_kernels() -> str:
    """Return cycles and instructions of kernels on one core."""
    runs = read("kernels")
    rows = (
        [
            f"`{run.result['kernel']}`",
            extents(run.result),
            f"{run.result['cycles']:,}",
            f"{run.result['instructions']['warp']:,}",
            f"{run.result['instructions_per_cycle']:.3f}",
        ]
        for run in runs
    )
    header = ["kernel", "size", "cycles", "warp instructions", "per cycle"]
    return section(runs, header, rows, examples=1)


def prediction_errors() -> str:
    """Return errors of predicted cycles of `gemm` on `virgo`."""
    (run,) = read("analytic")
    timed = [entry for entry in run.result["runs"] if entry["predicted"]]
    rows = []
    for kind, text in (KINDS | {"": "all"}).items():
        errors = [abs(entry["error"]) for entry in timed if kind in ("", entry["kind"])]
        good = sum(error <= GOOD for error in errors)
        figures = (f"{figure(errors):.2f}" for figure in (median, mean, max))
        rows.append([text, f"{len(errors)}", f"{good}", *figures])
    header = ["products", "number", "within 2 %", "median, %", "mean, %", "largest, %"]
    return section([run], header, rows)


def prediction_limits() -> str:
    """Return bytes of programs and the nearest run to the limits, by kernel and preset."""
    (run,) = read("analytic")
    groups: dict[tuple[str, str], list[dict]] = {}
    for entry in run.result["runs"]:
        groups.setdefault((entry["kernel"], f"`{entry['preset']}`"), []).append(entry)
    rows = (
        [
            f"`{kernel}`",
            preset,
            *(extent(own, level) for level in ("dram_read_bytes", "dram_written_bytes")),
            f"{100 * max(entry['least'] / entry['cycles'] for entry in own):.1f}",
        ]
        for (kernel, preset), own in groups.items()
    )
    header = ["kernel", "preset", "bytes read more", "bytes written more", "largest, %"]
    return section([run], header, rows)


def extent(runs: list[dict], level: str) -> str:
    """Return the fewest and the most bytes beside operands and results."""
    entries = [entry["program"][level] for entry in runs if level in entry["program"]]
    few, most = min(entries, default=None), max(entries, default=None)
    if few is None:
        return ""
    return f"{few:,}" if few == most else f"{few:,} to {most:,}"


def memory_kernels() -> str:
    """Return cycles and bandwidth of kernels through the caches to DRAM."""
    runs = [run for run in read("memory") if run.result["kernel"] != CHASE]
    rows = (
        [
            f"`{run.result['kernel']}`",
            extents(run.result),
            f"`{run.result['preset']}`",
            f"{run.result['cycles']:,}",
            share(run.result["memory"]["traffic"]["region"]["utilization"], 1),
        ]
        for run in runs
    )
    header = ["kernel", "size", "preset", "cycles", "DRAM bandwidth used, %"]
    return section([runs[0], runs[-1]], header, rows)


#: Kernel of dependent loads.
CHASE = "chase"


def extents(result: dict[str, Any]) -> str:
    """Return the sizes of a run."""
    return " x ".join(f"{extent:,}" for extent in result["sizes"].values())


def memory_latency() -> str:
    """Return cycles of a dependent load and an addition, by size of the ring of addresses."""
    runs = [run for run in read("memory") if run.result["kernel"] == CHASE]
    rows = (
        [f"{sizes['n'] * sizes['stride'] * 4 // 1024:,} KiB", f"{cycles / sizes['steps']:.1f}"]
        for run in runs
        for sizes, cycles in [(run.result["sizes"], run.result["cycles"])]
    )
    return section(runs, ["ring of addresses", "cycles per step"], rows, examples=1)


def simulation_speed() -> str:
    """Return simulated cycles per second."""
    runs = read("speed")
    rows = (
        [f"`{run.command}`", f"{run.result['speed']['cycles_per_second']:,.0f}", cited([run])]
        for run in runs
    )
    return "\n" + table(["command", "cycles/s", "commit"], rows) + "\n"


SECTIONS = (
    *(cluster_products, report, fused_product, accelerator_products, operand_formats),
    *(core_kernels, memory_kernels, memory_latency),
    *(prediction_errors, prediction_limits, simulation_speed),
)
