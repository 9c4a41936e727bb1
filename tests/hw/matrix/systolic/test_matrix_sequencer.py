"""Tests of the tile sequencer against its golden model and the timing rules of the array."""

import random
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import pytest

from spica.hw.config import MatrixUnitConfig, SharedPortConfig, SystolicConfig
from spica.hw.matrix.operation import OperationLimits, output_groups
from spica.hw.matrix.systolic.sequencer import Sequencer
from spica.sim.engine.testbench import Simulation, require_no_loop
from support.matrix.sequencer_bench import REVISIT_LATENCY, WRITE_LATENCY, SequencerSurroundings
from support.slow_cases import pairs

BASE = MatrixUnitConfig(
    shared=SharedPortConfig(size=4096, read_latency=2),
    matrix=SystolicConfig(rows=4, columns=4, accumulator_bytes=1024, tile=(8, 8, 8)),
)


def with_matrix(**changes):
    """Return the base configuration with a different array."""
    return replace(BASE, matrix=replace(BASE.matrix, **changes))


CONFIGS = {
    "4x4": BASE,
    "4x4 latency 1": with_matrix(multiply_add_latency=1),
    "4x4 latency 4": with_matrix(multiply_add_latency=4),
    "2x8": with_matrix(rows=2, columns=8),
    "8x2 int8": with_matrix(rows=8, columns=2, operand="int8", read_scale=False),
    "output-stationary": with_matrix(dataflow="output_stationary"),
    "output-stationary latency 1": with_matrix(
        dataflow="output_stationary", multiply_add_latency=1
    ),
    "output-stationary latency 3 2x8": with_matrix(
        dataflow="output_stationary", multiply_add_latency=3, rows=2, columns=8
    ),
    "output-stationary 8x2 int8": with_matrix(
        dataflow="output_stationary", rows=8, columns=2, operand="int8", read_scale=False
    ),
    "output-stationary latency 5 fp32": with_matrix(
        dataflow="output_stationary", multiply_add_latency=5, operand="fp32"
    ),
    "output-stationary latency 6 2x8": with_matrix(
        dataflow="output_stationary", multiply_add_latency=6, rows=2, columns=8
    ),
    "scaled rows": with_matrix(row_scale=True, tile=(24, 8, 8)),
    "scaled rows fp32": with_matrix(row_scale=True, operand="fp32", tile=(24, 8, 8)),
    "loads of D": with_matrix(load_d=True),
    "loads of D 2x8": with_matrix(load_d=True, rows=2, columns=8),
    "loads of D and scaled rows": with_matrix(load_d=True, row_scale=True, tile=(24, 8, 8)),
    "loads of D output-stationary": with_matrix(load_d=True, dataflow="output_stationary"),
    "memory latency 5": replace(BASE, shared=replace(BASE.shared, read_latency=5)),
}


