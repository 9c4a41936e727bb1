"""Tests of the throughput of `hw.memory.dma.dma` with shared memory and a DRAM of 100 cycles."""

import random

import pytest

from spica.hw.isa.memory_map import DRAM_BASE
from spica.hw.lib.interfaces.shared_memory import Direction
from spica.hw.presets import PRESETS
from spica.sim.golden.memory.dma.dma import DmaDescriptor
from support.memory.dma_bench import DmaBench

MATRIX = PRESETS["matrix"]
LATENCY = 100


def run(descriptors, beats=0, *, real=True):
    """Return the bench after the jobs, one issued per cycle."""
    bench = DmaBench(MATRIX, real=real, latency=LATENCY)
    rng = random.Random(0)
    for descriptor in descriptors:
        for i in range(descriptor.rows):
            bench.dram.write(
                descriptor.dram + i * descriptor.dram_pitch, rng.randbytes(descriptor.bytes)
            )
    bench.beats.extend(rng.randbytes(MATRIX.units[0].drain_bytes) for _ in range(beats))
    bench.run_descriptors(descriptors)
    return bench


def load(rows, width, *, dram=0, local=0, pitch=512):
    return DmaDescriptor(
        direction=Direction.LOAD,
        dram=DRAM_BASE + dram,
        dram_pitch=pitch,
        local=local,
        local_pitch=width,
        rows=rows,
        bytes=width,
    )


@pytest.mark.full
def test_first_tiles_arrive_at_the_pace_of_a_bank():
    """A of 32 KB in one bank takes 1,024 writes; B of 16 KB arrives in parallel."""
    a, b = load(128, 256), load(128, 128, dram=0x100000, local=64 * 1024)
    bench = run([a, b])
    print(f"A and B: {bench.shared.last_write} cycles")
    assert bench.shared.last_write <= 1024 + 150
    for descriptor in (a, b):
        for i in range(descriptor.rows):
            row = bench.dram.read(descriptor.dram + i * descriptor.dram_pitch, descriptor.bytes)
            assert (
                bench.local.read(descriptor.local + i * descriptor.local_pitch, descriptor.bytes)
                == row
            )


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "cycles"), [(0, 512), (2, 900)])
def test_loads_in_two_banks(offset, cycles):
    descriptors = [
        load(64, 256, dram=offset),
        load(64, 256, dram=offset + 0x100000, local=32 * 1024),
    ]
    bench = run(descriptors)
    moved = bench.shared.last_write
    print(f"offset {offset}: {32 * 1024 / (moved - LATENCY):.1f} bytes per cycle, {moved} cycles")
    assert moved <= cycles + LATENCY + 50


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "cycles"), [(0, 256), (2, 420)])
def test_store(offset, cycles):
    descriptor = load(64, 256, dram=offset)
    store = DmaDescriptor(**(vars(descriptor) | {"direction": Direction.STORE}))
    bench = run([store], real=False)  # a bank gives one line per cycle: less than two masters take
    print(f"store, offset {offset}: {bench.cycle} cycles for 16 KB")
    assert bench.cycle <= cycles + LATENCY + 60


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "cycles"), [(0, 512), (2, 1024)])
def test_drain(offset, cycles):
    descriptor = DmaDescriptor(
        direction=Direction.DRAIN,
        dram=DRAM_BASE + offset,
        dram_pitch=512,
        rows=128,
        bytes=128,
        block=32,
    )
    bench = run([descriptor], beats=512)
    print(f"drain, offset {offset}: {bench.cycle} cycles for 512 beats")
    assert bench.cycle <= cycles + LATENCY + 60
