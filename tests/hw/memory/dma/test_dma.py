"""Tests of `dma` against its golden model: random descriptors, stalling memories, AXI rules."""

import random
from dataclasses import replace

import pytest
from amaranth.back import rtlil

from spica.hw.config import DmaBlockConfig
from spica.hw.lib.interfaces.shared_memory import Direction
from spica.hw.memory.dma.dma import Dma
from spica.hw.presets import PRESETS
from spica.sim.golden.memory.dma.dma import DmaDescriptor
from support.memory.dma_descriptors import (
    SOURCE,
    TARGET,
    check_descriptors,
    directions_of,
    random_descriptors,
)

LOAD, STORE, DRAIN, SPILL, FILL, REFILL = Direction
TINY = PRESETS["tiny_matrix"]
MATRIX = PRESETS["matrix"]


@pytest.fixture(scope="module", autouse=True)
def convert():
    """Convert first: a combinational loop would hang the simulator."""
    rtlil.convert(Dma(DmaBlockConfig.of(TINY)), name="dma", emit_src=False)


def variant(config=TINY, **parts):
    """Return a config with some nested fields changed."""
    return replace(
        config,
        **{
            name: replace(getattr(config, name), **fields) if fields else None
            for name, fields in parts.items()
        },
    )


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("directions", [[LOAD], [STORE], [DRAIN], [SPILL], directions_of(TINY)])
@pytest.mark.quick(1)
def test_random_jobs(directions, stall):
    rng = random.Random(len(directions) * 10 + directions[0].value)
    descriptors = random_descriptors(TINY, rng, directions, 15)
    options = {"latency": 20, "jitter": 10, "gated": bool(stall)}
    check_descriptors(TINY, descriptors, seed=1, stall=stall, **options)


def filling(config, **unit):
    """Return a cluster whose matrix unit loads D."""
    return replace(config, units=(replace(config.units[0], load_d=True, **unit),))


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("directions", [[FILL], [REFILL], [FILL, REFILL], list(Direction)])
@pytest.mark.parametrize("columns", [2, 4, 8])
@pytest.mark.quick("8-directions2-0.0")
def test_accumulators_are_filled(columns, directions, stall):
    """Rows of an accumulator are part of a beat of 16 bytes, or a beat, or several."""
    config = filling(TINY, columns=columns)
    rng = random.Random(len(directions) * 10 + directions[0].value)
    descriptors = random_descriptors(config, rng, directions, 15)
    check_descriptors(config, descriptors, seed=1, stall=stall, latency=20, jitter=10)


@pytest.mark.parametrize(
    ("slow", "shared_stall"), [("aw", 0.0), ("w", 0.0), ("ar", 0.0), ("", 0.9)]
)
@pytest.mark.quick(2)
def test_one_side_is_slow(slow, shared_stall):
    """Queues fill up towards the slow side, and nothing may be lost."""
    rows = {"rows": 10, "bytes": 100, "dram_pitch": 100, "local_pitch": 104}
    descriptors = [
        DmaDescriptor(direction=STORE, dram=TARGET + 5, local=3, **rows),
        DmaDescriptor(direction=LOAD, dram=SOURCE + 9, local=2000, **rows),
        DmaDescriptor(direction=DRAIN, dram=TARGET + 5003, block=8, **rows),
    ]
    check_descriptors(
        TINY, descriptors, seed=4, stall=0.0, slow=slow, shared_stall=shared_stall, latency=2
    )


@pytest.mark.slow
@pytest.mark.parametrize("stall", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("config", [TINY, MATRIX], ids=["tiny_matrix", "matrix"])
def test_many_random_jobs(config, stall):
    for seed in range(4):
        rng = random.Random(seed)
        descriptors = random_descriptors(config, rng, directions_of(config), 100)
        check_descriptors(
            config, descriptors, seed=seed, stall=stall, latency=rng.choice([1, 10, 100]), jitter=30
        )


@pytest.mark.parametrize(
    "parts",
    [
        {"axi": {"masters": 1}, "dma": {"contexts": 1, "queue": 1}},
        {"axi": {"masters": 4, "interleave_bytes": 16}, "dma": {"contexts": 3, "outstanding": 2}},
        {"axi": {"interleave_bytes": 256}, "shared": {"read_latency": 8}},
        {"axi": {"data_width": 64}, "shared": {"banks": 1, "read_latency": 1}},
    ],
    ids=["one", "many", "long", "narrow"],
)
@pytest.mark.full
def test_other_configs(parts):
    config = variant(**parts)
    rng = random.Random(3)
    descriptors = random_descriptors(config, rng, directions_of(config), 25)
    check_descriptors(config, descriptors, seed=3, stall=0.2, latency=12, jitter=5)


@pytest.mark.slow
def test_longest_row():
    """65,535 bytes in one row, then zeros beyond the range of a 16-bit row count."""
    descriptor = DmaDescriptor(direction=LOAD, dram=SOURCE + 3, local=5, rows=1, bytes=65535)
    back = DmaDescriptor(direction=STORE, dram=TARGET + 1, local=66000, rows=1, bytes=60000)
    check_descriptors(MATRIX, [descriptor, back], seed=0, stall=0.0, latency=10)
