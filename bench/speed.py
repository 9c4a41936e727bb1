"""Benchmark of simulation, generation and build speed of `matrix`."""

from collections.abc import Iterator

from spica.hw.base.compiler import find_compiler
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.hw.isa.memory_map import CONTROL, CONTROL_BASE
from spica.kernels.commands import CommandList
from spica.sim.engine.verilator_model import find_verilator
from spica.sim.engine.versions import versions
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.run.product_run import run_gemm
from spica.sim.run.product_workload import pose

from .target import Target
from .timing import clocking, emission_target, process_table, processes, speed, speed_table

__all__ = ["measure", "tables"]

PRESET = "matrix"
BUSY_CYCLES_PER_SECOND = 60_000
EMISSION_SECONDS = 10
IDLE_CYCLES = {"gated": 2_000_000, "ungated": 200_000}
#: Processes started one after the other, from an empty cache.
PROCESSES = {
    "emission": "Verilog from an empty cache",
    "emission_cached": "Verilog again",
    "build": "first run: model built, gemm 16",
    "start_cached": "second run: model from the cache, gemm 16",
}


def busy(size: int, gating: str) -> dict:
    """Return the simulation speed during gemm."""
    config = PRESETS[PRESET]
    problem, _ = pose(config, size, size, size)
    with CommandMachine(config, name=PRESET, gating=gating) as machine, clocking() as times:
        run = run_gemm(machine, config, problem)
        if not run.found.passed:
            raise SystemExit(f"gemm {size} must pass before its speed counts: {run.found}")
        figures = speed(run.execution.cycles, times)
    return figures | {"clocked": run.execution.clocked, "size": size}


def idle(cycles: int, gating: str) -> dict:
    """Return the simulation speed of an idle machine, between two accesses of a slow host."""
    commands = CommandList()
    commands.read(CONTROL_BASE + CONTROL["status"].offset)
    commands.read(CONTROL_BASE + CONTROL["status"].offset)
    slow = {"access_cycles": cycles, "watchdog": 2 * cycles}
    with (
        CommandMachine(PRESETS[PRESET], name=PRESET, gating=gating, **slow) as machine,
        clocking() as times,
    ):
        execution = machine.execute(commands.array())
        return speed(execution.cycles, times) | {"clocked": execution.clocked}


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every part."""
    size = 64 if quick else 512
    compiler, verilator = find_compiler(), find_verilator()
    result: dict = {
        "preset": PRESET,
        "compiler": f"{compiler.version} ({' '.join(compiler.command)})",
        "verilator": verilator.version,
        "versions": versions(),
        "speed": {},
    }
    tell("building the model", 0, 0)
    with CommandMachine(PRESETS[PRESET], name=PRESET, progress=tell):
        pass
    for gating in ("gated", "ungated"):
        tell(f"gemm {size}, {gating}", 0, 0)
        result["speed"][f"busy, {gating}"] = busy(size, gating)
        tell(f"idle, {gating}", 0, 0)
        result["speed"][f"idle, {gating}"] = idle(IDLE_CYCLES[gating], gating)
        yield result | {"targets": targets(result)}
    titles = dict(list(PROCESSES.items())[:2]) if quick else PROCESSES
    for figures in processes(PRESET, titles, ["gemm", "--size", "16"], tell):
        result |= figures
        yield result | {"targets": targets(result)}


def targets(result: dict) -> list[dict]:
    """Return the targets by processor time, which other work on the host affects less."""
    found = [
        Target(
            name=f"simulated cycles of {PRESET} per processor second, busy",
            value=result["speed"]["busy, gated"]["cycles_per_processor_second"],
            limit=BUSY_CYCLES_PER_SECOND,
            at_least=True,
        )
    ]
    if "emission" in result:
        found.append(emission_target(PRESET, EMISSION_SECONDS, result["emission"]))
    return [target.as_dict() for target in found]


def tables(result: dict) -> Iterator:
    """Yield the tables of the result."""
    title = f"Simulation of {result['preset']}, {result['compiler']}"
    yield speed_table(title, result["speed"], "busy, gated")
    yield process_table(result, PROCESSES)
    if "emission" in result:
        figures = result["emission"]
        yield f"{figures['modules']} distinct blocks, {figures['verilog_bytes']:,} bytes of Verilog"
