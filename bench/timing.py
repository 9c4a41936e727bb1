"""Processor time beside wall-clock time, of this process and of those it starts."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from spica.cli.options import new_table

from .target import Target

__all__ = ["Times", "command", "emission_target", "process_table", "speed", "speed_table", "timed"]


@dataclass
class Times:
    """Wall-clock and processor seconds of a piece of work."""

    wall: float = 0.0
    processor: float = 0.0


@contextmanager
def timed(whose: int) -> Iterator[Times]:
    """Time a piece of work of this process, or of those it starts and waits for."""
    times = Times()
    before, started = resource.getrusage(whose), time.perf_counter()
    yield times
    after = resource.getrusage(whose)
    times.wall = time.perf_counter() - started
    times.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed(cycles: int, times: Times) -> dict:
    """Return a simulation's figures."""
    return {
        "cycles": cycles,
        "seconds": times.wall,
        "processor_seconds": times.processor,
        "cycles_per_second": cycles / times.wall,
        "cycles_per_processor_second": cycles / times.processor,
    }


def command(arguments: list[str], cache: str) -> tuple[dict, dict]:
    """Run Spica in a process of its own; return its times and the JSON it prints."""
    program = [sys.executable, "-m", "spica.cli", *arguments, "--json", "-"]
    with timed(resource.RUSAGE_CHILDREN) as times:
        done = subprocess.run(
            program,
            env=os.environ | {"SPICA_CACHE": cache},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed: {done.stderr}")
    figures = {"seconds": times.wall, "processor_seconds": times.processor}
    return figures, json.loads(done.stdout)


def emission_target(preset: str, seconds: float, times: Mapping[str, float]) -> Target:
    """Return that a preset's Verilog takes at most so many seconds.

    On a busy machine what elapses says little; processor time is never less than what would
    elapse on an idle one.
    """
    return Target(
        name=f"emission of {preset} from cold",
        value=min(times["seconds"], times["processor_seconds"]),
        limit=seconds,
        unit="s",
    )


def speed_table(title: str, figures: Mapping[str, dict], base: str):
    """Return the table of `speed` figures by name, as ratios to the one of name `base` too."""
    table = new_table(
        title, "what", numbers=["cycles", "seconds", "cycles/s", "cycles/processor s", f"to {base}"]
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
    """Return the table of the times of those processes of a result that have been run."""
    table = new_table("Once per design", "what", numbers=["seconds", "processor seconds"])
    for name, title in titles.items():
        if name in result:
            seconds = (result[name]["seconds"], result[name]["processor_seconds"])
            table.add_row(title, *(f"{value:.1f}" for value in seconds))
    return table
