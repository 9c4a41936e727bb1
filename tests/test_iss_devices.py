"""The DMA and the matrix unit as programs see them: order, hazards, errors, words."""

import random

import numpy as np
import pytest

from spica.hw.address_map import (
    DMA,
    DMA_BASE,
    DRAM_BASE,
    MATRIX,
    MATRIX_BASE,
    MATRIX_STRIDE,
    SHARED_BASE,
)
from spica.hw.config import PRESETS
from spica.hw.isa.commands import (
    COMPUTE,
    STORE,
    Function,
    bounds_sizes,
    encode,
    encode_cisc,
    rocc_word,
)
from spica.sim.iss.device.region import Region
from spica.sim.iss.devices import DeviceFault, Devices

TINY = PRESETS["tiny"]
DRAM_BYTES = 1 << 16
SCHEDULES = ["in_turn", "random"]
LOAD_A = 0x2F8 & ~0x08  # parts of LOOP_WS: all skipped but the load of A


class Memory:
    """DRAM and shared memory with known contents."""

    def __init__(self, config, seed=0):
        rng = np.random.default_rng(seed)
        self.places = [
            (DRAM_BASE, rng.integers(0, 100, DRAM_BYTES, np.uint8)),
            (SHARED_BASE, rng.integers(100, 120, config.shared.size, np.uint8)),
        ]

    def at(self, address, nbytes):
        base, data = self.places[address >= SHARED_BASE]
        assert base <= address and address + nbytes <= base + len(data)
        return data[address - base : address - base + nbytes]

    def read(self, address, nbytes):
        return self.at(address, nbytes).copy()

    def write(self, address, data):
        self.at(address, len(data))[:] = np.frombuffer(data, np.uint8)


def make(config=TINY, **options):
    memory = Memory(config)
    return Devices(config, memory, **options), memory


def dma(devices, *, start=0, **values):
    """Start a DMA job."""
    for name, value in values.items():
        devices.write(DMA_BASE + DMA[name].offset, value)
    devices.write(DMA_BASE + DMA["start"].offset, start)


def dma_read(devices, name):
    return devices.read(DMA_BASE + DMA[name].offset)


def rocc(devices, function, rs1=0, rs2=0):
    """Issue a RoCC command."""
    for name, value in (("rs1", rs1), ("rs2", rs2)):
        devices.write(MATRIX_BASE + MATRIX[f"{name}_low"].offset, value & 0xFFFF_FFFF)
        devices.write(MATRIX_BASE + MATRIX[f"{name}_high"].offset, value >> 32)
    devices.write(MATRIX_BASE + MATRIX["instruction"].offset, rocc_word(function))


def matrix_read(devices, name):
    return devices.read(MATRIX_BASE + MATRIX[name].offset)


def loop(devices, parts, *, rs1=0, blocks=(2, 2, 2), a_row=0, b_end=2048, c_row=0):
    """Issue LOOP_WS with its bounds and places; A at row 0, B up to the end of shared memory."""
    rocc(devices, Function.BOUNDS, 0, encode(bounds_sizes, **dict(zip("ijk", blocks, strict=True))))
    rocc(devices, Function.SPAD_AB, a_row, b_end)
    rocc(devices, Function.ADDRESSES_AB, DRAM_BASE, DRAM_BASE + 0x1000)
    rocc(devices, Function.ADDRESSES_DC, 0, DRAM_BASE + 0x2000)
    rocc(devices, Function.STRIDES_AB, 8, 8)
    rocc(devices, Function.STRIDES_DC, 0, 8)
    rocc(devices, Function.LOOP_WS, rs1, parts | c_row << 32)


LINES = {"dram": DRAM_BASE, "dram_pitch": 100, "local": 64, "local_pitch": 32}


