"""Utilisation of `virgo` with its products commanded by C on the cores, beside what was published.

Published: Virgo, ASPLOS 2025, its figure of GEMM utilisation; DRAM of that machine is not stated.
"""

from collections.abc import Callable, Iterator
from typing import Any

from spica.cli.options import new_table
from spica.hw.config import PRESETS
from spica.sim.dram import DramConfig
from spica.sim.gemm_cores import exact_cores_kernel
from spica.sim.loading import SimtOptions
from spica.sim.simt import run_simt

from .target import Target

__all__ = ["measure", "tables"]

PRESET = "virgo"
SIZES = (256, 512, 1024)
BANDWIDTHS = (64, 32, 16, 11)
#: Least utilisation at 64 B/cycle, and that published, by size.
LEAST = {256: 0.93, 512: 0.97, 1024: 0.98}
PUBLISHED = {256: 0.661, 512: 0.779, 1024: 0.865}
#: Least cycles per second on two cores of the size that says most about it.
LEAST_SPEED, SPEED_SIZE = 40_000, 512
#: Bytes of shared memory that the array reads at 256: A for each column of tiles, B once.
FOOTPRINT = {256: 2.25 * 2**20}
KEPT = (
    *("sizes", "seed", "cycles", "region", "mac_utilization", "matrix_units", "polling_share"),
    *("shared_read_bytes", "instructions", "instructions_by_core", "check", "memory"),
    *("unit_counters", "simulated_cycles_per_second", "profile"),
)


def run(size: int, bandwidth: int) -> dict[str, Any]:
    """Return the result of one product."""
    config = PRESETS[PRESET]
    options = SimtOptions(
        engine="verilator", lockstep=False, memory=DramConfig(bytes_per_cycle=float(bandwidth))
    )
    sizes = dict.fromkeys("mnk", size)
    return run_simt(exact_cores_kernel(config), PRESET, config, sizes, options)


def measure(quick: bool, tell: Callable[[str, int, int], None]) -> Iterator[dict]:
    """Yield the result after every run, so that an interrupted benchmark has what it measured."""
    sizes, bandwidths = (SIZES[:1], BANDWIDTHS[:1]) if quick else (SIZES, BANDWIDTHS)
    cases = [(size, bandwidth) for size in sizes for bandwidth in bandwidths]
    runs: list[dict] = []
    for number, (size, bandwidth) in enumerate(cases):
        tell(f"gemm {size} on {PRESET}, {bandwidth} B/cycle", number, len(cases))
        result = run(size, bandwidth)
        runs.append({key: result[key] for key in KEPT})
        yield {
            "preset": PRESET,
            "runs": runs,
            "targets": [target.as_dict() for target in targets(runs)],
            "versions": result["versions"],
            "config": result["config"],
        }


def targets(runs: list[dict]) -> Iterator[Target]:
    """Yield what the runs must show."""
    for run in runs:
        size = run["sizes"]["m"]
        if run["memory"]["bytes_per_cycle"] != BANDWIDTHS[0]:
            continue
        yield Target(
            name=f"MAC utilisation of gemm {size} by the cores of {PRESET}, 64 B/cycle",
            value=100 * run["mac_utilization"],
            limit=100 * LEAST[size],
            unit="%",
            at_least=True,
        )
        if size in FOOTPRINT:
            array = sum(run["shared_read_bytes"].get(name, 0) for name in ("a", "b"))
            yield Target(
                name=f"shared memory that the array reads, gemm {size}",
                value=array / 2**20,
                limit=FOOTPRINT[size] / 2**20,
                unit="MiB",
            )
        if size == SPEED_SIZE:
            yield Target(
                name=f"simulated cycles per second of {PRESET}, gemm {size}",
                value=run["simulated_cycles_per_second"],
                limit=LEAST_SPEED,
                unit="1/s",
                at_least=True,
            )
    wrong = sum(run["check"]["verdict"] != "right" for run in runs)
    yield Target(name="runs with a wrong value", value=wrong, limit=0)


def tables(result: dict) -> Iterator:
    """Yield the result for people: utilisation beside the published one, and what else it took."""
    table = new_table(
        f"gemm by C on the cores of {result['preset']}",
        *("M = N = K", "verdict"),
        numbers=[
            *("B/cycle", "cycles", "MAC util", "published", "array active", "instructions"),
            *("polling", "shared read MiB", "cycles/s"),
        ],
    )
    for run in result["runs"]:
        size = run["sizes"]["m"]
        table.add_row(
            f"{size}",
            run["check"]["verdict"],
            f"{run['memory']['bytes_per_cycle']:g}",
            f"{run['region']['cycles']:,}",
            f"{100 * run['mac_utilization']:.2f} %",
            f"{100 * PUBLISHED[size]:.1f} %",
            f"{100 * run['matrix_units']['matrix']['mac_active']:.2f} %",
            f"{run['instructions']['warp']:,}",
            f"{100 * run['polling_share']:.1f} %",
            f"{sum(run['shared_read_bytes'].values()) / 2**20:.3f}",
            f"{run['simulated_cycles_per_second']:,.0f}",
        )
    yield table
