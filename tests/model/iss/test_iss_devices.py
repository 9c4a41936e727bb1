"""Tests of DMA and matrix unit in the instruction-set model: order, errors, hazards."""

import random

import numpy as np
import pytest

from spica.hw.isa.commands import COMPUTE, STORE, encode_cisc
from spica.hw.isa.memory_map import (
    DMA,
    DMA_BASE,
    DRAM_BASE,
    MATRIX,
    MATRIX_BASE,
    MATRIX_STRIDE,
    SHARED_BASE,
)
from spica.hw.presets import PRESETS
from spica.sim.iss.device.region import Region
from spica.sim.iss.devices import DeviceFault
from support.cluster.unit_register_bench import DeviceBench

TINY = PRESETS["tiny"]
LINES = {"dram": DRAM_BASE, "dram_pitch": 100, "local": 64, "local_pitch": 32}


def test_a_job_happens_when_its_status_is_read():
    bench = DeviceBench(TINY)
    before = bench.memory.read(SHARED_BASE, 1024)
    bench.dma(**LINES, shape=3 | 10 << 16, fill=4 | 16 << 16)
    assert not bench.devices.idle
    assert np.array_equal(bench.memory.read(SHARED_BASE, 1024), before)
    assert bench.dma_read("running") == 1  # executed by this read
    after = bench.memory.read(SHARED_BASE, 1024)
    expected = before.copy()
    for row in range(4):
        expected[64 + 32 * row : 80 + 32 * row] = 0
        if row < 3:
            expected[64 + 32 * row : 74 + 32 * row] = bench.memory.read(DRAM_BASE + 100 * row, 10)
    assert np.array_equal(after, expected)
    assert (bench.dma_read("loads_done"), bench.dma_read("running")) == (1, 0)
    assert bench.devices.idle


def test_stores_copy_back():
    bench = DeviceBench(TINY)
    bench.dma(start=1, **LINES | {"dram": DRAM_BASE + 0x500}, shape=3 | 10 << 16)
    bench.devices.finish()
    for row in range(3):
        stored = bench.memory.read(DRAM_BASE + 0x500 + 100 * row, 11)
        assert np.array_equal(stored[:10], bench.memory.read(SHARED_BASE + 64 + 32 * row, 10))
        assert stored[10] < 100  # unchanged
    assert (bench.dma_read("stores_done"), bench.dma_read("loads_done")) == (1, 0)


def test_one_effect_at_each_read_in_the_stated_order():
    bench = DeviceBench(TINY)
    for number in range(3):
        bench.dma(dram=DRAM_BASE, local=64 * number, shape=1 | 64 << 16)
    assert [bench.dma_read("loads_done") for _ in range(5)] == [0, 1, 2, 3, 3]
    bench.loop(COMPUTE)
    bench.loop(STORE)
    bench.loop(0x2F8)  # everything skipped
    reads = [(bench.matrix_read("running"), bench.matrix_read("busy")) for _ in range(3)]
    assert reads == [(3, 1), (1, 0), (0, 0)]
    assert bench.matrix_read("computes_done") == 1


def test_registers_that_are_no_status_let_nothing_happen():
    bench = DeviceBench(TINY)
    bench.dma(**LINES, shape=1 | 4 << 16)
    assert bench.dma_read("dram") == DRAM_BASE
    assert bench.dma_read("error") == 0
    assert bench.matrix_read("rs1_low") == 0
    assert bench.matrix_read("error_word") == 0
    assert not bench.devices.idle
    assert bench.devices.advance() and bench.devices.idle and not bench.devices.advance()


def test_random_schedules_differ_and_all_get_on():
    seen = set()
    for seed in range(100):
        bench = DeviceBench(TINY, schedule="random", seed=seed)
        bench.dma(**LINES, shape=1 | 4 << 16)
        bench.dma(start=1, **LINES | {"local": 0, "dram": DRAM_BASE + 0x800})
        first = (bench.dma_read("loads_done"), bench.dma_read("stores_done"))
        seen.add(first)
        for _ in range(1000):
            if not bench.dma_read("running"):
                break
        assert bench.devices.idle
    assert seen == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_counts_never_wrap_in_their_registers():
    bench = DeviceBench(TINY)
    for _ in range(40):
        bench.loop(0x2F8)
    assert bench.matrix_read("running") == 15
    for number in range(300):
        bench.dma(**LINES | {"local": 4 * number}, shape=1 | 4 << 16)
    assert bench.dma_read("running") == 255
    bench.devices.finish()
    assert (bench.matrix_read("running"), bench.dma_read("loads_done")) == (0, 300)


