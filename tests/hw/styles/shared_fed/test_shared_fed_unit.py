"""Tests of the tensor unit that reads shared memory, against the golden model."""

import gc
from dataclasses import replace

import pytest

from spica.hw.config.tensor import TENSOR_NUMERICS
from spica.hw.isa.memory_map import SHARED_BASE
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.hw.styles.shared_fed.config import SharedFedBlockConfig, SharedFedConfig
from spica.hw.styles.shared_fed.shared_fed_unit import SharedFedUnit
from spica.sim.engine.block_bench import BlockBench
from spica.synth.measure import measure
from support.core.hgmma_bench import SIZE, HgmmaRun, products, results_of, unit_config

HOPPER = SharedFedConfig(numerics="nvidia(hopper)")
SWIZZLED = replace(HOPPER, layout="swizzle128")
VIRGO, FP32 = SharedFedConfig(), SharedFedConfig(numerics="fp32_rne", operand="fp32")
ALL = [
    SharedFedConfig(numerics=numerics, operand=operand)
    for numerics, operands in TENSOR_NUMERICS.items()
    for operand in operands
]
CELLS = {VIRGO: 14_200, HOPPER: 3_300, FP32: 8_400}
DEPTH = 60


def name_of(tile: SharedFedConfig) -> str:
    return f"{tile.numerics}_{tile.operand}"


@pytest.fixture(scope="module")
def bench_of():
    """Return a function that returns the bench of a config, one per module."""
    benches = {}

    def give(config: SharedFedBlockConfig) -> BlockBench:
        if config not in benches:
            benches[config] = BlockBench(SharedFedUnit(config), optimize=0)
        return benches[config]

    yield give
    for bench in benches.values():
        bench.close()
    benches.clear()
    gc.collect()


def check(bench_of, config: SharedFedBlockConfig, count: int, seed: int = 1, **options) -> HgmmaRun:
    """Run random products; fail unless all results are those of the golden model."""
    given = products(config, count, seed)
    run = HgmmaRun(config, given, bench=bench_of(config), seed=seed, **options)
    assert run.results == [
        result for operation in given for result in results_of(config, operation)
    ]
    assert len(run.events["active"]) == 128 * count
    assert len(run.requests) == 64 * count
    return run


@pytest.mark.parametrize(
    "stalls",
    [
        {"pause": 0.2, "stall": 0.5, "busy": 0.5},
        {"pause": 0.8, "overlap": True},
        {"stall": 0.9},
        {"busy": 0.85},
    ],
    ids=str,
)
@pytest.mark.quick(1)
def test_products_match_the_golden_model(bench_of, stalls):
    check(bench_of, unit_config(HOPPER), 8, **stalls)


