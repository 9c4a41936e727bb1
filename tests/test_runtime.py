"""Start-up, launches, barriers, text and C++ of programs, run on the instruction-set model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spica.hw.address_map import (
    ARGUMENTS,
    COUNTER_DUMP,
    COUNTER_DUMP_BYTES,
    STACK_BYTES,
    STACK_TOP,
)
from spica.hw.config import PRESETS, ClusterConfig, CoreConfig
from spica.kernels.compile import compile_program
from spica.kernels.program import Program
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Outcome, Stop

PROGRAMS = Path(__file__).with_name("programs")
#: Where tests place data: nothing else is there.
DATA = 0x9000_0000
BASE = replace(PRESETS["core"], barriers=4)

SHAPES = [
    *[(1, 1, 1), (1, 1, 4), (1, 4, 1), (1, 8, 8), (1, 32, 32), (1, 3, 5), (1, 5, 31), (1, 2, 17)],
    *[(2, 4, 4), (2, 1, 1), (3, 7, 3), (4, 8, 8), (5, 2, 6), (8, 32, 32), (8, 1, 3)],
]
#: Of the shapes, those for what takes longer.
FEW_SHAPES = [(1, 1, 1), (1, 8, 8), (3, 7, 3), (4, 2, 32), (8, 3, 5)]


def cluster(cores: int, warps: int, threads: int, scope: str = "cluster") -> ClusterConfig:
    core = CoreConfig(warps=warps, threads=threads)
    return replace(BASE, cores=cores, core=core, barrier_scope=scope)


def run(
    name: str,
    config: ClusterConfig,
    words: list[int] | None = None,
    data: bytes = b"",
    schedule: str = "in_turn",
    optimize: int = 3,
    garbage: bool = False,
) -> tuple[Iss, Outcome]:
    """Run a program of the folder, its arguments and data placed."""
    path = compile_program([PROGRAMS / name], config, optimize=optimize)
    program = Program.load(path)
    iss = Iss(config, schedule=schedule)
    for address, contents in program.segments:
        iss.write(address, contents)
    if garbage:
        start, end = program.bss.start, program.end
        iss.write(start, b"\xa5" * (end - start + 64))
    iss.write(ARGUMENTS, np.array(words or [0], np.uint32).tobytes())
    if data:
        iss.write(DATA, data)
    iss.reset(program.entry)
    return iss, iss.run()


def require_done(outcome: Outcome, exit_code: int = 0):
    assert outcome.stop is Stop.DONE, outcome.fault.sentence if outcome.fault else outcome
    assert outcome.exit_code == exit_code


def words(iss: Iss, address: int, count: int) -> np.ndarray:
    return iss.read(address, 4 * count).view(np.uint32)


# Start-up


@pytest.mark.parametrize("schedule", ["in_turn", "random"])
@pytest.mark.parametrize("shape", SHAPES)
def test_start_up(shape, schedule):
    cores, warps, threads = shape
    config = cluster(*shape)
    assert config.core is not None
    total = cores * warps * threads
    mains, sums = DATA + 32 * total, DATA + 32 * total + 32 * cores
    # Cores end with different codes: the first that is not 0 counts.
    iss, outcome = run("startup.c", config, [DATA, mains, sums], schedule=schedule, garbage=True)
    require_done(outcome, exit_code=40)

    found = words(iss, DATA, 8 * total).reshape(cores, warps, threads, 8)
    core, warp, thread = np.indices((cores, warps, threads))
    width = config.core.thread_width
    hart = core << (width + config.core.warp_width) | warp << width | thread
    assert np.array_equal(found[..., 0], hart)
    assert np.array_equal(found[..., 1], core)
    assert np.array_equal(found[..., 2], warp)
    assert np.array_equal(found[..., 3], thread)
    assert np.array_equal(found[..., 6], np.full_like(hart, (1 << threads) - 1))
    assert np.array_equal(found[..., 7], np.ones_like(hart)), "each thread runs once"
    # Every thread in its own stack, and all but main's at its top; gp is the same everywhere.
    top = STACK_TOP - hart * STACK_BYTES
    of_main = (warp == 0) & (thread == 0)
    assert np.array_equal(found[..., 4][~of_main], top[~of_main])
    assert np.all((found[..., 4] <= top) & (found[..., 4] > top - 256))
    assert len(np.unique(found[..., 5])) == 1

    in_main = words(iss, mains, 8 * cores).reshape(cores, 8)
    assert in_main[:, 1].tolist() == list(range(cores))
    assert np.all(in_main[:, [2, 3]] == 0)
    assert np.all(in_main[:, [6, 7]] == 1), "thread 0 alone, once"
    assert not words(iss, sums, cores).any(), "variables that start as zero, and one as 5"


@pytest.mark.parametrize("scope", ["cluster", "core"])
@pytest.mark.parametrize("optimize", [0, 2])
def test_start_up_with_either_kind_of_barrier(scope, optimize):
    config = cluster(3, 2, 3, scope)
    mains, sums = DATA + 0x1000, DATA + 0x2000
    for schedule in ("in_turn", "random"):
        iss, outcome = run(
            "startup.c", config, [DATA, mains, sums], b"", schedule, optimize, garbage=True
        )
        require_done(outcome, exit_code=40)
        assert not words(iss, sums, 3).any()


def test_counters_are_stored_at_the_end():
    iss, outcome = run("barriers.c", cluster(2, 2, 2), [1, DATA, DATA + 64])
    require_done(outcome)
    for core in range(2):
        dump = words(iss, COUNTER_DUMP + core * COUNTER_DUMP_BYTES, 64)
        cycles, retired = dump[0], dump[2]
        assert 100 < cycles <= retired < outcome.instructions
        assert not dump[3:].any()  # the model counts nothing else


# Launches


def task_counts(threads: int) -> list[int]:
    return sorted({0, 1, 2, threads - 1, threads, threads + 1, 3 * threads + 2, 200, 1000})


@pytest.mark.parametrize("schedule", ["in_turn", "random"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_task_runs_once(shape, schedule):
    for tasks in task_counts(shape[2]):
        elements, lanes = DATA, DATA + 0x10000
        iss, outcome = run(
            "launches.c", cluster(*shape), [0, tasks, elements, lanes, 0], schedule=schedule
        )
        require_done(outcome)
        found = words(iss, elements, tasks + 64)
        assert found[:tasks].tolist() == list(range(1, tasks + 1))
        assert not found[tasks:].any()
        harts = words(iss, lanes, tasks)
        threads = shape[2]
        # Consecutive tasks in consecutive threads of a warp, then the next core.
        for first in range(0, tasks, threads):
            block = harts[first : first + threads]
            assert np.array_equal(block, block[0] + np.arange(len(block)))
        width = cluster(*shape).core.thread_width + cluster(*shape).core.warp_width
        assert np.array_equal(harts >> width, np.arange(tasks) // threads % shape[0])


@pytest.mark.parametrize("optimize", [0, 2, 3])
def test_launches_follow_each_other(optimize):
    elements, lanes = DATA, DATA + 0x10000
    for tasks in (1, 37):
        iss, outcome = run(
            "launches.c", cluster(2, 3, 4), [1, tasks, elements, lanes, 0], optimize=optimize
        )
        require_done(outcome)
        assert words(iss, elements, tasks).tolist() == [2 * k + 2 for k in range(tasks)]


@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_groups_run_once_each(shape):
    for width in (1, 5, 40):
        iss, outcome = run("launches.c", cluster(*shape), [2, width, DATA, 0, 0])
        require_done(outcome)
        z, y, x = np.indices((2, 3, width))
        expected = ((z << 20 | y << 10 | x) + 1).reshape(-1)
        assert np.array_equal(words(iss, DATA, 6 * width), expected)


def test_threads_one_after_the_other():
    for threads in (1, 5, 32):
        iss, outcome = run("launches.c", cluster(1, 2, threads), [3, 0, 0, 0, DATA])
        require_done(outcome)
        expected = 0
        for thread in range(threads):
            expected = expected * 3 + thread & 0xFFFF_FFFF
        assert words(iss, DATA, 1)[0] == expected


@pytest.mark.parametrize("tasks", [1, 100])
@pytest.mark.parametrize(("kind", "exit_code"), [(4, 121), (5, 77), (6, 55), (7, 134)])
def test_programs_that_leave_early(kind, exit_code, tasks):
    """A launch in a launch, exit in a task, in main, and abort."""
    for shape in ((1, 1, 1), (2, 4, 4)):
        words_ = [kind, tasks, DATA, DATA + 0x1000, 0]
        for schedule in ("in_turn", "random"):
            _, outcome = run("launches.c", cluster(*shape), words_, schedule=schedule)
            require_done(outcome, exit_code)


@pytest.mark.parametrize("scope", ["cluster", "core"])
@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_barriers_of_all_threads(shape, scope):
    total, rounds = int(np.prod(shape)), 5
    start = np.arange(total, dtype=np.uint32) * 1000
    other = DATA + 0x10000
    for schedule in ("in_turn", "random"):
        config = cluster(*shape, scope)
        iss, outcome = run("barriers.c", config, [rounds, DATA, other], start.tobytes(), schedule)
        require_done(outcome)
        expected = np.roll(start, -rounds) + rounds
        assert np.array_equal(words(iss, other if rounds % 2 else DATA, total), expected)


# Text


PRINTED = r"""start
-42|   42|42   |-0042|+42| 42|-2147483648
4000000000|beef|BEEF|0xff|00001234|007|%|z|    y|x  |
text|   right|left    |cu|(null)|0x1000
-1234567890123456789|12345678901234567890|123456789abcdef|-1|1|7|9
3.141593|2|-0.001| 1000.00|0.2     |-001.500|+9.9|3.
nan|-inf|INF|100000000000000000000.000000|340282346638528859811704183484516925440.0|0.0000000001
     1|2   |2.000|0.000000000|0|2
