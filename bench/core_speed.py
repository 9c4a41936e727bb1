"""Benchmark of simulation, generation and build speed of the cores of `core`."""

import resource
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

from spica.hw.config import PRESETS
from spica.kernels.kernel import find_kernel
from spica.sim.engine.verilator_model import find_verilator
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.machine.program_outcome import ProgramOutcome
from spica.sim.report.result import PASS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .target import Target
from .timing import Times, command, emission_target, process_table, speed, speed_table, timed

__all__ = ["measure", "tables"]

PRESET = "core"
BUSY_CYCLES_PER_SECOND = 150_000
EMISSION_SECONDS = 10
KERNELS = {"sgemm": (64, 64, 64), "mandelbrot": (32, 32)}
#: Processes started one after the other, from an empty cache.
PROCESSES = {
    "emission": "Verilog from an empty cache",
    "build": "first run: model built, vecadd 64",
    "start_cached": "second run: model from the cache, vecadd 64",
}


class TimedMachine(ProgramMachine):
    """A machine that records the time of the simulation itself."""

    times = Times()

    def run(self, *arguments, **options) -> ProgramOutcome:
        with timed(resource.RUSAGE_SELF) as times:
            outcome = super().run(*arguments, **options)
        TimedMachine.times.wall += times.wall
        TimedMachine.times.processor += times.processor
        return outcome


def busy(name: str, lockstep: bool) -> dict:
    """Return the simulation speed while a kernel runs."""
    options = SimtOptions(engine="verilator", lockstep=lockstep)
    kernel = find_kernel(name)
    TimedMachine.times = Times()
    with patch("spica.sim.run.rtl_executor.ProgramMachine", TimedMachine):
        sizes = dict(zip(kernel.dimensions, KERNELS[name], strict=True))
        result = run_workload(KernelWorkload(kernel, sizes), PRESET, PRESETS[PRESET], options)
    if result["check"]["verdict"] != PASS:
        raise SystemExit(f"{name} must pass before its speed counts: {result['check']}")
    return speed(result["run_cycles"], TimedMachine.times) | {"lockstep": lockstep}


def processes(tell: Callable[[str, int, int], None]) -> Iterator[dict]:
    """Yield the times of emission, and of a first and second start, from an empty cache."""
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as name:
        folder = Path(name)
        figures: dict = {}
        cache = str(folder / "cache")
        tell(f"generating {PRESET} without cache", 0, 0)
        arguments = ["generate", PRESET, "-o", str(folder / "verilog")]
        figures["emission"], generated = command(arguments, cache)
        figures["emission"]["verilog_bytes"] = generated["files"][f"{PRESET}.v"]
        yield figures
        run = ["run", "vecadd", "--preset", PRESET, "--size", "64"]
        for kind in ("build", "start_cached"):
            tell(f"{kind.replace('_', ' ')} of {PRESET}", 0, 0)
            figures[kind], _ = command(run, cache)
            yield figures


def measure(quick: bool, tell: Callable[[str, int, int], None]) -> Iterator[dict]:
    """Yield the result after every part."""
    result: dict = {"preset": PRESET, "verilator": find_verilator().version, "speed": {}}
    tell("building the model", 0, 0)
    with ProgramMachine(PRESETS[PRESET], progress=tell):
        pass
    for name in ["sgemm"] if quick else KERNELS:
        for lockstep in (False, True):
            how = f"{name}{', in lockstep' if lockstep else ''}"
            tell(how, 0, 0)
            result["speed"][how] = busy(name, lockstep)
            yield result | {"targets": targets(result)}
    if quick:
        return
    for figures in processes(tell):
        result |= figures
        yield result | {"targets": targets(result)}


def targets(result: dict) -> list[dict]:
    """Return the targets."""
    found = [
        Target(
            name=f"simulated cycles of {PRESET} per processor second, {how}",
            value=figures["cycles_per_processor_second"],
            limit=BUSY_CYCLES_PER_SECOND,
            at_least=True,
        )
        for how, figures in result["speed"].items()
        if not figures["lockstep"]
    ]
    if "emission" in result:
        found.append(emission_target(PRESET, EMISSION_SECONDS, result["emission"]))
    return [target.as_dict() for target in found]


def tables(result: dict) -> Iterator:
    """Yield the tables of the result."""
    yield speed_table(f"Simulation of {result['preset']}", result["speed"], "sgemm")
    yield process_table(result, PROCESSES)
