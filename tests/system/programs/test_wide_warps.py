"""Tests of all functions of the runtime in warps of up to 32 threads."""

from dataclasses import replace
from pathlib import Path

import pytest

from spica.hw.config import PRESETS, ClusterConfig, CoreConfig
from support.programs.source_run import run_source

WIDE = Path(__file__).parents[2] / "support" / "c_programs" / "wide.c"


def cluster(warps: int, threads: int) -> ClusterConfig:
    return replace(PRESETS["core"], core=CoreConfig(warps=warps, threads=threads))


def printed(threads: int) -> str:
    """Return what every thread, all threads, some of them and the last one print."""
    last = threads - 1
    some = [lane for lane in range(threads) if lane % 2 or lane == last]
    return "".join([
        *(f"alone {lane}\n" for lane in range(threads)),
        *(f"all {lane} of {(1 << threads) - 1:x}\n" for lane in range(threads)),
        "some\n" * len(some),
        *(f"{lane:x}" for lane in some),
        "\n" * len(some),
        "1.50last|4\n",
    ])


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("optimize", [0, 3])
@pytest.mark.parametrize("shape", [(1, 32), (2, 31), (3, 1), (32, 32)])
@pytest.mark.quick(4)
def test_every_function_in_every_thread(shape, optimize, schedule):
    options = {"optimize": optimize, "schedule": schedule, "arguments": [1025], "exit_code": 77}
    iss, _ = run_source(WIDE, cluster(*shape), garbage=True, **options)
    assert iss.console.decode() == printed(shape[1])


@pytest.mark.parametrize("tasks", [1 << 31, (1 << 31) + 1, (1 << 32) - 1])
@pytest.mark.parametrize("shape", [(1, 1), (1, 32), (32, 32)])
@pytest.mark.quick(3)
def test_the_largest_numbers_of_tasks_start(shape, tasks):
    run_source(WIDE, cluster(*shape), arguments=[tasks], exit_code=99)