def test_a_job_happens_when_its_status_is_read():
    devices, memory = make()
    before = memory.read(SHARED_BASE, 1024)
    dma(devices, **LINES, shape=3 | 10 << 16, fill=4 | 16 << 16)
    assert not devices.idle
    assert np.array_equal(memory.read(SHARED_BASE, 1024), before)
    assert dma_read(devices, "running") == 1  # and now it happens
    after = memory.read(SHARED_BASE, 1024)
    expected = before.copy()
    for row in range(4):
        expected[64 + 32 * row : 80 + 32 * row] = 0
        if row < 3:
            expected[64 + 32 * row : 74 + 32 * row] = memory.read(DRAM_BASE + 100 * row, 10)
    assert np.array_equal(after, expected)
    assert (dma_read(devices, "loads_done"), dma_read(devices, "running")) == (1, 0)
    assert devices.idle


def test_stores_copy_back():
    devices, memory = make()
    dma(devices, start=1, **LINES | {"dram": DRAM_BASE + 0x500}, shape=3 | 10 << 16)
    devices.finish()
    for row in range(3):
        stored = memory.read(DRAM_BASE + 0x500 + 100 * row, 11)
        assert np.array_equal(stored[:10], memory.read(SHARED_BASE + 64 + 32 * row, 10))
        assert stored[10] < 100  # as before
    assert (dma_read(devices, "stores_done"), dma_read(devices, "loads_done")) == (1, 0)


def test_one_thing_at_each_look_in_the_order_told():
    devices, memory = make()
    for number in range(3):
        dma(devices, dram=DRAM_BASE, local=64 * number, shape=1 | 64 << 16)
    assert [dma_read(devices, "loads_done") for _ in range(5)] == [0, 1, 2, 3, 3]
    loop(devices, COMPUTE)
    loop(devices, STORE)
    loop(devices, 0x2F8)  # nothing at all
    looks = [(matrix_read(devices, "running"), matrix_read(devices, "busy")) for _ in range(3)]
    assert looks == [(3, 1), (1, 0), (0, 0)]
    assert matrix_read(devices, "computes_done") == 1
    del memory


def test_registers_that_are_no_status_let_nothing_happen():
    devices, _ = make()
    dma(devices, **LINES, shape=1 | 4 << 16)
    assert dma_read(devices, "dram") == DRAM_BASE
    assert dma_read(devices, "error") == 0
    assert matrix_read(devices, "rs1_low") == 0
    assert matrix_read(devices, "error_word") == 0
    assert not devices.idle
    assert devices.advance() and devices.idle and not devices.advance()


def test_random_schedules_differ_and_all_get_on():
    seen = set()
    for seed in range(100):
        devices, _ = make(schedule="random", seed=seed)
        dma(devices, **LINES, shape=1 | 4 << 16)
        dma(devices, start=1, **LINES | {"local": 0, "dram": DRAM_BASE + 0x800})
        first = (dma_read(devices, "loads_done"), dma_read(devices, "stores_done"))
        seen.add(first)
        for _ in range(1000):
            if not dma_read(devices, "running"):
                break
        assert devices.idle
    assert seen == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_counts_never_wrap_in_their_registers():
    devices, _ = make()
    for _ in range(40):
        loop(devices, 0x2F8)
    assert matrix_read(devices, "running") == 15
    for number in range(300):
        dma(devices, **LINES | {"local": 4 * number}, shape=1 | 4 << 16)
    assert dma_read(devices, "running") == 255
    devices.finish()
    assert (matrix_read(devices, "running"), dma_read(devices, "loads_done")) == (0, 300)


def compute_then_load(devices):
    loop(devices, COMPUTE)
    dma(devices, **LINES, shape=1 | 4 << 16)


def load_then_compute(devices):
    dma(devices, **LINES, shape=1 | 4 << 16)
    loop(devices, COMPUTE)


def load_of_a_then_compute(devices):
    loop(devices, LOAD_A)
    loop(devices, COMPUTE)


