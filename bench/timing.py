"""Processor time and wall-clock time of this process or its children."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.base.zig import zig_environment
from spica.sim.machine.machine import Machine

from .target import Target

__all__ = [
    "Times",
    "clocking",
    "command",
    "emission_target",
    "process_table",
    "processes",
    "speed",
    "speed_table",
    "timed",
]


@dataclass
class Times:
    """Wall-clock and processor seconds of a piece of work."""

    wall: float = 0.0
    processor: float = 0.0


@contextmanager
def timed(whose: int) -> Iterator[Times]:
    """Measure the time of work in this process, or in child processes it waits for."""
    times = Times()
    before, started = resource.getrusage(whose), time.perf_counter()
    yield times
    after = resource.getrusage(whose)
    times.wall = time.perf_counter() - started
    times.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def clocking() -> Iterator[Times]:
    """Measure the time in which machines simulate their designs."""
    times, clock = Times(), Machine.clock

    def measured(machine: Machine) -> None:
        with timed(resource.RUSAGE_SELF) as part:
            clock(machine)
        times.wall += part.wall
        times.processor += part.processor

    with patch.object(Machine, "clock", measured):
        yield times


def speed(cycles: int, times: Times) -> dict:
    """Return the speed figures of a simulation."""
    return {
        "cycles": cycles,
        "seconds": times.wall,
        "processor_seconds": times.processor,
        "cycles_per_second": cycles / times.wall,
        "cycles_per_processor_second": cycles / times.processor,
    }


def command(arguments: list[str], cache: str) -> tuple[dict, dict]:
    """Run Spica in a separate process; return its times and its JSON output."""
    program = [sys.executable, "-m", "spica.cli", *arguments, "--json", "-"]
    with timed(resource.RUSAGE_CHILDREN) as times:
        done = subprocess.run(
            program,
            env=zig_environment() | {"SPICA_CACHE": cache},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed: {done.stderr}")
    figures = {"seconds": times.wall, "processor_seconds": times.processor}
    return figures, json.loads(done.stdout)


def processes(
    preset: str, titles: Mapping[str, str], run: Sequence[str], tell: Progress
) -> Iterator[dict]:
    """Yield the times of processes started one after the other, from an empty cache.

    Parameters
    ----------
    preset : str
        Name of the machine.
    titles : mapping
        Titles of the processes by name; those named ``emission…`` generate Verilog, others run.
    run : sequence of str
        Kernel and size to run.
    tell : callable
        Progress callback.

    """
    figures: dict = {}
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as folder:
        for name, title in titles.items():
            tell(title, 0, 0)
            arguments = ["run", *run, "--preset", preset]
            if name.startswith("emission"):
                arguments = ["generate", preset, "-o", f"{folder}/verilog"]
            figures[name], found = command(arguments, f"{folder}/cache")
            if name == "emission":
                verilog_bytes = found["files"][f"{preset}.v"]
                figures[name] |= {"modules": found["modules"], "verilog_bytes": verilog_bytes}
            yield figures


def emission_target(preset: str, seconds: float, times: Mapping[str, float]) -> Target:
    """Return the target of a preset's emission time in seconds.

    On a busy host the wall-clock time says little. Processor time is at least the wall-clock time
    on an idle host.
    """
    return Target(
        name=f"emission of {preset} without cache",
        value=min(times["seconds"], times["processor_seconds"]),
        limit=seconds,
        unit="s",
    )


def speed_table(title: str, figures: Mapping[str, dict], base: str):
    """Return the table of `speed` figures by name, with their ratio to the one named `base`."""
    table = new_table(
        title, "case", numbers=["cycles", "seconds", "cycles/s", "cycles/processor s", f"to {base}"]
    )
    unit = figures[base]["cycles_per_processor_second"]
    for name, each in figures.items():
        table.add_row(
            name,
            f"{each['cycles']:,}",
            f"{each['seconds']:.1f}",
            f"{each['cycles_per_second']:,.0f}",
            f"{each['cycles_per_processor_second']:,.0f}",
            f"{each['cycles_per_processor_second'] / unit:.2f}",
        )
    return table


def process_table(result: dict, titles: Mapping[str, str]):
    """Return the table of process times in a result."""
    table = new_table("Once per design", "step", numbers=["seconds", "processor seconds"])
    for name, title in titles.items():
        if name in result:
            seconds = (result[name]["seconds"], result[name]["processor_seconds"])
            table.add_row(title, *(f"{value:.1f}" for value in seconds))
    return table
