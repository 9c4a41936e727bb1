"""Tests of the instruction-set model against threads that run alone: random SIMT programs."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from spica.hw.config import PRESETS, CoreConfig
from spica.hw.isa.memory_map import ENTRY
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.oracle.simt_thread import Thread, run_threads
from support.programs.simt import INPUT, OWN, OWN_BYTES, simt_program

#: Cores, warps, threads: the smallest, odd ones, wide ones.
SHAPES = ((1, 1, 1), (1, 1, 8), (1, 4, 4), (2, 2, 4), (1, 3, 5), (3, 2, 2), (1, 1, 32), (2, 4, 8))


def machine_of(shape, scope="cluster", divergent_branch="error"):
    cores, warps, threads = shape
    core = CoreConfig(warps=warps, threads=threads, divergent_branch=divergent_branch)
    return replace(PRESETS["tiny"], cores=cores, core=core, barrier_scope=scope, units=())


def threads_of(program, config, memory):
    """Return every thread of a machine, with the control registers it sees."""
    found = []
    places = product(range(config.cores), range(config.core.warps), range(config.core.threads))
    for core, warp, lane in places:
        hart = (core << config.core.warp_width | warp) << config.core.thread_width | lane
        csrs = {
            **{"thread_id": lane, "warp_id": warp, "core_id": core, "mhartid": hart},
            **{"num_warps": config.core.warps, "num_threads": config.core.threads},
            **{"num_cores": config.cores, "thread_mask": 0},
        }
        found.append(Thread(list(program.program), memory, program.memory[0], csrs))
    return found


def expected_memory(program, config):
    """Return memory after each thread ran alone, and the threads."""
    start, size = program.memory
    memory = bytearray(size)
    memory[INPUT - start : INPUT - start + len(program.inputs)] = program.inputs
    threads = threads_of(program, config, memory)
    run_threads(threads)
    return np.frombuffer(memory, np.uint8), threads


def run_on(iss, program):
    """Run a program on the model; return the outcome and memory."""
    start, size = program.memory
    iss.allow(ENTRY, len(program.program.data))
    iss.allow(start, size)
    iss.write(start, bytes(size))
    iss.write(ENTRY, program.program.data)
    iss.write(INPUT, program.inputs)
    iss.reset()
    outcome = iss.run(5_000_000)
    return outcome, np.asarray(iss.read(start, size))


def thread_instructions(config, threads):
    """Return the instructions of active lanes; at first only lanes 0, or one lane, run."""
    count = len(threads)
    alone = sum(thread.instructions for thread in threads)
    lanes_of_zero = config.cores * config.core.warps
    return alone - 4 * (count - config.cores) - 2 * (count - lanes_of_zero)


def check_program(seed, config, counts):
    """Run one program in both schedules; compare memory and the lanes' instructions."""
    program = simt_program(seed, config)
    expected, threads = expected_memory(program, config)
    for schedule in ("round_robin", "random"):
        iss = Iss(config, schedule=schedule, seed=seed)
        outcome, memory = run_on(iss, program)
        assert outcome.stop is StopReason.DONE, f"seed {seed}: {outcome}"
        wrong = np.flatnonzero(memory != expected)
        harts = sorted({(program.memory[0] + k - OWN) // OWN_BYTES for k in wrong.tolist()})
        assert not harts, f"seed {seed}, {config.core}: harts {harts}\n{program.text}"
        statistics = iss.statistics
        assert statistics.thread_instructions == thread_instructions(config, threads), seed
        for name in ("instructions", "divergent_splits", "barriers"):
            counts[name] += getattr(statistics, name)


def check(seeds, shapes, divergent_branch="error"):
    """Run programs on machines of every shape, with both barrier scopes; return the counts."""
    counts = Counter()
    for seed in seeds:
        scope = ("cluster", "core")[seed // len(shapes) % 2]
        check_program(seed, machine_of(shapes[seed % len(shapes)], scope, divergent_branch), counts)
    return counts


@pytest.mark.full
def test_each_thread_computes_what_it_computes_alone():
    counts = check(range(112), SHAPES)
    assert counts["instructions"] > 200_000
    assert counts["divergent_splits"] > 2000
    assert counts["barriers"] > 2000


def test_branches_that_agree_are_the_same_under_either_rule():
    counts = check(range(200, 216), SHAPES, "vortex")
    assert counts["divergent_splits"] > 300


@pytest.mark.slow
def test_thousands_of_random_programs():
    shapes = (*SHAPES, (4, 8, 8), (1, 32, 2), (4, 3, 31), (2, 7, 3))
    counts = check(range(1000, 2800), shapes)
    assert counts["divergent_splits"] > 100_000
