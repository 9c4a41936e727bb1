"""Tests of fault handling: reported, no hang, and the machine continues."""

import random

import numpy as np
import pytest

from spica.base.errors import MachineError
from spica.hw.isa.commands import COMPUTE, Function, encode_cisc, rocc_word
from spica.hw.isa.memory_map import CONTROL, DRAM_BASE, DRAM_END
from spica.hw.presets import PRESETS
from spica.kernels.commands import Operation
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.rocc import Rocc
from spica.sim.golden.matrix.gemm import gemm
from spica.sim.harness.dram import DramConfig, Fault
from spica.sim.harness.error_registers import describe_faults
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.run.product_run import run_gemm
from support.cluster.gemm_bench import GemmBench

NAME = "tiny_matrix"
TINY = PRESETS[NAME]
#: The model that runs of this preset use.
MODEL = {"name": NAME, "composed": True}
PROBLEM = GemmProblem.placed(m=19, n=21, k=23, a_pitch=29, c_pitch=30, skew=3)
AXI, RANGE = 1, 2
ILLEGAL, OUT_OF_RANGE, JOB = 1, 2, 4
ILLEGAL_WORD = rocc_word(127)


class Driver(GemmBench):
    """A small machine with common actions of these tests."""

    def __init__(self, machine):
        super().__init__(machine, TINY)

    def run_product(self, seed=1):
        """Compute `PROBLEM`; return C and its expected value."""
        a, b = self.place(PROBLEM, "random", seed)
        self.run()
        c, touched = PROBLEM.result(self.machine.read(*PROBLEM.c_region))
        assert not touched
        return c, gemm(TINY.units[0], PROBLEM, a, b, TINY.units[0].tile[2])

    def assert_well(self, seed=9):
        """Fail unless the machine computes correctly and reports no error."""
        self.machine.inject([])
        self.clear_faults()
        self.assert_right(PROBLEM, seed=seed)

    def load(self, **changes):
        """Add a load of one row of 64 bytes with `changes`."""
        descriptor = {"dram": DRAM_BASE, "dram_pitch": 64, "local": 0, "local_pitch": 64}
        self.host.load(**descriptor | {"rows": 1, "size": 64} | changes)


@pytest.fixture(params=["gated", "random"])
def driver(request):
    with CommandMachine(TINY, **MODEL, watchdog=5000, gating=request.param) as machine:
        yield Driver(machine)


@pytest.mark.parametrize("operand", ["a", "b"])
def test_a_load_with_an_axi_error_is_reported(driver, operand):
    base = getattr(PROBLEM, f"{operand}_base")
    driver.machine.inject([Fault(start=base + 100, end=base + 101)])
    driver.run_product()
    faults = driver.faults()
    assert (faults["dma_error"], faults["matrix_error"]) == (AXI, 0)
    assert describe_faults(faults) == "the DMA reported an AXI error response"
    driver.assert_well()


def test_a_host_store_with_an_axi_error_is_reported(driver):
    driver.machine.inject([Fault(start=DRAM_BASE, end=DRAM_BASE + 64)])
    driver.host.dma.set(dram=DRAM_BASE, shape=2 | 64 << 16, dram_pitch=64, local_pitch=64)
    driver.host.dma.fire("start", 1)
    driver.host.commands.wait_equal(driver.host.dma.address("running"), 0)
    assert driver.faults()["dma_error"] == AXI
    driver.assert_well()


def test_the_status_register_shows_errors(driver):
    status = CONTROL["status"].offset
    for fire, values in (
        (lambda: driver.host.matrix.fire("cisc", 7), (0, ILLEGAL)),
        (lambda: driver.load(local=TINY.shared.size), (RANGE, 0)),
    ):
        driver.host.commands.read(status)
        fire()
        driver.host.commands.wait_equal(driver.host.dma.address("running"), 0)
        driver.host.wait_idle()
        driver.host.commands.read(status)
        before, after = driver.run()
        assert (before >> 2 & 1, after >> 2 & 1) == (0, 1)
        faults = driver.faults()
        assert (faults["dma_error"], faults["matrix_error"]) == values
        driver.clear_faults()