def random_operation(config, rng, **changes):
    """Return an operation with random sizes and operands that fit."""
    matrix, lines = config.matrix, config.shared.size
    while True:
        i, j, k = (rng.choice(counts) for counts in ([1, 1, 2, 3, 5], [1, 1, 2, 5, 7], [1, 2, 4]))
        if (rows := i * j * matrix.rows) <= matrix.accumulator_rows:
            break
    pad_i, pad_j, pad_k = (
        rng.choice([0, 0, rng.randrange(limit)])
        for limit in (matrix.rows, matrix.columns, matrix.rows)
    )
    extents = {"a": i * matrix.rows * k * matrix.a_bytes, "b": k * matrix.rows * j * matrix.b_bytes}
    lines = {
        name: rng.randrange((config.shared.size - extents[name]) // access + 1)
        for name, access in (("a", matrix.a_bytes), ("b", matrix.b_bytes))
    }
    transposed = rng.choice([None, "a", "b"]) if matrix.rows == matrix.columns else None
    if transposed == "b" and matrix.dataflow == "output_stationary":
        transposed = None
    parts = rng.choice(["load", "compute", "compute", "compute", "store", "both", "all", "none"])
    base = rng.choice([0, 0, rng.randrange(matrix.accumulator_rows - rows + 1)])
    accumulate, height = rng.random() < 0.5, i * matrix.rows - pad_i
    scales = {}
    if matrix.row_scale:
        is_scaled = accumulate and parts in ("compute", "both", "all") and rng.random() < 0.6
        count = -(-4 * height // matrix.a_bytes)
        scales = {
            "scale_lines": count if is_scaled else 0,
            "scales_line": rng.randrange(config.shared.size // matrix.a_bytes - count + 1),
        }
    if matrix.load_d:
        adds_or_stores = accumulate or parts in ("load", "store", "none")
        scales |= {
            "load_d": adds_or_stores and rng.random() < 0.6,
            "d_shared": rng.random() < 0.5,
            "d_address": rng.getrandbits(30) << 2,
            "d_pitch": rng.randrange(500) * 4,
        }
        if scales["d_shared"]:
            scales["d_address"] = 0xFF000000 | 4 * rng.randrange(config.shared.size // 4)
    return {
        "load_a": parts in ("load", "all"),
        "load_b": parts in ("load", "all"),
        "compute": parts in ("compute", "both", "all"),
        "store": parts in ("store", "both", "all"),
        "spill": rng.random() < 0.3,
        "accumulate": accumulate,
        "base": base,
        "end": base + rows,
        **scales,
        "transpose_a": transposed == "a",
        "transpose_b": transposed == "b",
        "wide": rng.random() < 0.5,
        "relu": rng.random() < 0.5,
        "scale": rng.getrandbits(32),
        "i_blocks": i,
        "j_blocks": j,
        "k_blocks": k,
        "height": height,
        "width": j * matrix.columns - pad_j,
        "depth": k * matrix.rows - pad_k,
        "last_height": matrix.rows - pad_i,
        "last_depth": matrix.rows - pad_k,
        "a_line": lines["a"],
        "b_line": lines["b"],
        "c_line": rng.randrange(config.shared.size // matrix.a_bytes),
        **{f"{name}_address": rng.getrandbits(32) for name in "abc"},
        **{f"{name}_pitch": rng.getrandbits(16) for name in "abc"},
    } | changes


@lru_cache(maxsize=8)
def simulated_sequencer(config):
    """Return a sequencer and its simulation, which all runs of the config share."""
    dut = Sequencer(config, write_latency=WRITE_LATENCY, revisit_latency=REVISIT_LATENCY)
    require_no_loop(dut)
    return dut, Simulation(dut)


def run(config, operations, **options):
    """Run operations and check them; return the environment of the sequencer."""
    dut, simulation = simulated_sequencer(config)
    surroundings = SequencerSurroundings(dut, operations, **options)
    simulation.run(surroundings.run)
    surroundings.check()
    return surroundings


@pytest.mark.parametrize(("name", "stall"), pairs(CONFIGS, [0.4, 0.0]))
@pytest.mark.quick(3, "memory latency 5-0.0")
def test_random_operations(name, stall):
    config = CONFIGS[name]
    rng = random.Random(name)
    operations = [random_operation(config, rng) for _ in range(20)]
    run(config, operations, stall=stall, drain_stall=stall, loading=stall, seed=len(name))


@pytest.mark.parametrize("latency", range(1, 7))
def test_column_blocks_fall_into_groups(latency):
    config = with_matrix(dataflow="output_stationary", multiply_add_latency=latency)
    for count in range(1, OperationLimits(config=config).j_blocks + 100):
        groups, last = output_groups(config, count)
        assert groups == -(-count // latency)
        assert last == count - (groups - 1) * latency


def compute(config, i, j, k, **changes):
    """Return a compute of whole blocks."""
    rng = random.Random(0)
    return (
        random_operation(config, rng)
        | {
            "load_a": 0,
            "load_b": 0,
            "compute": 1,
            "store": 0,
            "accumulate": 0,
            "transpose_a": 0,
            "transpose_b": 0,
            "i_blocks": i,
            "j_blocks": j,
            "k_blocks": k,
            "height": i * config.matrix.rows,
            "width": j * config.matrix.columns,
            "depth": k * config.matrix.rows,
            "last_height": config.matrix.rows,
            "last_depth": config.matrix.rows,
            "a_line": 0,
            "b_line": 0,
        }
        | changes
    )


LARGE = replace(
    BASE,
    shared=replace(BASE.shared, size=16384),
    matrix=replace(BASE.matrix, accumulator_bytes=2048, tile=(32, 16, 32)),
)


def gaps(surroundings):
    """Return the lengths of the pauses between rows."""
    cycles = surroundings.row_cycles
    return [later - earlier - 1 for earlier, later in pairwise(cycles)]


@pytest.mark.full
def test_a_tile_takes_one_cycle_per_row_and_the_next_follows_at_once():
    operations = [compute(LARGE, 8, 4, 8, accumulate=index > 0) for index in range(3)]
    surroundings = run(LARGE, operations)
    assert len(surroundings.row_cycles) == 3 * 8 * 4 * 8 * 4
    assert not any(gaps(surroundings))
    # From the operation to its first row: queues, four rows of weights, read latency.
    assert surroundings.row_cycles[0] <= 14
    assert surroundings.events["active"] == 3 * 1024


@pytest.mark.parametrize("latency", [1, 2])
@pytest.mark.full
def test_tiles_as_short_as_the_array_is_high_follow_at_once(latency):
    size = {"rows": 8, "columns": 8, "tile": (16, 32, 32)}
    config = replace(LARGE, matrix=replace(LARGE.matrix, multiply_add_latency=latency, **size))
    surroundings = run(config, [compute(config, 1, 4, 4) for _ in range(2)])
    assert not any(gaps(surroundings))


@pytest.mark.full
def test_passes_shorter_than_the_adders_wait_for_them():
    surroundings = run(LARGE, [compute(LARGE, 1, 8, 8)])
    assert LARGE.matrix.rows < REVISIT_LATENCY
    assert set(gaps(surroundings)) == {0, REVISIT_LATENCY - LARGE.matrix.rows}


@pytest.mark.full
def test_short_tiles_wait_for_weights():
    config = replace(LARGE, matrix=replace(LARGE.matrix, multiply_add_latency=4))
    surroundings = run(config, [compute(config, 1, 8, 4)])
    # A tile takes at least 1 + (rows - 1) * (latency - 1) cycles.
    assert set(gaps(surroundings)) == {0, 10 - 4}


@pytest.mark.parametrize(
    "operations",
    [
        [compute(LARGE, 4, 4, 4, transpose_a=1)] * 2,
        [compute(LARGE, 4, 4, 4, transpose_b=1)] * 2,
        # Only the last column block is left to drain when the next tile overwrites the first.
        [compute(LARGE, 8, 4, 4, store=1)] * 3,
        [compute(LARGE, 8, 4, 4), compute(LARGE, 8, 4, 4, compute=0, store=1)] * 2,
    ],
    ids=["transposed A", "transposed B", "stores", "stores of their own"],
)
@pytest.mark.quick("transposed A", "stores")
def test_tiles_follow_without_a_pause(operations):
    assert not any(gaps(run(LARGE, operations)))


@pytest.mark.parametrize(("k", "early"), [(2, 32), (4, 96), (8, 96)])
@pytest.mark.quick(1)
def test_a_drain_reads_finished_blocks_during_the_last_one(k, early):
    """It starts when as many passes are left as there are blocks, or fewer."""
    surroundings = run(LARGE, [compute(LARGE, 8, 4, k, store=1)])
    before = sum(cycle <= surroundings.row_cycles[-1] for cycle in surroundings.read_cycles)
    assert early - 4 <= before <= early + 32


@pytest.mark.full
def test_a_store_starts_after_the_rows_while_loads_are_in_progress():
    surroundings = run(LARGE, [compute(LARGE, 8, 4, 8, store=1)], loading=1.0)
    assert min(surroundings.read_cycles) > surroundings.row_cycles[-1]


@pytest.mark.parametrize("j", [1, 4])
@pytest.mark.full
def test_a_store_without_early_start_delays_the_next_tile_by_few_cycles(j):
    """Of one column block, or of another shape than the compute."""
    shape = {"height": 31, "last_height": 3} if j > 1 else {}
    store = compute(LARGE, 8, j, 4, compute=0, store=1, **shape)
    surroundings = run(LARGE, [compute(LARGE, 8, j, 4), store] * 2)
    pauses = [gap for gap in gaps(surroundings) if gap]
    assert len(pauses) == 1
    assert pauses[0] <= (5 if j == 1 else WRITE_LATENCY + 5)


@pytest.mark.parametrize(("stall", "least", "most"), [(0.5, 0, 0), (0.8, 32, 96)])
@pytest.mark.full
def test_a_slow_drain_delays_one_block_of_columns(stall, least, most):
    """The overwriting block continues with all of K: meanwhile the drain gets ahead."""
    operations = [compute(LARGE, 8, 4, 4, store=1) for _ in range(2)]
    surroundings = run(LARGE, operations, drain_stall=stall)
    assert least <= surroundings.events["wait_drain"] <= most


@pytest.mark.full
def test_events_name_the_wait():
    operations = [compute(LARGE, 1, 1, 8, height=1)]
    surroundings = run(LARGE, operations)
    assert surroundings.events["wait_weights"] > 0
    surroundings = run(
        with_matrix(multiply_add_latency=1, rows=2, columns=2),
        [compute(with_matrix(rows=2, columns=2), 1, 1, 8, height=1)],
    )
    assert surroundings.events["wait_revisit"] > 0
    surroundings = run(LARGE, [compute(LARGE, 8, 4, 2, store=1)] * 2, drain_stall=0.9)
    assert surroundings.events["wait_drain"] > 30
    surroundings = run(LARGE, [compute(LARGE, 8, 4, 2)] * 2, stall=0.5)
    assert surroundings.events["wait_a"] > 50


@pytest.mark.parametrize(("latency", "j"), [(1, 4), (2, 4), (4, 4), (6, 6)])
@pytest.mark.full
def test_output_stationary_tiles_follow_at_once(latency, j):
    matrix = replace(LARGE.matrix, dataflow="output_stationary", multiply_add_latency=latency)
    config = replace(LARGE, matrix=matrix)
    operations = [compute(config, 2, j, 4, accumulate=index > 0) for index in range(2)]
    surroundings = run(config, operations)
    assert len(surroundings.row_cycles) == 2 * 2 * j * 16
    assert not any(gaps(surroundings))
    # Queues, the read latency, and four rows of A through the transposer.
    assert surroundings.row_cycles[0] <= 17


@pytest.mark.full
def test_output_stationary_stores_cost_few_cycles():
    config = replace(LARGE, matrix=replace(LARGE.matrix, dataflow="output_stationary"))
    surroundings = run(config, [compute(config, 4, 4, 8, store=1) for _ in range(2)])
    # The store starts, and 32 rows are read while the next tiles take 64 cycles.
    assert sum(gaps(surroundings)) <= 4


@pytest.mark.full
def test_output_stationary_short_chains_wait_for_the_sums_before_them():
    config = replace(LARGE, matrix=replace(LARGE.matrix, dataflow="output_stationary"))
    surroundings = run(config, [compute(config, 4, 4, 1, depth=2, last_depth=2)])
    # A chain of 2 steps each, but the previous four rows of sums need 8 cycles to leave.
    assert max(gaps(surroundings)) <= 6
    assert surroundings.events["wait_revisit"] > 0


def test_a_narrower_shape_does_not_revisit_a_row_too_soon():
    config = CONFIGS["2x8"]
    operations = [
        compute(config, 3, 1, 1, height=5, last_height=1),
        # Accumulator row 4 was the last one; here it is the fourth.
        compute(config, 2, 2, 1, height=3, last_height=1, accumulate=1),
    ]
    surroundings = run(config, operations)
    assert surroundings.events["wait_revisit"] > 0


def test_scales_wait_for_rows_that_use_those_before():
    config = CONFIGS["scaled rows"]
    rows = 2 * config.matrix.rows
    places = {"base": 0, "end": rows, "scale_lines": 4 * rows // config.matrix.a_bytes}
    operations = [
        compute(config, 2, 1, 1, accumulate=1, scales_line=8 * number, **places)
        for number in range(4)
    ]
    run(config, operations)
