"""Benchmark of MAC utilisation of `virgo`, with gemm commanded by C on the cores.

Published figures: Virgo, ASPLOS 2025, figure of GEMM utilisation; the DRAM of that machine is not
stated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.sim.harness.dram import DramConfig
from spica.sim.report.result import PASS
from spica.sim.report.tables import percent
from spica.sim.report.utilization import combined_utilization
from spica.sim.run.exact_kernels import EXACT_KERNELS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .runs import bandwidth_of, carry_out
from .target import Target

__all__ = ["measure", "tables"]

PRESET, PAIR_PRESET = "virgo", "virgo_hetero"
SIZES = (256, 512, 1024)
BANDWIDTHS = (64, 32, 16, 11)
#: Least utilisation at 64 B/cycle, and the published one, by size.
LEAST = {256: 0.97, 512: 0.995, 1024: 0.999}
PUBLISHED = {256: 0.661, 512: 0.779, 1024: 0.865}
#: Least simulation speed on two processors in cycles per second, and the size it is measured at.
LEAST_SPEED, SPEED_SIZE = 40_000, 512
#: Bytes of shared memory read by the array at 256: A for each column of tiles, B once.
FOOTPRINT = {256: 2.25 * 2**20}
#: Sizes at which the cores also finish the product; limit of the extra cycles at the last size.
FUSED, FUSED_SIZES, FUSED_LIMIT = "gemm_bias_gelu", (256, 1024, 512), 3.0
#: Matrix units that work at a time, and the limit of their loss.
UNITS, PAIR_LOSS = ((0,), (1,), (0, 1)), 2.0
KEPT = (
    *("kernel", "preset", "sizes", "seed", "cycles", "run_cycles", "region", "mac_utilization"),
    *("matrix_units", "polling_share", "shared_read_bytes", "instructions", "cores", "check"),
    *("memory", "counters", "speed", "profile"),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run."""

    kernel: str = "gemm"
    preset: str = PRESET
    size: int
    bandwidth: int = BANDWIDTHS[0]
    units: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """Description of the run."""
        units = f", units {self.units}" if self.units else ""
        return f"{self.kernel} {self.size} on {self.preset}, {self.bandwidth} B/cycle{units}"

    @property
    def machine(self) -> str:
        """Name of the machine."""
        return self.preset

    def run(self) -> dict[str, Any]:
        """Return the result."""
        config = PRESETS[self.preset]
        memory = DramConfig(bytes_per_cycle=float(self.bandwidth))
        options = SimtOptions(engine="verilator", lockstep=False, memory=memory, build="fast")
        kernel = EXACT_KERNELS[self.kernel](config, **({"units": self.units} if self.units else {}))
        sizes = dict.fromkeys("mnk", self.size)
        return run_workload(KernelWorkload(kernel, sizes), self.preset, config, options)