def load_twice(devices):
    dma(devices, **LINES, shape=2 | 8 << 16)
    dma(devices, **LINES | {"local": 100}, shape=1 | 4 << 16)


def store_of_what_is_being_loaded(devices):
    dma(devices, **LINES, shape=1 | 8 << 16)
    dma(devices, start=1, dram=DRAM_BASE + 0x800)


def load_of_what_is_being_stored(devices):
    loop(devices, COMPUTE)
    loop(devices, STORE)
    dma(devices, dram=DRAM_BASE + 0x2000 + 8 * 16 - 2, local=8192, shape=1 | 4 << 16)


def compute_on_what_is_being_spilled(devices):
    loop(devices, COMPUTE & ~0x80 | 0x200, c_row=64)
    loop(devices, COMPUTE, a_row=70)


HAZARDS = {
    compute_then_load: "load 1 of the DMA .* writes .* the compute of matrix command 1 .* reads",
    load_then_compute: "compute of matrix command 1 .* reads .*, which load 1 of the DMA .* writes",
    load_of_a_then_compute: "compute of matrix command 2 .* the load of A of matrix command 1",
    load_twice: "load 2 of the DMA .* writes .* load 1 of the DMA .* writes",
    store_of_what_is_being_loaded: "store 1 .* reads 0xFF000040 to 0xFF000048, which load 1",
    load_of_what_is_being_stored: "load 1 .* reads .*, which the store of matrix command 2",
    compute_on_what_is_being_spilled: "compute of matrix command 2 .* the store of matrix comm",
}


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.__name__)
def test_what_nothing_orders_is_a_fault(hazard):
    devices, _ = make()
    with pytest.raises(DeviceFault, match=HAZARDS[hazard]):
        hazard(devices)


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.__name__)
def test_what_was_waited_for_is_none(hazard, monkeypatch):
    devices, _ = make()
    write = devices.write

    def patient(offset, data):
        devices.finish()
        write(offset, data)

    monkeypatch.setattr(devices, "write", patient)
    hazard(devices)
    devices.finish()
    assert not devices.error


def test_what_the_machine_orders_is_none():
    devices, _ = make()
    # Its own loads, then the compute, then its results over its own operands.
    loop(devices, COMPUTE & ~0xB8 | 0x20 | 0x200)
    loop(devices, STORE)
    loop(devices, STORE)
    # Results of two stores into alternate halves of the same lines.
    dma(
        devices,
        dram=DRAM_BASE + 0x4000,
        dram_pitch=8,
        local=12288,
        local_pitch=4,
        shape=9 | 4 << 16,
    )
    dma(
        devices,
        dram=DRAM_BASE + 0x4004,
        dram_pitch=8,
        local=12800,
        local_pitch=4,
        shape=9 | 4 << 16,
    )
    dma(devices, start=1, dram=DRAM_BASE + 0x4084, local=13000)
    devices.finish()
    assert not devices.error


def test_an_accumulator_without_results_is_a_fault():
    devices, _ = make()
    with pytest.raises(
        DeviceFault, match=r"command 1 .* stores row 0 of the accumulator, which no"
    ):
        loop(devices, STORE)
    devices, _ = make()
    with pytest.raises(DeviceFault, match=r"command 1 .* adds to row 0 of the accumulator"):
        loop(devices, COMPUTE, rs1=1)
    devices, _ = make()
    loop(devices, COMPUTE, blocks=(1, 2, 2))
    with pytest.raises(DeviceFault, match=r"command 2 .* stores row 8 of the accumulator"):
        loop(devices, STORE, blocks=(2, 2, 2))


def test_dram_that_was_not_placed_is_a_fault():
    def allowed(address, nbytes):
        return address >= DRAM_BASE and address + nbytes <= DRAM_BASE + 0x1000

    devices, _ = make(allowed=allowed)
    dma(devices, dram=DRAM_BASE + 0xFF0, local=64, shape=1 | 16 << 16)
    with pytest.raises(
        DeviceFault, match=r"load 2 .* 0x80000FF1 to 0x80001001, outside everything"
    ):
        dma(devices, dram=DRAM_BASE + 0xFF1, local=128)
    devices.finish()
    with pytest.raises(DeviceFault, match=r"the load of B of matrix command 1 .* outside every"):
        loop(devices, 0x2E0)


