"""Benchmark of the path to DRAM: bandwidth, latency of each level, traffic.

Memory-bound kernels run on `virgo`. Usual kernels also run on one of its cores alone, which has a
quarter of the warps to hide the same latency. A product of the matrix unit runs with little
bandwidth, with and without its tiles in the L2 cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS, ClusterConfig
from spica.kernels.kernel import find_kernel
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.report.result import PASS
from spica.sim.report.tables import percent
from spica.sim.run.exact_kernels import EXACT_KERNELS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .instruction_cost import ALONE, instruction_table, instruction_targets, pairs_of
from .runs import carry_out
from .target import Target

__all__ = ["measure", "tables"]

PRESET = "virgo"
WORD_BYTES = 4
STRIDES = (1, 2, 4, 8, 16)
#: Table sizes in words: fits the L1 caches, fits the L2 cache, fits neither.
TABLES = (1 << 11, 1 << 16, 1 << 20)
#: Nodes and words between them: rings of 8 KB, 64 KB, 256 KB and 4 MB, one line per node.
RINGS = ((128, 16), (1024, 16), (4096, 16), (4096, 256))
STEPS = 1024
#: Cycles of a step as stated in docs/machine.md: of rings in the L1D, in the L2, and in DRAM.
STEP_CYCLES = {(128, 16): 13, (1024, 16): 20, (4096, 256): 20 + 100 + 5}
STEP_TOLERANCE = 1.0
#: Copied words: much more than the caches hold, powers of two and others.
COPIES = (1 << 19, 900_000, 1 << 20, 1 << 21)
#: Least share of the DRAM bandwidth used by the copy.
LEAST_SHARE = 0.85
#: The product, and its DRAM bandwidth in bytes per cycle.
PRODUCT, SCARCE = "gemm", 11
KEPT = (
    *("kernel", "sizes", "seed", "cycles", "run_cycles", "flush_cycles", "region", "check"),
    *("instructions", "cores", "mac_utilization", "memory", "load_latency", "speed"),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run.

    Parameters
    ----------
    kernel : str
    extents : tuple of int
        Its sizes, in the order of its dimensions.
    one_core : bool
        Whether one core runs it alone.
    is_ideal : bool
        Whether the core has a one-cycle memory instead of caches.
    bandwidth : int
        DRAM bandwidth in bytes per cycle.
    allocates : bool or None
        Whether DMA transfers allocate in the L2; None: as in the preset.

    """

    kernel: str
    extents: tuple[int, ...]
    one_core: bool = False
    is_ideal: bool = False
    bandwidth: int = 64
    allocates: bool | None = None

    @property
    def sentence(self) -> str:
        """Description of the run."""
        memory = "ideal memory" if self.is_ideal else f"{self.bandwidth} B/cycle"
        return f"{self.kernel} {' x '.join(map(str, self.extents))}, {memory}"

    @property
    def machine(self) -> str:
        """Name of the machine."""
        if self.is_ideal:
            return "ideal memory"
        return "one core" if self.one_core else PRESET

    @property
    def config(self) -> ClusterConfig:
        """Config of the machine."""
        config = PRESETS[PRESET]
        if self.one_core:
            config = replace(config, cores=1, units=())
        if self.allocates is not None:
            sources = () if self.allocates else (0,)
            config = replace(config, l2=replace(config.l2, no_allocate_sources=sources))
        return config

    def run(self) -> dict[str, Any]:
        """Return the result."""
        config, memory = self.config, CoreMemoryConfig()
        if not self.is_ideal:
            memory = DramConfig(bytes_per_cycle=float(self.bandwidth))
        options = SimtOptions(engine="verilator", lockstep=False, memory=memory)
        on_matrix = self.kernel in EXACT_KERNELS
        kernel = EXACT_KERNELS[self.kernel](config) if on_matrix else find_kernel(self.kernel)
        sizes = dict(zip(kernel.dimensions, self.extents, strict=True))
        return run_workload(KernelWorkload(kernel, sizes), PRESET, config, options)


def cases(quick: bool) -> list[Case]:
    """Return the cases to run."""
    if quick:
        return [
            Case(kernel="copy", extents=(1 << 14,)),
            *(Case(kernel="strided", extents=(1 << 12, stride)) for stride in STRIDES[::4]),
            Case(kernel="random_access", extents=(1 << 12, TABLES[1])),
            *(Case(kernel="chase", extents=(*ring, 64)) for ring in RINGS[:2]),
            Case(kernel="gemv", extents=(128, 128)),
        ]
    return [
        *(Case(kernel="copy", extents=(words,)) for words in COPIES),
        *(Case(kernel="strided", extents=(1 << 16, stride)) for stride in STRIDES),
        *(Case(kernel="random_access", extents=(1 << 16, table)) for table in TABLES),
        *(Case(kernel="chase", extents=(*ring, STEPS)) for ring in RINGS),
        Case(kernel="gemv", extents=(1024, 1024)),
        *(
            Case(kernel=name, extents=extents, one_core=True, is_ideal=is_ideal)
            for name, sizes in ALONE.items()
            for extents in sizes
            for is_ideal in (True, False)
        ),
        *(
            Case(kernel=PRODUCT, extents=(512,) * 3, bandwidth=SCARCE, allocates=allocates)
            for allocates in (False, True)
        ),
    ]


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every run."""
    yield from carry_out(cases(quick), tell, kept, lambda runs: targets(runs, quick))


def kept(case: Case, result: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a run."""
    return {key: result[key] for key in KEPT} | {
        "machine": case.machine,
        "allocates": case.allocates,
    }


