"""Tests of start-up, launches and barriers of programs, on the instruction-set model."""

import numpy as np
import pytest

from spica.hw.config import MachineConfig
from spica.hw.isa.memory_map import COUNTER_DUMP, COUNTER_DUMP_BYTES, STACK_BYTES, STACK_TOP
from spica.kernels.header import EXIT_CODES
from support.programs import source_run
from support.programs.source_run import PROGRAMS, loaded, read_words, require_done, run_named

#: Address of test data, otherwise unused.
DATA = 0x9000_0000
NESTED, ABORT = EXIT_CODES["nested"][0], EXIT_CODES["abort"][0]

SHAPES = [
    (32, 2, 2),
    *[(1, 1, 1), (1, 1, 4), (1, 4, 1), (1, 8, 8), (1, 32, 32), (1, 3, 5), (1, 5, 31), (1, 2, 17)],
    *[(2, 4, 4), (2, 1, 1), (3, 7, 3), (4, 8, 8), (5, 2, 6), (8, 32, 32), (8, 1, 3)],
]
#: Shapes for slow tests.
FEW_SHAPES = [(1, 1, 1), (1, 8, 8), (3, 7, 3), (4, 2, 32), (8, 3, 5)]


def cluster(cores: int, warps: int, threads: int, scope: str = "cluster") -> MachineConfig:
    return source_run.cluster(cores, warps, threads, barriers=4, barrier_scope=scope)


# Start-up


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(2)
def test_start_up(shape, schedule):
    cores, warps, threads = shape
    config = cluster(*shape)
    assert config.core is not None
    total = cores * warps * threads
    mains, sums = DATA + 32 * total, DATA + 32 * total + 32 * cores
    # Cores end with different codes: the first non-zero one counts.
    iss, _ = run_named(
        "startup.c", config, [DATA, mains, sums], schedule=schedule, garbage=True, exit_code=40
    )

    words = read_words(iss, DATA, 8 * total).reshape(cores, warps, threads, 8)
    core, warp, thread = np.indices((cores, warps, threads))
    width = config.core.thread_width
    hart = core << (width + config.core.warp_width) | warp << width | thread
    assert np.array_equal(words[..., 0], hart)
    assert np.array_equal(words[..., 1], core)
    assert np.array_equal(words[..., 2], warp)
    assert np.array_equal(words[..., 3], thread)
    assert np.array_equal(words[..., 6], np.full_like(hart, (1 << threads) - 1))
    assert np.array_equal(words[..., 7], np.ones_like(hart)), "each thread runs once"
    # Every thread has its own stack, all except main at its top; gp is the same everywhere.
    top = STACK_TOP - hart * STACK_BYTES
    of_main = (warp == 0) & (thread == 0)
    assert np.array_equal(words[..., 4][~of_main], top[~of_main])
    assert np.all((words[..., 4] <= top) & (words[..., 4] > top - 256))
    assert len(np.unique(words[..., 5])) == 1

    in_main = read_words(iss, mains, 8 * cores).reshape(cores, 8)
    assert in_main[:, 1].tolist() == list(range(cores))
    assert np.all(in_main[:, [2, 3]] == 0)
    assert np.all(in_main[:, [6, 7]] == 1), "thread 0 alone, once"
    assert not read_words(iss, sums, cores).any(), "variables that start as zero, and one as 5"


@pytest.mark.parametrize("scope", ["cluster", "core"])
@pytest.mark.parametrize("optimize", [0, 2])
@pytest.mark.quick(1)
def test_start_up_with_either_kind_of_barrier(scope, optimize):
    config = cluster(3, 2, 3, scope)
    mains, sums = DATA + 0x1000, DATA + 0x2000
    options = {"optimize": optimize, "garbage": True, "exit_code": 40}
    for schedule in ("round_robin", "random"):
        iss, _ = run_named("startup.c", config, [DATA, mains, sums], schedule=schedule, **options)
        assert not read_words(iss, sums, 3).any()


def test_main_waits_for_the_registers_of_all_warps():
    """Warp 0 alone stays in the wait, however long the others take."""
    source, arguments = PROGRAMS / "launches.c", [0, 20, DATA, DATA + 0x1000, 0]
    program, iss = loaded(source, cluster(1, 4, 4), arguments=arguments)
    for _ in range(500):
        iss.step(0, 0)
    assert program.function_of(iss.warp(0, 0).pc) == "_start"
    require_done(iss.run())
    assert read_words(iss, DATA, 20).tolist() == list(range(1, 21))


def test_counters_are_stored_at_the_end():
    iss, outcome = run_named("barriers.c", cluster(2, 2, 2), [1, DATA, DATA + 64])
    for core in range(2):
        dump = read_words(iss, COUNTER_DUMP + core * COUNTER_DUMP_BYTES, 64)
        cycles, retired = dump[0], dump[2]
        assert 100 < cycles <= retired < outcome.instructions
        assert not dump[3:].any()  # the model counts nothing else