def test_a_store_with_an_axi_error_is_reported_and_loses_only_its_burst(driver):
    row, size = 7, PROBLEM.element_bytes("c")
    address = PROBLEM.c_base + row * PROBLEM.c_pitch * size
    driver.machine.inject([Fault(start=address, end=address + 2 * size, reads=False)])
    c, expected = driver.run_product()
    faults = driver.faults()
    assert (faults["dma_error"], faults["matrix_error"]) == (0, JOB)
    assert "a failed DMA descriptor" in describe_faults(faults)
    wrong = np.argwhere(c.view("u2") != expected.view("u2"))
    assert len(wrong) and set(wrong[:, 0]) == {row}
    driver.assert_well()


def test_axi_errors_anywhere_are_reported_and_end(driver):
    rng = random.Random(3)
    for seed in range(12):
        name = rng.choice("abc")
        base, span = getattr(PROBLEM, f"{name}_base"), PROBLEM.span_bytes(name)
        start = base + rng.randrange(span)
        driver.machine.inject([Fault(start=start, end=base + span)])
        c, expected = driver.run_product(seed)
        faults = driver.faults()
        # The fault may be in a gap between two rows that is never accessed.
        errors = (faults["dma_error"], faults["matrix_error"])
        assert errors in (((0, 0), (0, JOB)) if name == "c" else ((0, 0), (AXI, 0)))
        if errors == (0, 0):
            assert c.tobytes() == expected.tobytes()
        driver.assert_well(seed)


def test_a_run_says_in_one_sentence_what_went_wrong():
    with CommandMachine(TINY, **MODEL) as machine:
        machine.inject([Fault(start=PROBLEM.a_base, end=PROBLEM.a_base + 1)])
        with pytest.raises(MachineError) as caught:
            run_gemm(machine, TINY, PROBLEM)
    sentence = "the machine is done, but the DMA reported an AXI error response"
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("register", "word"),
    [
        ("instruction", ILLEGAL_WORD),
        ("instruction", 0),
        ("cisc", 7),
        ("cisc", encode_cisc("current", "compute", unit=1)),
    ],
)
def test_an_illegal_command_is_refused(driver, register, word):
    host = driver.host
    host.matrix.fire(register, word)
    host.matrix.fire("instruction", ILLEGAL_WORD ^ 1 << 25)  # the first one is kept
    host.wait_idle()
    faults = driver.faults()
    assert faults == {"dma_error": 0, "matrix_error": ILLEGAL, "matrix_error_word": word}
    text = f"the matrix unit reported an illegal command (first rejected command: 0x{word:08X})"
    assert describe_faults(faults) == text
    driver.assert_well()


def test_an_illegal_command_between_others_disturbs_none(driver):
    a, b = driver.place(PROBLEM, "random", 1)
    commands, instruction = driver.host.commands, driver.host.matrix.address("instruction")
    rows = []
    for row in commands.rows:
        rows.append(row)
        if row[:2] == (Operation.WRITE, instruction):
            rows.append((Operation.WRITE, instruction, ILLEGAL_WORD, 0))
    commands.rows[:] = rows
    driver.run()
    assert driver.verdict(PROBLEM, a, b).passed
    assert driver.faults()["matrix_error"] == ILLEGAL