def test_refused_jobs_and_commands_show_in_the_registers():
    devices, memory = make()
    assert not devices.error
    before = memory.read(SHARED_BASE, TINY.shared.size)
    dma(devices, dram=0x1000, local=0, shape=1 | 4 << 16)
    devices.finish()
    assert (dma_read(devices, "error"), dma_read(devices, "loads_done")) == (2, 1)
    devices.cisc(0x0000_001F)
    devices.cisc(encode_cisc("current", "compute", a=0, b=16))
    assert (matrix_read(devices, "error"), matrix_read(devices, "error_word")) == (3, 0x1F)
    assert matrix_read(devices, "running") == 0
    devices.cisc(encode_cisc("current", "load", a=0, b=15))  # from address 0
    devices.finish()
    assert matrix_read(devices, "error") == 7
    assert devices.error
    assert devices.describe() == (
        "DMA: 0 jobs of programs unfinished, 1 loads and 0 stores done; matrix unit: 0 commands "
        "unfinished, 0 computes done; the DMA met a job out of range and the matrix unit met an "
        "illegal command and a command out of range and a failed job of its DMA (the first "
        "refused command is 0x0000001F)"
    )
    devices.write(DMA_BASE + DMA["error"].offset, 0xFFFF)
    devices.write(MATRIX_BASE + MATRIX["error"].offset, 0xFFFF)
    assert (dma_read(devices, "error"), matrix_read(devices, "error"), devices.error) == (0, 0, 0)
    assert np.array_equal(memory.read(SHARED_BASE, TINY.shared.size), before)


def test_what_is_queued_can_be_told():
    devices, _ = make()
    loop(devices, COMPUTE & ~0x18)
    text = devices.describe()
    assert "matrix unit: 1 commands unfinished, 0 computes done; not done: the load of A of" in text
    word = "0x1020B07B"
    assert f"the compute of matrix command 1 ({word}) (after the load of A of matrix " in text


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (lambda d: d.read(DMA_BASE + 0x30), "no register at 0x1030 of the window"),
        (lambda d: d.write(MATRIX_BASE + MATRIX_STRIDE, 0), "no register at 0x3100"),
        (lambda d: d.read(DMA_BASE + 2), "no register at 0x1002"),
        (lambda d: dma(d, start=2), "dma.start must be 0 for a load or 1 for a store, not 2"),
        (lambda d: dma_read(d, "start"), "dma.start must not be read"),
        (lambda d: dma(d, loads_done=0), "dma.loads_done must not be written"),
    ],
)
def test_accesses_that_are_refused(access, message):
    devices, _ = make()
    with pytest.raises(DeviceFault, match=message):
        access(devices)


def test_registers_of_the_matrix_unit_that_do_nothing():
    devices, _ = make()
    devices.write(MATRIX_BASE + MATRIX["running"].offset, 5)
    assert matrix_read(devices, "running") == 0
    assert matrix_read(devices, "instruction") == matrix_read(devices, "cisc") == 0


def test_a_cluster_without_matrix_unit():
    devices, _ = make(PRESETS["core"])
    with pytest.raises(DeviceFault, match="0x0000000A needs a matrix unit, and the cluster has no"):
        devices.cisc(10)
    with pytest.raises(DeviceFault, match="no register at 0x3020"):
        matrix_read(devices, "busy")
    assert devices.describe() == "DMA: 0 jobs of programs unfinished, 0 loads and 0 stores done"


def test_a_schedule_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="schedule must be one of in_turn, random, not 'lazy'"):
        make(schedule="lazy")


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