def test_refused_jobs_and_commands_show_in_the_registers():
    bench = DeviceBench(TINY)
    assert not bench.devices.error
    before = bench.memory.read(SHARED_BASE, TINY.shared.size)
    bench.dma(dram=0x1000, local=0, shape=1 | 4 << 16)
    bench.devices.finish()
    assert (bench.dma_read("error"), bench.dma_read("loads_done")) == (2, 1)
    bench.devices.cisc(0x0000_001F)
    bench.devices.cisc(encode_cisc("current", "compute", a=0, b=16))
    assert (bench.matrix_read("error"), bench.matrix_read("error_word")) == (3, 0x1F)
    assert bench.matrix_read("running") == 0
    bench.devices.cisc(encode_cisc("current", "load", a=0, b=15))  # from address 0
    bench.devices.finish()
    assert bench.matrix_read("error") == 7
    assert bench.devices.error
    assert bench.devices.describe() == (
        "DMA: 0 program descriptors pending, 1 loads and 0 stores done; matrix unit: 0 commands "
        "pending, 0 computes done; the DMA reported a descriptor out of range and the matrix unit "
        "reported an illegal command and a command out of range and a failed DMA descriptor "
        "(first rejected command: 0x0000001F)"
    )
    bench.devices.write(DMA_BASE + DMA["error"].offset, 0xFFFF)
    bench.devices.write(MATRIX_BASE + MATRIX["error"].offset, 0xFFFF)
    assert (bench.dma_read("error"), bench.matrix_read("error"), bench.devices.error) == (0, 0, 0)
    assert np.array_equal(bench.memory.read(SHARED_BASE, TINY.shared.size), before)


def test_what_is_queued_can_be_read():
    bench = DeviceBench(TINY)
    bench.loop(COMPUTE & ~0x18)
    text = bench.devices.describe()
    assert "matrix unit: 1 commands pending, 0 computes done; pending: the load of A of" in text
    word = "0x1020B07B"
    assert (
        f"the compute of matrix command 1 ({word}), after the load of A of matrix command " in text
    )


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (lambda b: b.devices.read(DMA_BASE + 0x30), "no register at 0x1030"),
        (lambda b: b.devices.write(MATRIX_BASE + MATRIX_STRIDE, 0), "no register at 0x3100"),
        (lambda b: b.devices.read(DMA_BASE + 2), "no register at 0x1002"),
        (lambda b: b.dma(start=2), "dma.start must be 0 for a load or 1 for a store, not 2"),
        (lambda b: b.dma_read("start"), "dma.start must not be read"),
        (lambda b: b.dma(loads_done=0), "dma.loads_done must not be written"),
    ],
)
def test_accesses_that_are_refused(access, message):
    bench = DeviceBench(TINY)
    with pytest.raises(DeviceFault, match=message):
        access(bench)


def test_registers_of_the_matrix_unit_that_do_nothing():
    bench = DeviceBench(TINY)
    bench.devices.write(MATRIX_BASE + MATRIX["running"].offset, 5)
    assert bench.matrix_read("running") == 0
    assert bench.matrix_read("instruction") == bench.matrix_read("cisc") == 0


def test_a_cluster_without_matrix_unit():
    bench = DeviceBench(PRESETS["core"])
    with pytest.raises(DeviceFault, match="0x0000000A needs a matrix unit; the cluster has none"):
        bench.devices.cisc(10)
    with pytest.raises(DeviceFault, match="no register at 0x3020"):
        bench.matrix_read("busy")
    assert (
        bench.devices.describe() == "DMA: 0 program descriptors pending, 0 loads and 0 stores done"
    )


def test_a_schedule_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="schedule must be one of round_robin, random, not 'lazy'"):
        DeviceBench(TINY, schedule="lazy")


LOAD_A = 0x2F8 & ~0x08  # LOOP_WS with every part skipped except the load of A


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


def test_regions_overlap_where_they_share_a_byte():
    rng = random.Random(5)
    overlapping = 0
    for _ in range(3000):
        one, other = (
            Region(rng.randrange(60), rng.randrange(12), rng.randint(1, 6), rng.randint(1, 9))
            for _ in range(2)
        )
        bytes_of = [
            {r.start + i * r.pitch + j for i in range(r.rows) for j in range(r.width)}
            for r in (one, other)
        ]
        assert one.overlaps(other) == bool(bytes_of[0] & bytes_of[1]), (one, other)
        overlapping += one.overlaps(other)
    assert 500 < overlapping < 2500