@pytest.mark.parametrize("operand", ["fp16", "tf32"])
@pytest.mark.quick("tf32")
def test_swizzled_operands(bench_of, operand):
    """Rows of B of 32 and of 64 bytes, A and B side by side in rows of 128 bytes."""
    tile = replace(SWIZZLED, operand=operand)
    check(bench_of, unit_config(tile), 12, pause=0.2, stall=0.3, busy=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("tile", ALL, ids=name_of)
def test_all_numerics_match_the_golden_model(bench_of, tile):
    for seed, stalls in enumerate([{}, {"pause": 0.3, "stall": 0.4, "busy": 0.4}]):
        check(bench_of, unit_config(tile), 12, seed, **stalls)


@pytest.mark.slow
@pytest.mark.parametrize("queue", [1, 2, 3, 8])
def test_other_queues(bench_of, queue):
    config = unit_config(replace(HOPPER, queue=queue))
    check(bench_of, config, 20, pause=0.1, stall=0.3, busy=0.3, overlap=True)


def test_products_follow_each_other_without_a_gap(bench_of):
    """Operands from a memory without conflicts keep the unit busy in every cycle."""
    run = check(bench_of, unit_config(HOPPER), 6)
    active = run.events["active"]
    assert active == list(range(active[0], active[0] + 128 * 6))
    assert not run.events["operand_wait"][active[0] :]
    assert run.accepted[:32] == list(range(32))


#: Latency of shared memory that costs nothing: a slot is free 128 cycles before its next product
#: begins, 2 cycles before the first request; the first 32 lines are requested one per cycle.
HIDDEN = 128 - 2 - 32


@pytest.mark.full
def test_reads_run_ahead(bench_of):
    """Two slots of operands hide the latency up to a limit; beyond, two products share the rest."""
    config = unit_config(HOPPER)
    for latency in (1, HIDDEN, HIDDEN + 2, 150):
        run = check(bench_of, config, 6, latency=latency)
        starts = run.events["active"][::128]
        pairs = {starts[k + 2] - starts[k] for k in range(len(starts) - 2)}
        assert pairs == {256 + max(0, latency - HIDDEN)}


def test_steps_wait_for_c_or_for_operands(bench_of):
    config = unit_config(HOPPER)
    late = check(bench_of, config, 3, pause=0.9)
    assert len(late.events["c_wait"]) > 100
    slow = check(bench_of, config, 4, latency=200)
    assert len(slow.events["operand_wait"]) > 300


def test_results_that_wait_do_not_stop_the_unit_at_once(bench_of):
    """Four tiles: results of one wait, three more products gather and are computed."""
    config = unit_config(HOPPER)
    given = products(config, 6, 3)
    run = HgmmaRun(config, given, bench=bench_of(config), willing=lambda cycle: cycle >= 700)
    active = run.events["active"]
    assert active[: 4 * 128] == list(range(active[0], active[0] + 4 * 128))
    assert active[4 * 128] > 700


#: Layout, operand, address and fault. Rows of a swizzled A have 64 bytes of 128, and do not cross
#: their end.
REFUSED = [
    (HOPPER, 0, SHARED_BASE - 32, MemoryFault.NOT_SHARED),
    (HOPPER, 1, SHARED_BASE + SIZE, MemoryFault.NOT_SHARED),
    (HOPPER, 0, SHARED_BASE + SIZE - 1024 + 32, MemoryFault.NOT_SHARED),
    (HOPPER, 1, SHARED_BASE + 16, MemoryFault.MISALIGNED),
    (HOPPER, 0, 0x0100_0000, MemoryFault.NOT_SHARED),
    (SWIZZLED, 0, SHARED_BASE + SIZE // 2 + 96, MemoryFault.MISALIGNED),
    (SWIZZLED, 1, SHARED_BASE + SIZE // 2 + 16, MemoryFault.MISALIGNED),
    (SWIZZLED, 0, SHARED_BASE + SIZE - 2048 + 128, MemoryFault.NOT_SHARED),
    (SWIZZLED, 1, SHARED_BASE + SIZE - 4096 + 160, MemoryFault.NOT_SHARED),
]


@pytest.mark.parametrize(("tile", "operand", "address", "kind"), REFUSED)
@pytest.mark.quick("tile0-*", "tile3-*")
def test_refused_operands(bench_of, tile, operand, address, kind):
    """A refused product among others is reported once, and the others are complete."""
    config = unit_config(tile)
    given = products(config, 7, 5)
    refused = given[2]
    refused.addresses[operand, refused.last_lane] = address
    run = HgmmaRun(config, given, bench=bench_of(config), refused=1, pause=0.1, stall=0.2)
    others = [operation for operation in given if operation is not refused]
    assert run.results == [
        result for operation in others for result in results_of(config, operation)
    ]
    assert run.faults == [
        {
            **{name: refused.fields[name] for name in ("warp", "pc")},
            "mask": 1 << refused.last_lane,
            "kind": kind,
            "address": address,
        }
    ]


@pytest.mark.parametrize(
    ("tile", "a", "b"),
    [
        (HOPPER, 1024, SIZE),
        *((SWIZZLED, *pair) for pair in ((2048 - 64, 4096), (2048 - 32, 4096), (2048, 4096 - 96))),
    ],
)
@pytest.mark.quick("tile0-*")
def test_the_last_places_of_shared_memory_are_legal(bench_of, tile, a, b):
    config = unit_config(tile)
    given = products(config, 1, 6)
    given[0].addresses[:, given[0].last_lane] = [
        SHARED_BASE + SIZE - distance for distance in (a, b)
    ]
    assert given[0].places[0] != given[0].places[1]
    run = HgmmaRun(config, given, bench=bench_of(config))
    assert run.results == results_of(config, given[0])


@pytest.mark.slow
@pytest.mark.parametrize("tile", CELLS, ids=name_of)
def test_cost(tile):
    config = unit_config(tile)
    config = replace(config, shared=replace(config.shared, size=128 * 1024))
    measured = measure(SharedFedUnit(config), "hgmma_unit")
    assert measured.cells <= CELLS[tile]
    assert measured.depth <= DEPTH
