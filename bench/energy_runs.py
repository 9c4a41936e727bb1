"""Table of the runs that event energies are fitted to, and of those that check the fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CHECK", "DATA", "FIT", "RUNS", "EnergyRun"]

#: Uses of a run: fit, check of the fit, and factor of other data.
FIT, CHECK, DATA = "fit", "check", "data"


@dataclass(frozen=True, kw_only=True)
class EnergyRun:
    """Run of a kernel with energy from gates.

    Parameters
    ----------
    preset, kernel, size : str
        As for ``spica run``.
    use : str
        `FIT`, `CHECK` or `DATA`.
    options : tuple of (str, value)
        Further options by their names in `sim.run.request.request.Request`.
    operands : str
        Operands of a product by the host: ``random``, or a name in `bench.energy_operands`.
    windows : tuple of (int, int)
        Windows of the run and cycles of each.

    """

    preset: str
    kernel: str
    size: str
    use: str = FIT
    options: tuple[tuple[str, str | int | bool], ...] = ()
    operands: str = "random"
    windows: tuple[int, int] = (64, 64)

    @property
    def data(self) -> str:
        """Kind of data."""
        return str(dict(self.options).get("data", self.operands))

    @property
    def label(self) -> str:
        """Kernel with its size and options."""
        options = (f"{name}={value}" for name, value in self.options)
        data = () if self.operands == "random" else (self.operands,)
        return " ".join([self.kernel, self.size, *options, *data])

    @property
    def name(self) -> str:
        """Name of the file of its result."""
        return "_".join([self.preset, *self.label.split()]).replace("=", "_")


def runs(preset: str, *problems: tuple[str, str], use: str = FIT, **others) -> list[EnergyRun]:
    """Return runs of a preset, each with a kernel and a size."""
    return [
        EnergyRun(preset=preset, kernel=kernel, size=size, use=use, **others)
        for kernel, size in problems
    ]


def products(*sizes: str) -> list[tuple[str, str]]:
    """Return products of some sizes."""
    return [("gemm", size) for size in sizes]


WIDE = (("c", "fp32"),)
#: Products by the host: sizes of the fit, and those of the check.
HOST = ("8x8x8", "16x16x16", "32x32x32", "64x64x64", "48x16x80", "16x64x32", "24x40x56", "96x32x16")
HOST_CHECK = ("40x72x24", "20x36x28", "80x80x80")
#: Kernels on cores: those of the fit, and those of the check.
CORES = (
    *(("vecadd", "512"), ("saxpy", "1024"), ("transpose", "32"), ("softmax", "16")),
    *(("sgemm", "16"), ("reduce", "1024"), ("nbody", "16"), ("gemv", "32"), ("copy", "2048")),
    *(("mandelbrot", "8"), ("bitonic_sort", "128")),
)
CORES_CHECK = (("layernorm", "16"), ("stencil", "16"), ("conv2d", "16"))
#: Kernels of a core whose other blocks are in `virgo` too.
CORE = (
    *(("saxpy", "1024"), ("transpose", "32"), ("softmax", "32"), ("sgemm", "32")),
    ("reduce", "2048"),
)
DRAM = (("dram_latency", 100),)

#: Options of long runs: the values of instructions are checked elsewhere.
LONG = (("lockstep", False),)
LONG_DRAM = (*LONG, *DRAM)
#: The same for machines of several cores.
CLUSTER = (
    *(("vecadd", "4096"), ("saxpy", "4096"), ("transpose", "64"), ("softmax", "64")),
    *(("sgemm", "64"), ("stencil", "64"), ("reduce", "16384"), ("nbody", "64"), ("gemv", "128")),
    *(("mandelbrot", "32"), ("bitonic_sort", "1024")),
)
CLUSTER_CHECK = (("layernorm", "64"), ("conv2d", "64"))
#: Kernels of machines most of whose blocks are in `virgo` too.
FEW = CLUSTER[:6]
CLUSTERS = ("virgo", "hopper", "ampere", "volta", "virgo_fp32", "ampere_fp32")
CLUSTER_WINDOWS = (512, 8)
#: The last one has tiles with rows and columns outside of C.
CLUSTER_PRODUCTS = ("64x64x64", "128x128x128", "192x64x256", "96x160x64")


SAMPLED: Mapping[str, Any] = {"windows": CLUSTER_WINDOWS, "options": LONG}
#: Machine with two matrix units, and products that both compute.
PAIR = "virgo_hetero"


def pairs(*sizes: str) -> list[tuple[str, str]]:
    """Return products of some sizes on two units."""
    return [("gemm_pair", size) for size in sizes]


def cluster_runs(preset: str) -> tuple[EnergyRun, ...]:
    """Return the runs of a machine of several cores."""
    fit = CLUSTER if preset == "virgo" else FEW
    attention = ("attention", "128x64")
    return (
        *runs(preset, *products(*CLUSTER_PRODUCTS), attention, **SAMPLED),
        *runs(preset, *fit, windows=CLUSTER_WINDOWS, options=LONG_DRAM),
        *runs(preset, *CLUSTER_CHECK, windows=CLUSTER_WINDOWS, options=LONG_DRAM, use=CHECK),
        *runs(preset, *products("160x96x128"), ("attention", "192x64"), use=CHECK, **SAMPLED),
        *runs(
            *(preset, attention),
            **SAMPLED | {"options": (*LONG, ("data", "zeros"))},
            use=DATA,
        ),
    )


RUNS: tuple[EnergyRun, ...] = (
    *(
        run
        for preset in ("tiny_matrix", "tiny_hetero")
        for run in (
            *runs(preset, *products(*HOST)),
            *runs(preset, *products("32x32x32", "16x48x24"), options=WIDE),
            *runs(preset, *products(*HOST_CHECK), use=CHECK),
            *runs(preset, *products("24x24x72"), use=CHECK, options=WIDE),
            *(
                run
                for operands in ("zeros", "attention")
                for run in runs(preset, *products("48x48x48"), use=DATA, operands=operands)
            ),
        )
    ),
    *runs("tiny", *products("16x16x16", "32x32x32", "48x16x80")),
    *runs("tiny", *CORES, options=DRAM),
    *runs("tiny", *CORES_CHECK, use=CHECK, options=DRAM),
    *runs("tiny", *products("40x24x32"), ("gemm_add", "32"), use=CHECK),
    *(run for preset in CLUSTERS for run in cluster_runs(preset)),
    # Machines whose other groups are in those above too.
    *(
        run
        for preset in ("matrix", "matrix_fp32")
        for run in (
            *runs(preset, *products(*CLUSTER_PRODUCTS[:3]), windows=CLUSTER_WINDOWS),
            *runs(preset, *products("160x96x128"), windows=CLUSTER_WINDOWS, use=CHECK),
        )
    ),
    *runs(PAIR, ("gemm", "64x64x64"), *pairs("64x64x64", "128x128x128"), **SAMPLED),
    *runs(PAIR, *pairs("96x128x64"), use=CHECK, **SAMPLED),
    *runs("core", *CORE, windows=CLUSTER_WINDOWS, options=DRAM),
    *runs("core", *CORES_CHECK, windows=CLUSTER_WINDOWS, options=DRAM, use=CHECK),
)
