"""Benchmark of simulation, generation and build speed of the cores of `core`."""

from collections.abc import Iterator

from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.kernels.kernel import find_kernel
from spica.sim.engine.verilator_model import find_verilator
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.report.result import PASS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .target import Target
from .timing import clocking, emission_target, process_table, processes, speed, speed_table

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


def busy(name: str, lockstep: bool) -> dict:
    """Return the simulation speed while a kernel runs."""
    options = SimtOptions(engine="verilator", lockstep=lockstep, build="fast")
    kernel = find_kernel(name)
    sizes = dict(zip(kernel.dimensions, KERNELS[name], strict=True))
    with clocking() as times:
        result = run_workload(KernelWorkload(kernel, sizes), PRESET, PRESETS[PRESET], options)
    if result["check"]["verdict"] != PASS:
        raise SystemExit(f"{name} must pass before its speed counts: {result['check']}")
    return speed(result["run_cycles"], times) | {"lockstep": lockstep}


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
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
    for figures in processes(PRESET, PROCESSES, ["vecadd", "--size", "64"], tell):
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
