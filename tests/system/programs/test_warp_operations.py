"""Tests of votes and shuffles in programs: every operation against the golden model.

In a machine without them, programs do not compile.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from spica.api.machine import Machine
from spica.base.errors import MachineError, UserError
from spica.hw.config import MachineConfig
from spica.hw.isa.operations import EXCHANGES
from spica.hw.isa.operations import IntegerOperation as Op
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.sim.golden.core.units.exchange import exchange
from support.core.selectors import selector, selectors
from support.programs.source_run import PROGRAMS, cluster, read_words, run_source

SHUFFLES = (Op.SHFL_UP, Op.SHFL_DOWN, Op.SHFL_BFLY, Op.SHFL_IDX)
#: Operations of `warp.c`; the last are those of float registers.
OPERATIONS = (*EXCHANGES, *SHUFFLES)
UNWRITTEN = 0xA5A5_A5A5


def cases_of(threads: int, count: int, seed: int) -> tuple[np.ndarray, ...]:
    """Return random masks, sources and selectors; of few threads every mask, if there is room."""
    rng, values = random.Random(seed), np.random.default_rng(seed)
    masks = [rng.randrange(1, 1 << threads) for _ in range(count)]
    every = range(1, min(count + 1, 1 << threads))
    masks[: len(every)] = every if threads <= 4 else masks[: len(every)]
    sources = values.integers(0, 1 << 32, (count, threads), dtype=np.uint32)
    sources[::3] |= np.uint32(1)
    chosen = np.array([selectors(rng, threads) for _ in range(count)])
    return np.array(masks, np.uint32), sources, chosen


def expected(masks: np.ndarray, sources: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the results of `warp.c`; inactive threads write none."""
    threads = sources.shape[1]
    active = (masks[:, None] >> np.arange(threads) & 1).astype(bool)
    results = [
        np.where(active, exchange(operation, sources, chosen, active), UNWRITTEN)
        for operation in OPERATIONS
    ]
    return np.stack(results, axis=1).astype(np.uint32)


def check(config: MachineConfig, engine: str, count: int, **options) -> None:
    """Run random cases on an engine and compare every result."""
    assert config.core is not None
    masks, sources, chosen = cases_of(config.core.threads, count, seed=count)
    results = np.full((count, len(OPERATIONS), config.core.threads), UNWRITTEN, np.uint32)
    arguments = {
        "cases": count,
        "masks": masks,
        "sources": sources,
        "selectors": chosen,
        "results": results,
    }
    right = expected(masks, sources, chosen)
    machine = Machine(config, engine=engine, progress=False)
    machine.run(PROGRAMS / "warp.c", args=arguments, expect={"results": right}, **options)


@pytest.mark.parametrize("threads", [1, 3, 4, 8, 32])
def test_every_operation_on_the_model(threads):
    check(cluster(1, 3, threads), "iss", 200)


@pytest.mark.parametrize("preset", ["tiny", "core"])
def test_every_operation_on_the_rtl(preset):
    """With 4 and 8 threads, in lockstep with the model."""
    check(PRESETS[preset], "verilator", 120, lockstep=True)


@pytest.mark.full
def test_every_operation_of_32_threads_on_8_lanes():
    core = replace(PRESETS["core"].core, warps=2, threads=32, integer_lanes=8)
    check(replace(PRESETS["core"], core=core), "verilator", 60, lockstep=True)


@pytest.mark.slow
def test_every_operation_on_the_simulator_of_amaranth():
    check(PRESETS["tiny"], "amaranth", 15)


def segments(threads: int) -> list[tuple[int, int]]:
    """Return width of the segments and number of each call of `warp_functions.c`."""
    widths = [min(1 << k, threads) for k in range(6)]
    return [(width, b) for width in widths for b in range(threads)]


def words_of(threads: int, width: int, b: int) -> np.ndarray:
    """Return the selectors of segments."""
    whole = selector(b, 63, 0), selector(b, width - 1, 64 - width)
    return np.full((1, threads), whole[width < threads], np.uint32)


@pytest.mark.parametrize("threads", [1, 4, 6, 8, 32])
def test_functions(threads):
    """Sums of floats are exact here; the order of their additions is that of the header."""
    values = np.random.default_rng(threads).integers(0, 1 << 32, threads, dtype=np.uint32)
    numbers = np.random.default_rng(1).integers(-99, 99, threads).astype(np.float32)
    calls = segments(threads)
    bases = [0x8100_0000 + 0x10_0000 * k for k in range(6)]
    iss, _ = run_source(
        PROGRAMS / "warp_functions.c",
        cluster(1, 2, threads),
        arguments=bases,
        data={bases[0]: values, bases[1]: numbers},
    )
    mask = np.ones((1, threads), bool)
    for sources, base in ((values, bases[2]), (numbers.view(np.uint32), bases[3])):
        rows = [
            exchange(operation, sources[None], words_of(threads, width, b), mask)[0]
            for width, b in calls
            for operation in SHUFFLES
        ]
        actual = read_words(iss, base, len(rows) * threads).reshape(len(rows), threads)
        assert np.array_equal(actual, rows)
    signed = values.view(np.int32)
    ballot = sum(1 << k for k in np.flatnonzero(values & 4))
    combined = [values.all(), values.any(), values.all() or not values.any(), ballot]
    combined += [values.sum(dtype=np.uint32), signed.min(), values.min()]
    combined += [signed.max(), values.max()]
    actual = read_words(iss, bases[4], 9 * threads).reshape(9, threads)
    assert actual.tolist() == [[int(value) & 0xFFFF_FFFF] * threads for value in combined]
    totals = [[numbers.sum()] * threads, [numbers.min()] * threads, [numbers.max()] * threads]
    actual = read_words(iss, bases[5], 3 * threads).view(np.float32).reshape(3, threads)
    assert actual.tolist() == totals


@pytest.mark.parametrize("name", ["warp.c", "warp_functions.c"])
def test_a_machine_without_them_refuses_programs(name):
    config = replace(PRESETS["core"], core=replace(PRESETS["core"].core, warp_operations=False))
    with pytest.raises(UserError, match=r"needs core\.warp_operations and this machine has none"):
        compile_program([PROGRAMS / name], config)


def test_lanes_that_read_what_others_have_not_set(tmp_path):
    """A broadcast reads one thread, so only that thread's value must be set."""
    source = tmp_path / "broadcast.c"
    source.write_text("""
        #include <spica.h>
        #include <spica_parallel.h>
        static uint32_t results[SPICA_THREADS];
        int main(void) {
            SPICA_PARALLEL {
                volatile uint32_t unset[1];
                SPICA_IF (vx_thread_id() == 2) { unset[0] = 7; } SPICA_END_IF
                const uint32_t value = unset[0];
                results[vx_thread_id()] = spica_shuffle(value, SOURCE, SPICA_THREADS) + 1;
            } SPICA_END_PARALLEL
            return (int)results[0] - 8;
        }
    """)
    machine = Machine(cluster(1, 1, 4), engine="iss", progress=False)
    machine.run(source, defines=["SOURCE=2"], check="memory")
    with pytest.raises(MachineError, match=r"4 bytes at 0x[0-9a-f]+, 4 times"):
        machine.run(source, defines=["SOURCE=1"], check="memory")
