"""Benchmark of Verilator's passes, one at a time, and of the C++ compiler by level, on `core`."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN
from unittest.mock import patch

from spica.cli.options import new_table
from spica.hw.base.compiler import compile_all, find_compiler
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.hw.emit.emission import Emission
from spica.kernels.kernel import find_kernel
from spica.sim.engine import engines
from spica.sim.engine.driven_top import driven_top
from spica.sim.engine.emission_cache import emit_cached
from spica.sim.engine.verilator_build import generate
from spica.sim.engine.verilator_model import (
    VERILATE_FLAGS,
    build_model,
    find_verilator,
    model_flags,
)
from spica.sim.engine.word_memories import with_whole_words
from spica.sim.machine.program_machine import CORES
from spica.sim.report.result import PASS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .timing import clocking, speed, timed

__all__ = ["measure", "tables"]

PRESET = "core"
KERNEL, SIZES = "sgemm", {"m": 64, "n": 64, "k": 64}
#: Changes of Verilator's command line, by title.
PASSES = {
    "as built": ("-Wno-style",),  # no effect, but a build of its own
    "-O1": ("-O1",),
    "-O0": ("-O0",),
    **{
        f"-fno-{name}": (f"-fno-{name}",)
        for name in (
            *("acyc-simp", "assemble", "case", "combine", "const", "const-before-dfg"),
            *("const-bit-op-tree", "const-eager", "dead-assigns", "dead-cells", "dedup", "dfg"),
            *("dfg-break-cycles", "dfg-peephole", "dfg-post-inline", "dfg-pre-inline"),
            *("dfg-push-down-sels", "dfg-scoped", "expand", "func-opt", "gate", "inline"),
            *("inline-funcs", "life", "life-post", "lift-expr", "localize", "merge-cond"),
            *("merge-cond-motion", "merge-const-pool", "reloop", "reorder", "slice", "split"),
            *("subst", "subst-const", "table", "var-split"),
        )
    },
}
LEVELS = (0, 1, 2)


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every part."""
    config = PRESETS[PRESET]
    emission = emit_cached(config, CORES["name"], tell, CORES["kind"], simulated=True)
    result: dict = {"preset": PRESET, "verilator": find_verilator().version, "passes": {}}
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as name:
        folder = Path(name)
        result["stages"] = stages(emission, folder)
        yield result
        result["files"] = files(folder, (2,) if quick else LEVELS, tell)
        yield result
    for title, flags in list(PASSES.items())[: 2 if quick else None]:
        tell(title, 0, 0)
        result["passes"][title] = one_pass(emission, flags)
        yield result


def verilog_of(emission: Emission) -> str:
    """Return the text that Verilator translates for a model in one piece."""
    return with_whole_words(emission.verilog) + driven_top(emission)


def verilate(emission: Emission, flags: Sequence[str], folder: Path) -> dict:
    """Translate an emission into C++ in a folder; return time and size."""
    verilator = find_verilator()
    with timed(RUSAGE_CHILDREN) as times:
        generate(
            verilator.program,
            verilator.root,
            PRESET,
            verilog_of(emission),
            [*VERILATE_FLAGS, *flags],
            folder,
            None,
        )
    size = sum(path.stat().st_size for path in folder.glob("*.cpp"))
    return {"processor_seconds": times.processor, "bytes": size}


def stages(emission: Emission, folder: Path) -> dict[str, float]:
    """Return the seconds of each stage of Verilator, the longest first; the C++ is in `folder`."""
    verilate(emission, ["--stats"], folder)
    text = (folder / "Vtop__stats.txt").read_text()
    found = re.findall(r"^ *Stage, Elapsed time \(sec\), \d+_(\S+) +([\d.]+)$", text, re.M)
    seconds = {stage: float(value) for stage, value in found}
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def files(folder: Path, levels: Sequence[int], tell: Progress) -> dict[str, dict]:
    """Return the size of each kind of C++ file, and the time to compile it at each level.

    Kinds are code that runs in every cycle and code that runs once.
    """
    compiler, sources = find_compiler(), sorted(folder.glob("Vtop*.cpp"))
    slow = [source for source in sources if "Slow" in source.name]
    kinds = {"every cycle": [each for each in sources if each not in slow], "once": slow}
    local = [*model_flags(find_verilator(), False), f"-I{folder}"]
    found: dict[str, dict] = {}
    for kind, members in kinds.items():
        size = sum(path.stat().st_size for path in members)
        found[kind] = {"files": len(members), "bytes": size, "processor_seconds": {}}
        for level in levels:
            flags = [*local, *compiler.flags(level)]
            with timed(RUSAGE_CHILDREN) as times:
                compile_all(compiler, [(path, path.with_suffix(".o"), flags) for path in members])
            label = " ".join(flag for flag in compiler.flags(level) if flag.startswith("-O"))
            found[kind]["processor_seconds"][label] = times.processor
            tell(f"{kind}, {label}", 0, 0)
    return found


def one_pass(emission: Emission, flags: Sequence[str]) -> dict:
    """Return times and sizes of a model built with other flags of Verilator, and its speed."""
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as folder:
        found = {"verilator": verilate(emission, flags, Path(folder))}
    options = SimtOptions(engine="verilator", lockstep=False, build="fast")
    builder = partial(build_model, flags=flags)
    rates = []
    with patch.object(engines, "build_model", builder):
        with timed(RUSAGE_CHILDREN) as times:
            run(options)
        for _ in range(3):
            with clocking() as clocked:
                cycles = run(options)
            rates.append(speed(cycles, clocked)["cycles_per_processor_second"])
    total = times.processor
    return found | {"build_processor_seconds": total, "cycles_per_processor_second": max(rates)}


def run(options: SimtOptions) -> int:
    """Run the kernel, which must pass; return its cycles."""
    workload = KernelWorkload(find_kernel(KERNEL), SIZES)
    result = run_workload(workload, PRESET, PRESETS[PRESET], options)
    if result["check"]["verdict"] != PASS:
        raise SystemExit(f"{KERNEL} must pass before its speed counts: {result['check']}")
    return result["run_cycles"]


def tables(result: dict) -> Iterator:
    """Yield the tables of the result."""
    table = new_table(f"Stages of Verilator, {result['preset']}", "stage", numbers=["seconds"])
    for stage, seconds in list(result["stages"].items())[:15]:
        table.add_row(stage, f"{seconds:.2f}")
    yield table
    levels = list(next(iter(result["files"].values()))["processor_seconds"])
    table = new_table("Compilation of the C++", "runs", numbers=["files", "MB", *levels])
    for kind, each in result["files"].items():
        seconds = (f"{each['processor_seconds'][level]:.1f}" for level in levels)
        table.add_row(kind, str(each["files"]), f"{each['bytes'] / 1e6:.1f}", *seconds)
    table.caption = "Processor seconds by level."
    yield table
    columns = ["Verilator, s", "C++, MB", "build, s", "cycles/s"]
    table = new_table("Passes of Verilator, one changed at a time", "change", numbers=columns)
    for title, each in result["passes"].items():
        table.add_row(
            title,
            f"{each['verilator']['processor_seconds']:.1f}",
            f"{each['verilator']['bytes'] / 1e6:.1f}",
            f"{each['build_processor_seconds']:.1f}",
            f"{each['cycles_per_processor_second']:,.0f}",
        )
    table.caption = "Processor seconds; the build is Verilator and the compiler."
    yield table