task 0 of three: -1.50
task 1 of three: -0.75
task 2 of three: 0.00
abc
1234
"""


@pytest.mark.parametrize("optimize", [0, 2, 3])
def test_text_on_the_console(optimize):
    iss, outcome = run("printing.c", PRESETS["tiny"], optimize=optimize)
    require_done(outcome)
    assert iss.console.decode() == PRINTED


# C++


@pytest.mark.parametrize("optimize", [0, 2, 3])
def test_classes_templates_and_constructors(optimize):
    x = np.linspace(-3, 3, 77, dtype=np.float32)
    result, constructed = DATA + 0x1000, DATA + 0x2000
    iss, outcome = run(
        "classes.cpp",
        cluster(2, 2, 8),
        [len(x), DATA, result, constructed],
        x.tobytes(),
        optimize=optimize,
    )
    require_done(outcome)
    assert words(iss, constructed, 2).tolist() == [2 * 1234 + 42] * 2
    exact = 1 - 2 * x.astype(np.float64) + 0.5 * x.astype(np.float64) ** 2 + 4.0 * x**3
    found = words(iss, result, len(x)).view(np.float32)
    # Three multiply-adds, each rounded; the largest term is 4 * 27.
    assert np.max(np.abs(found - exact)) <= 3 * 2.0**-24 * 128


# Vortex


@pytest.mark.parametrize("optimize", [2, 3])
def test_program_in_the_manner_of_vortex(optimize):
    rng = np.random.default_rng(4)
    count = 77
    data = rng.integers(0, 1 << 30, (2, count), np.uint32)
    arguments = [count, DATA, DATA + 4 * count, DATA + 0x1000]
    iss, outcome = run("vortex.cpp", cluster(2, 2, 4), arguments, data.tobytes(), optimize=optimize)
    require_done(outcome)
    assert np.array_equal(words(iss, DATA + 0x1000, count), data[0] + data[1])
    assert iss.console[:9] == b"-7ff1.50\n"
    # Two warps at a time: each prints the numbers of its threads from 2 on.
    assert sorted(iss.console[9:].decode().replace(" ", "")) == ["2", "2", "3", "3"]