def test_a_compute_outside_shared_memory_is_refused(driver):
    matrix, size = TINY.units[0], TINY.shared.size
    for a_row, b_end_row, blocks, pads in (
        (size // matrix.a_bytes - 3, size // matrix.b_bytes, (1, 1, 1), (0, 0, 0)),
        (0, size // matrix.b_bytes + 1, (1, 1, 1), (0, 0, 0)),
        (0, 3, (1, 1, 1), (0, 0, 0)),
        (0, 64, (0, 1, 1), (0, 0, 0)),
        (0, 64, (1, 1, 1), (0, 0, 4)),
        (0, 64, (64, 64, 1), (0, 0, 0)),
    ):
        rocc = Rocc(driver.host)
        rocc.bounds(blocks, pads)
        rocc.operands_at(a_row, b_end_row)
        rocc.compute(accumulate=False)
        driver.host.computes -= 1  # it is not counted
        driver.host.wait_idle()
        faults = driver.faults()
        assert faults["matrix_error"] == OUT_OF_RANGE, (a_row, b_end_row, blocks, pads)
        assert faults["matrix_error_word"] == rocc_word(Function.LOOP_WS)
        assert "a command out of range (first rejected" in describe_faults(faults)
        driver.clear_faults()
        assert not describe_faults(driver.faults())
    driver.assert_well()


@pytest.mark.parametrize(
    "changes",
    [
        {"local": TINY.shared.size - 32},
        {"local": TINY.shared.size},
        {"local": 0xFFFF_FFC0},
        {"rows": 2, "local_pitch": TINY.shared.size},
        {"rows": 2, "local_pitch": 0xFFFF_FFC0, "local": 64},
        {"dram": DRAM_BASE - 64},
        {"dram": DRAM_END - 63},
        {"dram": 0xFFFF_FFF0},
        {"rows": 3, "dram_pitch": 0x7000_0000},
        {"rows": 0},
        {"size": 0},
    ],
    ids=lambda changes: ",".join(f"{name}={value:#x}" for name, value in changes.items()),
)
def test_a_load_out_of_range_is_refused_and_counts_as_done(driver, changes):
    driver.load()
    driver.load(**changes)
    driver.load()
    driver.host.wait_loads(3)
    assert not driver.faults()["matrix_error"]
    assert describe_faults(driver.faults()) == "the DMA reported a descriptor out of range"
    driver.assert_well()


@pytest.mark.parametrize("address", [0, DRAM_BASE - 2, DRAM_END - 2, 0xFFFF_FFFE])
def test_a_store_out_of_range_is_refused(driver, address):
    host, rocc = driver.host, Rocc(driver.host)
    rocc.bounds((1, 1, 1), (0, 0, 0))
    rocc.operands_at(0, 64)
    rocc.result_pitch(100)
    rocc.compute(accumulate=False)
    host.wait_computes(1)
    rocc.result_at(address)
    rocc.store(wide=False, relu=False)
    host.wait_idle()
    faults = driver.faults()
    assert (faults["dma_error"], faults["matrix_error"]) == (0, JOB)
    driver.resume()
    driver.assert_well()


def test_a_full_dma_queue_holds_the_host_and_loses_nothing():
    rng = np.random.default_rng(1)
    rows = 12 * TINY.dma.queue
    data = rng.integers(0, 256, (rows, 64), np.uint8)
    target = DRAM_BASE + 0x10000
    with CommandMachine(TINY, **MODEL, memory=DramConfig(latency=900), access_cycles=6) as machine:
        driver = Driver(machine)
        machine.write(DRAM_BASE, data)
        for row in range(rows):
            driver.load(dram=DRAM_BASE + 64 * row, local=64 * (rows - 1 - row))
        for row in range(rows):
            if row == 0:
                driver.host.wait_loads(rows)
            driver.host.dma.set(dram=target + 64 * row, local=64 * row, shape=1 | 64 << 16)
            driver.host.dma.fire("start", 1)
        driver.host.commands.wait_equal(driver.host.dma.address("running"), 0)
        driver.host.commands.read(driver.host.dma.address("loads_done"))
        driver.host.commands.read(driver.host.dma.address("stores_done"))
        assert driver.run() == [rows, rows]
        assert (machine.read(target, data.size).reshape(data.shape) == data[::-1]).all()
        driver.resume()
        driver.assert_well()


def test_a_full_command_queue_holds_the_host_and_loses_nothing(driver):
    matrix, copies, block = TINY.units[0], 24, TINY.units[0].rows
    size = block * block
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, block, block)).astype(np.float16)
    b_base, target = 64, DRAM_BASE + 0x1000
    driver.machine.write(DRAM_BASE, np.concatenate([a.reshape(-1), b.reshape(-1)]))
    driver.load(size=2 * size, dram=DRAM_BASE, local=0)
    driver.load(size=2 * size, dram=DRAM_BASE + 2 * size, local=b_base)
    driver.host.wait_loads(2)
    rocc = Rocc(driver.host)
    rocc.bounds((1, 1, 1), (0, 0, 0))
    rocc.operands_at(0, (b_base + 2 * size) // matrix.b_bytes)
    rocc.result_pitch(block)
    for copy in range(copies):
        rocc.compute(accumulate=copy > 0)
        rocc.result_at(target + 4 * size * copy)
        rocc.store(wide=True, relu=False)
    driver.host.wait_idle()
    driver.host.commands.read(driver.host.matrix.address("computes_done"))
    assert driver.run() == [copies]
    results = driver.machine.read(target, 4 * size * copies).view(np.float32)
    problem = GemmProblem.placed(m=block, n=block, k=block, c_format="fp32")
    once = gemm(matrix, problem, a, b, block)
    total = np.zeros_like(once)
    for copy, result in enumerate(results.reshape(copies, block, block)):
        total = total + once if copy else once
        assert (result == total).all(), copy
    assert not describe_faults(driver.faults())


def message_of(driver, **limits):
    with pytest.raises(MachineError) as caught:
        driver.run(**limits)
    return str(caught.value)


def test_a_hang_says_who_waited_for_what(driver):
    driver.host.load(dram=DRAM_BASE, dram_pitch=64, local=0, local_pitch=64, rows=1, size=64)
    driver.host.wait_loads(2)
    message = message_of(driver)
    assert "the machine hangs: no progress for 5001 cycles" in message
    assert "wait until 0x1024 reaches 2, and last read 0x1" in message
    assert "busy: matrix 0, dma 0, shared 0" in message
    assert "m_axi0: 0 reads and 0 writes outstanding" in message
    assert "DMA: 0 host descriptors pending, 1 loads and 0 stores done" in message
    assert "matrix unit: 0 commands pending, 0 computes done" in message
    assert "still counting: none" in message
    assert "\n" not in message
    driver.assert_well()


def test_a_wait_for_a_refused_compute_names_the_refusal(driver):
    rocc = Rocc(driver.host)
    rocc.bounds((1, 1, 1), (0, 0, 0))
    rocc.operands_at(TINY.shared.size, 64)
    rocc.compute(accumulate=False)
    driver.host.wait_computes(1)
    message = message_of(driver)
    assert "the matrix unit reported a command out of range" in message
    assert "wait until 0x3034 reaches 1, and last read 0x0" in message
    driver.host.computes = 0
    driver.assert_well()


def test_dram_that_does_not_answer_is_named():
    with CommandMachine(TINY, **MODEL, memory=DramConfig(latency=10_000), watchdog=3000) as machine:
        driver = Driver(machine)
        driver.load(rows=3)
        driver.host.wait_loads(1)
        message = message_of(driver)
        assert "the machine hangs" in message
        assert "dma 1" in message
        assert "m_axi0: 2 reads and 0 writes outstanding" in message
        assert "m_axi1: 1 reads and 0 writes outstanding" in message
        assert "DMA: 1 host descriptors pending, 0 loads and 0 stores done" in message


def test_a_control_port_that_is_held_is_named():
    with CommandMachine(TINY, **MODEL, memory=DramConfig(latency=10_000), watchdog=3000) as machine:
        driver = Driver(machine)
        for _ in range(20):
            driver.load()
        with pytest.raises(MachineError, match=r"write 0x0 to 0x1018.*port does not respond"):
            driver.run()


@pytest.mark.parametrize("limit", [100, 700, 1111])
def test_the_limit_of_cycles_ends_a_run_and_the_machine_continues(driver, limit):
    driver.place(PROBLEM, "random", 1)
    message = message_of(driver, max_cycles=limit)
    assert f"the machine was not done after {limit} cycles; the host is at command" in message
    assert "matrix unit: " in message and "still counting: " in message
    driver.resume()
    driver.assert_well()


def test_words_for_several_faults():
    values = {"dma_error": AXI | RANGE, "matrix_error": ILLEGAL | JOB, "matrix_error_word": COMPUTE}
    assert describe_faults(values) == (
        "the DMA reported an AXI error response and a descriptor out of range and the matrix unit "
        "reported an illegal command and a failed DMA descriptor (first rejected command: "
        "0x000002B8)"
    )
    assert not describe_faults(dict.fromkeys(values, 0))
    assert not describe_faults({"dma_error": 0})