def of(runs: list[dict], *kernels: str) -> list[dict]:
    """Return the runs of some kernels."""
    return [run for run in runs if run["kernel"] in kernels]


def share_of(run: dict) -> float:
    """Return which part of DRAM's bandwidth a run used, from main to the final write-back."""
    return run["memory"]["traffic"]["region"]["utilization"]


def targets(runs: list[dict], quick: bool) -> Iterator[Target]:
    """Yield the targets of the runs; quick runs only need correct results."""
    if not quick:
        yield from memory_targets(runs)
    wrong = sum(run["check"]["verdict"] != PASS for run in runs)
    yield Target(name="runs with a wrong value", value=wrong, limit=0)


def memory_targets(runs: list[dict]) -> Iterator[Target]:
    """Yield targets of bandwidth, cost of the L1I, and latency."""
    for run in of(runs, "copy"):
        yield Target(
            name=f"DRAM bandwidth used by copy of {size_of(run)} words on {run['machine']}",
            value=100 * share_of(run),
            limit=100 * LEAST_SHARE,
            unit="%",
            at_least=True,
        )
    yield from instruction_targets(pairs_of(runs))
    for run in of(runs, "chase"):
        ring = tuple(run["sizes"].values())[:2]
        if ring in STEP_CYCLES:
            stated = STEP_CYCLES[ring]
            yield Target(
                name=f"cycles of a step in {size_of(run)}, beside {stated} stated",
                value=abs(run["cycles"] / run["sizes"]["steps"] - stated),
                limit=STEP_TOLERANCE,
            )


def tables(result: dict) -> Iterator:
    """Yield the tables of the result: traffic and bandwidth, latency, and the product."""
    runs = result["runs"]
    apart = ("chase", PRODUCT)
    yield traffic_table([
        run for run in runs if run["kernel"] not in apart and run["machine"] != "ideal memory"
    ])
    if pairs := pairs_of(runs):
        yield instruction_table(pairs)
    if chases := of(runs, "chase"):
        yield latency_table(chases)
    if products := of(runs, PRODUCT):
        yield product_table(products)


def size_of(run: dict) -> str:
    """Return a run's sizes."""
    return " x ".join(f"{extent:,}" for extent in run["sizes"].values())


def traffic_table(runs: list[dict]):
    """Return the table of traffic and bandwidth of kernels."""
    table = new_table(
        "DRAM traffic, latency 100 cycles, 64 B/cycle",
        *("kernel", "size", "on", "verdict"),
        numbers=["cycles", "instructions", "read KiB", "written KiB", "B/cycle", "DRAM share"],
    )
    for run in runs:
        traffic = run["memory"]["traffic"]["region"]
        table.add_row(
            run["kernel"],
            size_of(run),
            run["machine"],
            run["check"]["verdict"],
            f"{run['cycles']:,}",
            f"{run['instructions']['warp']:,}",
            f"{traffic['read_bytes'] / 1024:,.0f}",
            f"{traffic['written_bytes'] / 1024:,.0f}",
            f"{traffic['bytes_per_cycle']:.2f}",
            f"{100 * share_of(run):.1f} %",
        )
    return table


def latency_table(runs: list[dict]):
    """Return the table of latencies: a step along a ring is a load and an addition."""
    table = new_table(
        "Latency of dependent loads, with the addition between them",
        *("nodes", "verdict"),
        numbers=["stride bytes", "KiB total", "steps", "cycles per step"],
    )
    for run in runs:
        n, apart, steps = run["sizes"]["n"], run["sizes"]["stride"], run["sizes"]["steps"]
        table.add_row(
            f"{n:,}",
            run["check"]["verdict"],
            f"{WORD_BYTES * apart}",
            f"{n * apart * WORD_BYTES / 1024:,.0f}",
            f"{steps:,}",
            f"{run['cycles'] / steps:.1f}",
        )
    return table


def product_table(runs: list[dict]):
    """Return the table of the product with little bandwidth, by L2 allocation of DMA transfers."""
    table = new_table(
        f"{PRODUCT} with DRAM of {SCARCE} B/cycle",
        *("M = N = K", "DMA allocates in L2", "verdict"),
        numbers=["cycles", "MAC util", "read KiB", "written KiB"],
    )
    for run in runs:
        table.add_row(
            f"{run['sizes']['m']}",
            "yes" if run["allocates"] else "no",
            run["check"]["verdict"],
            f"{run['cycles']:,}",
            percent(run["mac_utilization"]),
            f"{run['memory']['traffic']['run']['read_bytes'] / 1024:,.0f}",
            f"{run['memory']['traffic']['run']['written_bytes'] / 1024:,.0f}",
        )
    return table
