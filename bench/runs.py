"""Benchmark of runs of kernels: cycles, utilisation, traffic and speed, with their limits.

Published figures of `gemm` on `virgo`: Virgo, ASPLOS 2025, figure of GEMM utilisation; the DRAM of
that machine is not stated.
"""

from collections.abc import Iterator

from spica.base.progress import Progress
from spica.sim.report.tables import percent

from .commands import Column, Command, command_table, measured

__all__ = ["measure", "tables"]

COLUMNS = {
    "cycles": Column("cycles", "{:,}".format),
    "instructions": Column("instructions.warp", "{:,}".format),
    "MAC util": Column("mac_utilization", percent),
    "DRAM util": Column("memory.traffic.region.utilization", percent),
    "B/cycle": Column("memory.traffic.region.bytes_per_cycle", "{:.2f}".format),
    "bytes read": Column("memory.traffic.run.read_bytes", "{:,}".format),
    "bytes written": Column("memory.traffic.run.written_bytes", "{:,}".format),
    "cycles/processor s": Column("cycles_per_processor_second", "{:,.0f}".format),
}
#: Simulation without the instruction-set model, of the model that is faster.
FAST = "--no-lockstep --build fast"
#: Limits of figures are budgets of the presets, with DRAM of 64 B/cycle unless the command says
#: otherwise. Speeds are of two processors.
UTILISATION, SPEED, DRAM = (
    *("mac_utilization", "cycles_per_processor_second"),
    "memory.traffic.region.utilization",
)
#: Bytes that the array of `virgo` reads at 256: A for each column of tiles, B at most twice.
READS = {"shared_read_bytes.a": 16 * 2 * 256**2, "shared_read_bytes.b": 2 * 2 * 256**2}
#: Sizes of the kernels on one core with ideal memory, with limits of cycles and instructions.
KERNELS: dict[str, tuple[str, dict[str, float]]] = {
    "vecadd": ("8192", {"cycles": 10_500, "instructions.warp": 10_000}),
    "saxpy": ("8192", {}),
    "copy": ("8192", {}),
    "strided": ("8192x4", {}),
    "random_access": ("8192x8192", {}),
    "chase": ("256x16x256", {}),
    "reduce": ("8192", {}),
    "transpose": ("128x128", {}),
    "stencil": ("64x64", {}),
    "conv2d": ("64x64", {}),
    "gemv": ("128x128", {}),
    "sgemm": ("64", {"cycles": 200_000, "instructions.warp": 150_000}),
    "softmax": ("64x256", {}),
    "layernorm": ("64x256", {}),
    "bitonic_sort": ("4096", {}),
    "mandelbrot": ("64x64", {}),
    "nbody": ("256", {}),
}
#: The same with caches and DRAM, each with a small and a large size.
CACHED: dict[str, tuple[str, str, dict[str, float]]] = {
    "vecadd": ("256", "8192", {"cycles": 7_500}),
    "sgemm": ("8", "64", {"cycles": 80_000}),
    "softmax": ("8x32", "64x256", {}),
    "layernorm": ("8x32", "64x256", {}),
    "mandelbrot": ("8x8", "64x64", {}),
    "nbody": ("16", "256", {}),
}
#: Rings of 1,024 steps, by nodes and words between them: cycles of a step as stated in
#: docs/machine.md, for the L1D, the L2 and DRAM.
RINGS = {"128x16": 13, "1024x16": 20, "4096x16": None, "4096x256": 20 + 100 + 5}
STEPS = 1024


def products() -> Iterator[Command]:
    """Yield `gemm` by size and bandwidth of DRAM, and kernels that finish or share products."""
    for preset, own, least in (
        ("matrix", "", {256: 0.98, 512: 0.997, 1024: 0.999}),
        ("virgo", FAST, {256: 0.97, 512: 0.995, 1024: 0.999}),
    ):
        for size, utilisation in least.items():
            line = f"run gemm --preset {preset} --size {size} {own}".strip()
            limits = {UTILISATION: utilisation}
            if size == 512:
                limits[SPEED] = {"matrix": 60_000, "virgo": 40_000}[preset]
            most = READS if (preset, size) == ("virgo", 256) else {}
            yield Command(line=line, least=limits, most=most)
            for bandwidth in (32, 16, 11):
                yield Command(line=f"{line} --dram-bandwidth {bandwidth}")
            if preset == "matrix":
                yield Command(line=f"{line} --c fp32")
    yield Command(line="run gemm --preset matrix --size 512 --gating ungated")
    yield Command(
        line=f"run gemm --preset virgo --size 512 {FAST} --dram-bandwidth 11 "
        "--set l2.no_allocate_sources=none"
    )
    for size, most in ((256, {}), (512, {"cycles": 541_500}), (1024, {})):
        yield Command(line=f"run gemm_bias_gelu --preset virgo --size {size} {FAST}", most=most)
    yield Command(line=f"run gemm_pair --preset virgo_hetero --size 256 {FAST}")


def kernels() -> Iterator[Command]:
    """Yield kernels on one core, with ideal memory, then with caches and DRAM."""
    fast = {"sgemm": {SPEED: 150_000}, "mandelbrot": {SPEED: 150_000}}
    for name, (size, most) in KERNELS.items():
        line = f"run {name} --preset core --size {size} {FAST}"
        yield Command(line=line, most=most, least=fast.get(name, {}))
    for name, (small, large, most) in CACHED.items():
        for size, limits in ((small, {}), (large, most)):
            line = f"run {name} --preset core --size {size} --dram-bandwidth 64 --no-lockstep"
            yield Command(line=line, most=limits)


def memory() -> Iterator[Command]:
    """Yield kernels that are bound by the memory of `virgo`."""
    on = f"--preset virgo {FAST}"
    for words in (1 << 19, 900_000, 1 << 20, 1 << 21):
        yield Command(line=f"run copy --size {words} {on}", least={DRAM: 0.85})
    for stride in (1, 2, 4, 8, 16):
        yield Command(line=f"run strided --size {1 << 16}x{stride} {on}")
    for table in (1 << 11, 1 << 16, 1 << 20):
        yield Command(line=f"run random_access --size {1 << 16}x{table} {on}")
    for ring, step in RINGS.items():
        limits = {} if step is None else {"cycles": STEPS * step}
        yield Command(
            line=f"run chase --size {ring}x{STEPS} {on}",
            most={name: cycles + STEPS for name, cycles in limits.items()},
            least={name: cycles - STEPS for name, cycles in limits.items()},
        )
    yield Command(line=f"run gemv --size 1024 {on}")


QUICK = (
    Command(line="run gemm --preset tiny_matrix --size 16", least={UTILISATION: 0.2}),
    Command(line="run vecadd --preset tiny --size 256"),
)


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after every run."""
    commands = QUICK if quick else (*kernels(), *memory(), *products())
    yield from measured(commands, COLUMNS, progress)


def tables(result: dict) -> Iterator:
    """Yield the figures of every run."""
    yield command_table("Runs, each a command of spica; all results pass", result, COLUMNS)
