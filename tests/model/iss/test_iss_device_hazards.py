"""Tests of device hazards: unordered conflicts are faults, and nothing else is."""

import random

import pytest

from spica.hw.config import PRESETS
from spica.hw.isa.commands import COMPUTE, STORE
from spica.hw.isa.memory_map import DRAM_BASE
from spica.sim.iss.device.region import Region
from spica.sim.iss.devices import DeviceFault
from support.cluster.unit_register_bench import DeviceBench

TINY = PRESETS["tiny"]
LOAD_A = 0x2F8 & ~0x08  # LOOP_WS with every part skipped except the load of A
LINES = {"dram": DRAM_BASE, "dram_pitch": 100, "local": 64, "local_pitch": 32}


def compute_then_load(bench):
    bench.loop(COMPUTE)
    bench.dma(**LINES, shape=1 | 4 << 16)


def load_then_compute(bench):
    bench.dma(**LINES, shape=1 | 4 << 16)
    bench.loop(COMPUTE)


def load_of_a_then_compute(bench):
    bench.loop(LOAD_A)
    bench.loop(COMPUTE)


def load_twice(bench):
    bench.dma(**LINES, shape=2 | 8 << 16)
    bench.dma(**LINES | {"local": 100}, shape=1 | 4 << 16)


def load_beside_zeros(bench):
    bench.dma(**LINES, shape=1 | 8 << 16, fill=2 | 16 << 16)
    bench.dma(**LINES | {"local": 64 + 32 + 15}, shape=1 | 1 << 16, fill=0)


def store_of_what_is_being_loaded(bench):
    bench.dma(**LINES, shape=1 | 8 << 16)
    bench.dma(start=1, dram=DRAM_BASE + 0x800)


def load_of_what_is_being_stored(bench):
    bench.loop(COMPUTE)
    bench.loop(STORE)
    bench.dma(dram=DRAM_BASE + 0x2000 + 8 * 16 - 2, local=8192, shape=1 | 4 << 16)


def compute_on_what_is_being_spilled(bench):
    bench.loop(COMPUTE & ~0x80 | 0x200, c_row=64)
    bench.loop(COMPUTE, a_row=70)


HAZARDS = {
    compute_then_load: "load 1 of the DMA .* writes .* the compute of matrix command 1 .* reads",
    load_then_compute: "compute of matrix command 1 .* reads .*, which load 1 of the DMA .* writes",
    load_of_a_then_compute: "compute of matrix command 2 .* the load of A of matrix command 1",
    load_twice: "load 2 of the DMA .* writes .* load 1 of the DMA .* writes",
    load_beside_zeros: "load 2 of the DMA .* writes .*, which load 1 of the DMA .* writes",
    store_of_what_is_being_loaded: "store 1 .* reads 0xFF000040 to 0xFF000048, which load 1",
    load_of_what_is_being_stored: "load 1 .* reads .*, which the store of matrix command 2",
    compute_on_what_is_being_spilled: "compute of matrix command 2 .* the store of matrix comm",
}


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.__name__)
def test_what_nothing_orders_is_a_fault(hazard):
    bench = DeviceBench(TINY)
    with pytest.raises(DeviceFault, match=HAZARDS[hazard]):
        hazard(bench)


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.__name__)
def test_what_was_waited_for_is_none(hazard, monkeypatch):
    bench = DeviceBench(TINY)
    write = bench.devices.write

    def patient(offset, data):
        bench.devices.finish()
        write(offset, data)

    monkeypatch.setattr(bench.devices, "write", patient)
    hazard(bench)
    bench.devices.finish()
    assert not bench.devices.error


def test_what_the_machine_orders_is_none():
    bench = DeviceBench(TINY)
    # Its own loads, then the compute, then its results over its own operands.
    bench.loop(COMPUTE & ~0xB8 | 0x20 | 0x200)
    bench.loop(STORE)
    bench.loop(STORE)
    # Results of two stores into alternate halves of the same lines.
    halves = {"dram_pitch": 8, "local_pitch": 4, "shape": 9 | 4 << 16}
    for dram, local in ((0x4000, 12288), (0x4004, 12800)):
        bench.dma(**halves, dram=DRAM_BASE + dram, local=local)
    bench.dma(start=1, dram=DRAM_BASE + 0x4084, local=13000)
    bench.devices.finish()
    assert not bench.devices.error


def test_an_accumulator_without_results_is_a_fault():
    bench = DeviceBench(TINY)
    with pytest.raises(
        DeviceFault, match=r"command 1 .* stores row 0 of the accumulator, which no"
    ):
        bench.loop(STORE)
    bench = DeviceBench(TINY)
    with pytest.raises(DeviceFault, match=r"command 1 .* adds to row 0 of the accumulator"):
        bench.loop(COMPUTE, rs1=1)
    bench = DeviceBench(TINY)
    bench.loop(COMPUTE, blocks=(1, 2, 2))
    with pytest.raises(DeviceFault, match=r"command 2 .* stores row 8 of the accumulator"):
        bench.loop(STORE, blocks=(2, 2, 2))


def test_dram_that_was_not_placed_is_a_fault():
    def allowed(address, nbytes):
        return address >= DRAM_BASE and address + nbytes <= DRAM_BASE + 0x1000

    bench = DeviceBench(TINY, allowed=allowed)
    bench.dma(dram=DRAM_BASE + 0xFF0, local=64, shape=1 | 16 << 16)
    with pytest.raises(DeviceFault, match=r"load 2 .* 0x80000FF1 to 0x80001001, outside all"):
        bench.dma(dram=DRAM_BASE + 0xFF1, local=128)
    bench.devices.finish()
    with pytest.raises(DeviceFault, match=r"the load of B of matrix command 1 .* outside all"):
        bench.loop(0x2E0)


def test_regions_meet_where_they_share_a_byte():
    rng = random.Random(5)
    met = 0
    for _ in range(3000):
        one, other = (
            Region(rng.randrange(60), rng.randrange(12), rng.randint(1, 6), rng.randint(1, 9))
            for _ in range(2)
        )
        bytes_of = [
            {r.start + i * r.pitch + j for i in range(r.rows) for j in range(r.width)}
            for r in (one, other)
        ]
        assert one.meets(other) == bool(bytes_of[0] & bytes_of[1]), (one, other)
        met += one.meets(other)
    assert 500 < met < 2500
