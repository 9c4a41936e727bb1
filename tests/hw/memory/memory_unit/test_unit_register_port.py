"""Tests of unit registers accessed by a core's memory unit: order, latency, stalls."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CacheConfig, SharedMemoryConfig
from spica.hw.isa.memory_map import DMA_BASE, DRAM_BASE, SHARED_BASE
from spica.hw.presets import PRESETS
from spica.sim.iss.program_bench import small_config
from support.memory.memory_unit_bench import MemoryUnitBench, row
from support.memory.memory_unit_models import register_address

UNITS = replace(
    small_config(
        warps=2,
        threads=4,
        l1i=CacheConfig(size=1024, mshrs=2, prefetch=1),
        l1d=CacheConfig(size=1024, mshrs=4, prefetch=0),
    ),
    units=PRESETS["tiny"].units * 3,
    # The register window does not start at a multiple of its size.
    shared=SharedMemoryConfig(size=8192, banks=2, subbanks=4),
)


def test_an_access_to_a_register_takes_few_cycles():
    config = UNITS
    for is_store in (0, 1):
        bench = MemoryUnitBench(config, random.Random(1))
        address = register_address(config, "matrix1", 0x20)
        all_lanes = row(address, 4, is_store=is_store)
        bench.run([all_lanes | {"mask": 4}, all_lanes])
        first, second = bench.answers
        # Behind `Devices`, the unit receives it a cycle after it was offered.
        assert [cycle - first.accepted for cycle in first.cycles] == [6]
        assert [cycle - first.accepted for cycle in second.cycles] == [9, 12, 15, 18]


@pytest.mark.full
def test_what_a_unit_holds_holds_nothing_else():
    config, rng = UNITS, random.Random(4)
    bench = MemoryUnitBench(config, rng)
    core = config.core
    bench.device.stall = 1.0  # until all other requests are done
    held = [
        row(register_address(config, "dma", 0), 4, is_store=n % 2, step=0)
        for n in range(core.accesses - 1)
    ]
    others = [
        row([DRAM_BASE, SHARED_BASE][n % 2] + 16 * n, 4, is_store=n % 3 == 0) for n in range(40)
    ]

    released = 700

    def release():
        bench.device.stall = 0.0

    bench.run(held + others, events={released: release})
    assert bench.registers.log == [(DMA_BASE, n % 2) for n in range(len(held)) for _ in range(4)]
    assert all(answer.cycles[0] > released for answer in bench.answers[: len(held)])
    assert all(answer.cycles[-1] < released for answer in bench.answers[len(held) :])


@pytest.mark.parametrize("base", [DRAM_BASE, SHARED_BASE])
@pytest.mark.quick(1)
def test_registers_are_answered_while_memory_answers_in_every_cycle(base):
    bench = MemoryUnitBench(UNITS, random.Random(1))
    bench.device.stall, released = 1.0, 140

    def release():
        bench.device.stall = 0.0

    one = row(register_address(UNITS, "dma", 4), 4) | {"mask": 1}
    beats = [row(base + 16 * n, 4) for n in range(40)]
    there = [*beats, *[None] * 60]  # they are cached then
    bench.run([*there, one, *3 * beats], events={released: release})
    answer, *others = bench.answers[len(beats) :]
    assert others[0].cycles[0] < released < others[-1].cycles[0]
    assert answer.cycles[0] - released <= 10
    assert others[-1].cycles[0] - others[0].cycles[0] <= 125


@pytest.mark.parametrize("size, offset", [(1, 0), (1, 3), (2, 0), (2, 2)])
def test_parts_of_registers_are_refused(size, offset):
    config = UNITS
    for is_store in (0, 1):
        part = row(register_address(config, "matrix2", 0x10), 4, is_store=is_store)
        part["address"] = [address + offset for address in part["address"]]
        part["strobes"] = [((1 << size) - 1) << offset] * 4
        bench = MemoryUnitBench(config, random.Random(1))
        bench.run([part])
        (answer,) = bench.answers
        assert answer.words == dict.fromkeys(range(4)) and not bench.registers.log
