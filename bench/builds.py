"""Benchmark of builds: time of generation and of first runs, and of runs after one change."""

from collections.abc import Iterator

from spica.base.progress import Progress

from .commands import Column, Command, command_table, measured

__all__ = ["measure", "tables"]

COLUMNS = {
    "seconds": Column("seconds", "{:.1f}".format),
    "processor seconds": Column("processor_seconds", "{:.1f}".format),
    "modules": Column("modules", "{}".format),
}
SECONDS, PROCESSOR = "seconds", "processor_seconds"
CORE, VIRGO = "run vecadd --size 64 --preset core", "run gemm --size 64 --preset virgo"
#: Changes of one field of `virgo`, and most seconds to a result, from a cache with the preset.
CHANGES = {
    "dma.queue=8": 15.0,
    "l2.mshrs=32": 15.0,
    "core.collectors=5": 30.0,
    "matrix.accumulator_bytes=65536": 35.0,
}


def commands(quick: bool) -> Iterator[Command]:
    """Yield the commands in the order that fills their caches.

    First runs have limits in processor seconds: 45 of `core`, 110 of `virgo`.
    """
    # Compiles the standard library of C++ for the caches of the compiler itself.
    yield Command(line="run vecadd --size 64 --preset tiny", cache="tools")
    for preset in ("core",) if quick else ("core", "matrix"):
        line, cache = f"generate {preset} -o verilog --force", f"verilog-{preset}"
        yield Command(line=line, most={PROCESSOR: 10.0}, cache=cache)
        yield Command(line=line, cache=cache)
    for build in ("quick",) if quick else ("quick", "fast"):
        for run, most in ((CORE, 45.0),) if quick else ((CORE, 45.0), (VIRGO, 110.0)):
            line = f"{run} --build {build}"
            yield Command(line=line, most={PROCESSOR: most}, cache=build)
            yield Command(line=line, cache=build)
    for change, most in () if quick else CHANGES.items():
        yield Command(line=f"{VIRGO} --set {change}", most={SECONDS: most}, cache="quick")


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after every command."""
    yield from measured(list(commands(quick)), COLUMNS, progress)


def tables(result: dict) -> Iterator:
    """Yield the times of every command."""
    yield command_table("Commands from an empty cache, then again", result, COLUMNS)