# Launches


LANES = DATA + 0x10000


def task_counts(threads: int) -> list[int]:
    return sorted({0, 1, 2, threads - 1, threads, threads + 1, 3 * threads + 2, 200, 1000})


def launched(kind, tasks, shape, kept_at=0, **options):
    """Return the model after launches of ``launches.c``, which write to `DATA` and `LANES`."""
    return run_named("launches.c", cluster(*shape), [kind, tasks, DATA, LANES, kept_at], **options)[
        0
    ]


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(1)
def test_every_task_runs_once(shape, schedule):
    for tasks in task_counts(shape[2]):
        iss = launched(0, tasks, shape, schedule=schedule)
        words = read_words(iss, DATA, tasks + 64)
        assert words[:tasks].tolist() == list(range(1, tasks + 1))
        assert not words[tasks:].any()
        harts = read_words(iss, LANES, tasks)
        threads = shape[2]
        # Consecutive tasks are in consecutive threads of a warp, then in the next core.
        for first in range(0, tasks, threads):
            block = harts[first : first + threads]
            assert np.array_equal(block, block[0] + np.arange(len(block)))
        width = cluster(*shape).core.thread_width + cluster(*shape).core.warp_width
        assert np.array_equal(harts >> width, np.arange(tasks) // threads % shape[0])


@pytest.mark.parametrize("optimize", [0, 2, 3])
@pytest.mark.quick(1)
def test_launches_follow_each_other(optimize):
    for tasks in (1, 37):
        iss = launched(1, tasks, (2, 3, 4), optimize=optimize)
        assert read_words(iss, DATA, tasks).tolist() == [2 * k + 2 for k in range(tasks)]


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[0] == 1])
@pytest.mark.quick(1)
def test_launches_end_when_their_tasks_have(shape, schedule):
    for tasks in task_counts(shape[2]):
        iss = launched(8, tasks, shape, schedule=schedule)
        assert read_words(iss, DATA, tasks).tolist() == [2 * k + 2 for k in range(tasks)]


@pytest.mark.parametrize("shape", FEW_SHAPES)
@pytest.mark.quick(1)
def test_launches_keep_registers(shape):
    kept_at = DATA + 0x20000
    iss = launched(9, 100, shape, kept_at)
    assert read_words(iss, kept_at, 11).tolist() == list(range(1000, 1011))


@pytest.mark.parametrize("shape", FEW_SHAPES)
@pytest.mark.quick(1)
def test_groups_run_once_each(shape):
    for width in (1, 5, 40):
        iss, _ = run_named("launches.c", cluster(*shape), [2, width, DATA, 0, 0])
        z, y, x = np.indices((2, 3, width))
        expected = ((z << 20 | y << 10 | x) + 1).reshape(-1)
        assert np.array_equal(read_words(iss, DATA, 6 * width), expected)


def test_threads_one_after_the_other():
    for threads in (1, 5, 32):
        iss, _ = run_named("launches.c", cluster(1, 2, threads), [3, 0, 0, 0, DATA])
        expected = 0
        for thread in range(threads):
            expected = expected * 3 + thread & 0xFFFF_FFFF
        assert read_words(iss, DATA, 1)[0] == expected


@pytest.mark.parametrize("tasks", [1, 100])
@pytest.mark.parametrize(
    ("kind", "exit_code"), [(4, NESTED), (5, 77), (6, 55), (7, ABORT), (10, NESTED)]
)
@pytest.mark.quick(1)
def test_programs_that_leave_early(kind, exit_code, tasks):
    """A launch in a launch or in a parallel block, exit in a task, in main, and abort."""
    for shape in ((1, 1, 2), (2, 4, 4)) if kind == 10 else ((1, 1, 1), (2, 4, 4)):
        words_ = [kind, tasks, DATA, DATA + 0x1000, 0]
        for schedule in ("round_robin", "random"):
            run_named("launches.c", cluster(*shape), words_, schedule=schedule, exit_code=exit_code)


@pytest.mark.parametrize("scope", ["cluster", "core"])
@pytest.mark.parametrize("shape", FEW_SHAPES)
@pytest.mark.quick(2)
def test_barriers_of_all_threads(shape, scope):
    total, rounds = int(np.prod(shape)), 5
    start = np.arange(total, dtype=np.uint32) * 1000
    other = DATA + 0x10000
    for schedule in ("round_robin", "random"):
        config = cluster(*shape, scope)
        iss, _ = run_named(
            "barriers.c", config, [rounds, DATA, other], data={DATA: start}, schedule=schedule
        )
        expected = np.roll(start, -rounds) + rounds
        assert np.array_equal(read_words(iss, other if rounds % 2 else DATA, total), expected)
