"""The way to DRAM under kernels that wait for it: bandwidth, latency of each level, traffic.

Kernels that move much and compute little run on `virgo`; two of usual work on one of its cores
alone, which has a quarter of the warps to hide the same latency; and a product of the matrix unit
with little bandwidth, whose tiles the L2 cache keeps or not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from spica.cli.options import new_table
from spica.hw.config import PRESETS, ClusterConfig
from spica.kernels.kernel import find_kernel
from spica.sim.core_memory import CoreMemoryConfig
from spica.sim.dram import DramConfig
from spica.sim.gemm_cores import EXACT_KERNELS
from spica.sim.loading import SimtOptions
from spica.sim.simt import run_simt

from .instruction_cost import ALONE, instruction_table, instruction_targets, pairs_of
from .runs import carry_out
from .target import Target

__all__ = ["measure", "tables"]

PRESET = "virgo"
WORD_BYTES = 4
STRIDES = (1, 2, 4, 8, 16)
#: Words of tables that fit the L1 caches, the L2 cache, and neither.
TABLES = (1 << 11, 1 << 16, 1 << 20)
#: Nodes and words between them: rings of 8 KB, 64 KB, 256 KB and 4 MB, each node in its own line.
RINGS = ((128, 16), (1024, 16), (4096, 16), (4096, 256))
STEPS = 1024
#: Cycles of a step, as docs/machine.md states them: of rings in the L1D, in the L2, and in DRAM.
STEP_CYCLES = {(128, 16): 18, (1024, 16): 27, (4096, 256): 27 + 100 + 5}
STEP_TOLERANCE = 1.0
#: Words that are copied: much more than the caches hold, powers of two and not.
COPIES = (1 << 19, 900_000, 1 << 20, 1 << 21)
#: Least share of DRAM's bandwidth that the copy uses.
LEAST_SHARE = 0.85
#: The product, and bytes per cycle of its DRAM.
PRODUCT, SCARCE = "gemm", 11
KEPT = (
    *("kernel", "sizes", "seed", "cycles", "instructions", "slots", "check"),
    *("simulated_cycles_per_second",),
)
#: What runs have only where the machine and its model can tell.
KEPT_IF_THERE = ("memory", "region", "load_latency", "flush_cycles", "mac_utilization")


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
        Whether a memory of one cycle stands at the core's ports, without caches.
    bandwidth : int
        Of DRAM, bytes per cycle.
    allocates : bool or None
        Whether what the DMA moves is kept in L2; None: as the preset says.

    """

    kernel: str
    extents: tuple[int, ...]
    one_core: bool = False
    is_ideal: bool = False
    bandwidth: int = 64
    allocates: bool | None = None

    @property
    def sentence(self) -> str:
        """What runs."""
        memory = "ideal memory" if self.is_ideal else f"{self.bandwidth} B/cycle"
        return f"{self.kernel} {' x '.join(map(str, self.extents))}, {memory}"

    @property
    def machine(self) -> str:
        """Names what it runs on."""
        if self.is_ideal:
            return "ideal memory"
        return "one core" if self.one_core else PRESET

    @property
    def config(self) -> ClusterConfig:
        """What it runs on."""
        config = PRESETS[PRESET]
        if self.one_core:
            config = replace(config, cores=1, matrix=None)
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
        return run_simt(kernel, PRESET, config, sizes, options)


def cases(quick: bool) -> list[Case]:
    """Return what to run."""
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


def measure(quick: bool, tell: Callable[[str, int, int], None]) -> Iterator[dict]:
    """Yield the result after every run."""
    yield from carry_out(cases(quick), tell, kept, lambda runs: targets(runs, quick))


def kept(case: Case, result: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a run."""
    return (
        {key: result[key] for key in KEPT}
        | {key: result[key] for key in KEPT_IF_THERE if key in result}
        | {"machine": case.machine, "allocates": case.allocates}
    )


def of(runs: list[dict], *kernels: str) -> list[dict]:
    """Return the runs of some kernels."""
    return [run for run in runs if run["kernel"] in kernels]


def share_of(run: dict) -> float:
    """Return which part of DRAM's bandwidth a run used."""
    memory = run["memory"]
    usual = memory["used_bytes_per_cycle"] / memory["bytes_per_cycle"]
    return memory.get("dram_utilization", usual)


def targets(runs: list[dict], quick: bool) -> Iterator[Target]:
    """Yield what the runs must show; of quick ones only that they are right."""
    if not quick:
        yield from memory_targets(runs)
    wrong = sum(run["check"]["verdict"] != "right" for run in runs)
    yield Target(name="runs with a wrong value", value=wrong, limit=0)


def memory_targets(runs: list[dict]) -> Iterator[Target]:
    """Yield bandwidths, what the L1I costs, and latencies."""
    for run in of(runs, "copy"):
        yield Target(
            name=f"DRAM bandwidth that copy of {size_of(run)} words uses on {run['machine']}",
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
                value=abs(run["region"]["cycles"] / run["sizes"]["steps"] - stated),
                limit=STEP_TOLERANCE,
            )


def tables(result: dict) -> Iterator:
    """Yield the result for people: traffic and bandwidth, latency, and the product's tiles."""
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
    """Return what kernels moved, and how fast."""
    table = new_table(
        "Traffic with DRAM of 100 cycles, 64 B/cycle",
        *("kernel", "size", "on", "verdict"),
        numbers=["cycles", "instructions", "read KiB", "written KiB", "B/cycle", "of DRAM"],
    )
    for run in runs:
        memory = run["memory"]
        table.add_row(
            run["kernel"],
            size_of(run),
            run["machine"],
            run["check"]["verdict"],
            f"{run['cycles']:,}",
            f"{run['instructions']['warp']:,}",
            f"{memory['read_bytes'] / 1024:,.0f}",
            f"{memory['written_bytes'] / 1024:,.0f}",
            f"{memory['used_bytes_per_cycle']:.2f}",
            f"{100 * share_of(run):.1f} %",
        )
    return table


def latency_table(runs: list[dict]):
    """Return what a step of one thread along a ring takes, a load and a sum."""
    table = new_table(
        "A load that the next one waits for, and the sum between them",
        *("nodes", "verdict"),
        numbers=["bytes apart", "KiB in all", "steps", "cycles per step"],
    )
    for run in runs:
        n, apart, steps = run["sizes"]["n"], run["sizes"]["stride"], run["sizes"]["steps"]
        table.add_row(
            f"{n:,}",
            run["check"]["verdict"],
            f"{WORD_BYTES * apart}",
            f"{n * apart * WORD_BYTES / 1024:,.0f}",
            f"{steps:,}",
            f"{run['region']['cycles'] / steps:.1f}",
        )
    return table


def product_table(runs: list[dict]):
    """Return what a product with little bandwidth takes, by what L2 keeps of the DMA's."""
    table = new_table(
        f"{PRODUCT} with DRAM of {SCARCE} B/cycle",
        *("M = N = K", "DMA's lines kept in L2", "verdict"),
        numbers=["cycles", "MAC util", "read KiB", "written KiB"],
    )
    for run in runs:
        table.add_row(
            f"{run['sizes']['m']}",
            "yes" if run["allocates"] else "no",
            run["check"]["verdict"],
            f"{run['region']['cycles']:,}",
            f"{100 * run['mac_utilization']:.2f} %",
            f"{run['memory']['read_bytes'] / 1024:,.0f}",
            f"{run['memory']['written_bytes'] / 1024:,.0f}",
        )
    return table