def cases(quick: bool) -> list[Case]:
    """Return the cases to run."""
    if quick:
        return [Case(size=SIZES[0])]
    return [
        *(Case(size=size, bandwidth=bandwidth) for size in SIZES for bandwidth in BANDWIDTHS),
        *(Case(kernel=FUSED, size=size) for size in FUSED_SIZES),
        *(
            Case(kernel="gemm_pair", preset=PAIR_PRESET, size=SIZES[0], units=units)
            for units in UNITS
        ),
    ]


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every run."""
    yield from carry_out(cases(quick), tell, kept, targets)


def kept(case: Case, result: dict[str, Any]) -> dict[str, Any]:
    """Return the kept part of a result."""
    return {key: result[key] for key in KEPT} | {"units": case.units}


def of(runs: list[dict], kernel: str) -> dict[Any, dict]:
    """Return the runs of a kernel, by their size or, of units on their own, by these."""
    full = [run for run in runs if bandwidth_of(run) == BANDWIDTHS[0]]
    return {
        tuple(run["units"]) or run["sizes"]["m"]: run for run in full if run["kernel"] == kernel
    }


def targets(runs: list[dict]) -> Iterator[Target]:
    """Yield the targets of the runs."""
    for size, run in of(runs, "gemm").items():
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
                name=f"shared memory read by the array, gemm {size}",
                value=array / 2**20,
                limit=FOOTPRINT[size] / 2**20,
                unit="MiB",
            )
        if size == SPEED_SIZE:
            yield Target(
                name=f"simulated cycles per second of {PRESET}, gemm {size}",
                value=run["speed"]["cycles_per_second"],
                limit=LEAST_SPEED,
                unit="1/s",
                at_least=True,
            )
    if FUSED_SIZES[-1] in (fused := of(runs, FUSED)):
        size = FUSED_SIZES[-1]
        yield Target(
            name=f"extra cycles of {FUSED} {size} compared with gemm",
            value=more_cycles(runs, fused[size]),
            limit=FUSED_LIMIT,
            unit="%",
        )
    if len(pair := of(runs, "gemm_pair")) == len(UNITS):
        yield Target(
            name=f"utilisation lost by two concurrent matrix units of {PAIR_PRESET}",
            value=100 * (alone(pair) - pair[0, 1]["mac_utilization"]),
            limit=PAIR_LOSS,
            unit="points",
        )
    wrong = sum(run["check"]["verdict"] != PASS for run in runs)
    yield Target(name="runs with a wrong value", value=wrong, limit=0)


def more_cycles(runs: list[dict], fused: dict) -> float:
    """Return the extra cycles of a fused product over the plain product, in percent."""
    plain = of(runs, "gemm")[fused["sizes"]["m"]]
    return 100 * (fused["cycles"] / plain["cycles"] - 1)


def alone(pair: dict[Any, dict]) -> float:
    """Return the utilisation of both units, each in the time it takes alone."""
    return combined_utilization(PRESETS[PAIR_PRESET], (pair[units] for units in UNITS[:2]))


def tables(result: dict) -> Iterator:
    """Yield the tables of the result: utilisation, published figures, and other costs."""
    runs = result["runs"]
    table = new_table(
        f"gemm commanded by the cores of {PRESET}",
        *("M = N = K", "verdict"),
        numbers=[
            *("B/cycle", "cycles", "MAC util", "published", "array active", "instructions"),
            *("polling", "shared read MiB", "cycles/s"),
        ],
    )
    for run in runs:
        if run["kernel"] != "gemm":
            continue
        size = run["sizes"]["m"]
        table.add_row(
            f"{size}",
            run["check"]["verdict"],
            f"{bandwidth_of(run):g}",
            f"{run['cycles']:,}",
            percent(run["mac_utilization"]),
            f"{100 * PUBLISHED[size]:.1f} %",
            percent(run["matrix_units"]["matrix"]["mac_active"]),
            f"{run['instructions']['warp']:,}",
            f"{100 * run['polling_share']:.1f} %",
            f"{sum(run['shared_read_bytes'].values()) / 2**20:.3f}",
            f"{run['speed']['cycles_per_second']:,.0f}",
        )
    yield table
    if fused := of(runs, FUSED):
        table = new_table(
            f"{FUSED} on {PRESET}: the cores finish a tile while the unit computes the next",
            *("M = N = K", "verdict"),
            numbers=["cycles", "extra to gemm", "MAC util", "instructions"],
        )
        for size, run in sorted(fused.items()):
            table.add_row(
                f"{size}",
                run["check"]["verdict"],
                f"{run['cycles']:,}",
                f"{more_cycles(runs, run):.2f} %",
                percent(run["mac_utilization"]),
                f"{run['instructions']['warp']:,}",
            )
        yield table
    if len(pair := of(runs, "gemm_pair")) == len(UNITS):
        table = new_table(
            f"Two units of {PAIR_PRESET}: size {SIZES[0]} on the first, half of it on the second",
            *("units", "verdict"),
            numbers=["cycles", "MAC util of each", "MAC util of both"],
        )
        for units, run in pair.items():
            each = run["matrix_units"].values()
            table.add_row(
                " and ".join(map(str, units)),
                run["check"]["verdict"],
                ", ".join(f"{unit['cycles']:,}" for unit in each),
                ", ".join(percent(unit["mac_utilization"]) for unit in each),
                percent(run["mac_utilization"]),
            )
        table.add_row("each alone", "", "", "", percent(alone(pair)))
        yield table
