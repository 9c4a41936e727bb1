"""Tests of programs that command DMA and matrix unit, on the instruction-set model."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.isa.commands import Function, encode_cisc, rocc_word
from spica.hw.isa.memory_map import (
    DMA,
    DMA_BASE,
    DRAM_BASE,
    ENTRY,
    MATRIX,
    MATRIX_BASE,
    SHARED_BASE,
)
from spica.hw.isa.program import assemble_program
from spica.hw.presets import PRESETS
from spica.sim.golden.matrix.systolic.systolic import read_out, systolic_os, systolic_ws
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause

TINY = PRESETS["tiny"]
A, B, C, COPY = (DRAM_BASE + offset for offset in (0x100000, 0x200000, 0x300000, 0x400000))
SCHEDULES = [("round_robin", 1), *(("random", seed) for seed in range(1, 9))]

END = "\n        li gp, 0\n        vx_tmc zero\n"


class Writer:
    """Assembly writer for commands to a matrix unit, by registers or command words."""

    def __init__(self, config, *, by_register=False):
        self.map = config.units[0].cisc_map
        self.by_register = by_register
        self.window = SHARED_BASE + config.shared.size
        self.labels = 0
        self.text = f"        li s0, {self.window + MATRIX_BASE}\n"
        self.text += f"        li s1, {self.window + DMA_BASE}\n"

    def set(self, name, value, base="s0", table=MATRIX):
        """Write a register."""
        self.text += f"        li t0, {value}\n        sw t0, {table[name].offset}({base})\n"

    def rocc(self, function, rs1, rs2):
        """Issue a RoCC command of two words."""
        operands = {"rs1_low": rs1, "rs1_high": 0, "rs2_low": rs2, "rs2_high": 0}
        for name, value in operands.items():
            self.set(name, value)
        self.set("instruction", rocc_word(function))

    def command(self, name, **fields):
        """Issue a command word."""
        word = encode_cisc(self.map, name, **fields)
        if self.by_register:
            self.set("cisc", word)
        else:
            self.text += f"        li t0, {word}\n        csrw accel_cisc, t0\n"

    def fence(self, base="s0", table=MATRIX):
        """Wait until a unit has finished its commands."""
        self.labels += 1
        self.text += f"""
fence{self.labels}:
        lw t0, {table["running"].offset}({base})
        bnez t0, fence{self.labels}
"""

    def load(self, **values):
        """Start a load by the DMA's registers, and wait for it."""
        for name, value in values.items():
            self.set(name, value, "s1", DMA)
        self.set("start", 0, "s1", DMA)
        self.fence("s1", DMA)

    def copy(self, source, target, words):
        """Copy words in DRAM."""
        self.labels += 1
        self.text += f"""
        li a0, {source}
        li a1, {target}
        li a2, {words}
copy{self.labels}:
        lw t0, 0(a0)
        sw t0, 0(a1)
        addi a0, a0, 4
        addi a1, a1, 4
        addi a2, a2, -1
        bnez a2, copy{self.labels}
"""


def operands(config, slabs):
    m, n, k = config.units[0].tile
    rng = np.random.default_rng(slabs)
    a = rng.standard_normal((m, slabs * k)).astype(np.float16)
    return a, rng.standard_normal((slabs * k, n)).astype(np.float16)


def run(writer, config, a, b, schedule):
    """Run the written program; return the machine and the outcome."""
    iss = Iss(config, schedule=schedule[0], seed=schedule[1])
    program = assemble_program(writer.text + END).data
    iss.write(ENTRY, program)
    iss.allow(ENTRY, len(program))
    for address, matrix in ((A, a), (B, b)):
        iss.write(address, matrix)
        iss.allow(address, matrix.nbytes)
    m, n = len(a), b.shape[1]
    for address in (C, COPY):
        iss.allow(address, 4 * m * n)
    return iss, iss.run(200_000)


def prepared(config, a, b, **options):
    """Return a program that has set all addresses."""
    writer = Writer(config, **options)
    writer.rocc(Function.STRIDES_AB, a.shape[1], b.shape[1])
    writer.rocc(Function.STRIDES_DC, 0, b.shape[1])
    writer.rocc(Function.ADDRESSES_DC, 0, C)
    writer.rocc(Function.ADDRESSES_AB, A, B)
    return writer


def bits_at(iss, address, shape):
    return iss.read(address, 2 * shape[0] * shape[1]).view(np.uint16).reshape(shape)


def expected(config, a, b):
    matrix = config.units[0]
    if matrix.dataflow == "output_stationary":
        total = systolic_os(a, b, matrix.tile[2])
    else:
        total = systolic_ws(a, b, matrix.rows)
    return read_out(total, "fp16").view(np.uint16)


def load_and_compute(cisc_map, slab):
    """Return name and fields of the two commands of a slab, in one of two buffers."""
    half, later = slab % 2, slab > 0
    if cisc_map == "current":
        places = {"a": 8 * half, "b": 8 * half + 7}
        return ("load", places), ("compute", places | {"c": later})
    which = ("first", "second")[half]
    return (f"load_{which}", {}), (f"compute_{which}{'_accumulate' * later}", {})


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("cisc_map", ["current", "legacy"])
@pytest.mark.parametrize("by_register", [False, True])
def test_a_long_product_in_two_buffers(schedule, cisc_map, by_register):
    """The next load runs during a compute; one fence per step waits for both."""
    matrix = replace(TINY.units[0], cisc_map=cisc_map)
    config = replace(TINY, units=(matrix,))
    slabs = 4
    a, b = operands(config, slabs)
    m, n, k = matrix.tile
    writer = prepared(config, a, b, by_register=by_register)
    for slab in range(slabs + 1):
        if slab < slabs:
            (load, places), _ = load_and_compute(cisc_map, slab)
            writer.rocc(Function.ADDRESSES_AB, A + 2 * slab * k, B + 2 * slab * k * n)
            writer.command(load, **places)
        if slab:
            _, (compute, places) = load_and_compute(cisc_map, slab - 1)
            writer.command(compute, **places)
        writer.fence()
    if cisc_map == "current":
        writer.command("store")
    else:  # its stores were RoCC words
        writer.rocc(Function.LOOP_WS, 0, 0x78)
    writer.fence()
    writer.copy(C, COPY, m * n // 2)
    iss, outcome = run(writer, config, a, b, schedule)
    assert outcome.stop is StopReason.DONE and outcome.exit_code == 0, outcome
    for address in (C, COPY):
        assert np.array_equal(bits_at(iss, address, (m, n)), expected(config, a, b))
    assert iss.devices.idle and not iss.devices.error


def one_slab(config, **options):
    """Return operands of one tile, and a program that has set their addresses."""
    a, b = operands(config, 1)
    return a, b, prepared(config, a, b, **options)


PLACES = {"a": 0, "b": 7}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_the_dma_brings_operands(schedule):
    config = replace(TINY, units=(replace(TINY.units[0], dataflow="output_stationary"),))
    a, b, writer = one_slab(config)
    m, n, k = config.units[0].tile
    a_line, b_line = 2 * k, 2 * n
    place = {"dram": A, "dram_pitch": a_line, "local": 0, "local_pitch": a_line}
    writer.load(**place, shape=m | a_line << 16)
    b_start = config.shared.size // 2 - k * b_line
    place = {"dram": B, "dram_pitch": b_line, "local": b_start, "local_pitch": b_line}
    writer.load(**place, shape=k | b_line << 16)
    writer.command("compute", **PLACES)
    writer.command("store")
    iss, outcome = run(writer, config, a, b, schedule)
    assert outcome.stop is StopReason.DONE
    # The program does not wait for the store, which is done when the program ends.
    assert np.array_equal(bits_at(iss, C, (m, n)), expected(config, a, b))


def test_a_compute_without_a_fence_is_a_fault():
    a, b, writer = one_slab(TINY)
    writer.command("load", **PLACES)
    writer.command("compute", **PLACES)
    iss, outcome = run(writer, TINY, a, b, SCHEDULES[0])
    assert outcome.stop is StopReason.FAULT
    fault = outcome.fault
    assert fault.cause is Cause.DEVICE and (fault.core, fault.warp, fault.lanes) == (0, 0, 1)
    for part in (
        "the compute of matrix command 2 (0x00070000) reads 0xFF000000 to 0xFF000800, which the "
        "load of A of matrix command 1 (0x0007000A) writes and has not finished",
        "core 0, warp 0, lane 0",
        "csrrw zero, accel_cisc, t0",
    ):
        assert part in fault.sentence
    assert iss.read(fault.pc, 4).view(np.uint32)[0] == fault.word


def test_a_dma_load_without_a_fence_is_a_fault():
    a, b, writer = one_slab(TINY, by_register=True)
    for name, value in (("dram", A), ("local", 64), ("shape", 1 | 64 << 16), ("start", 0)):
        writer.set(name, value, "s1", DMA)
    writer.command("compute", **PLACES)
    _, outcome = run(writer, TINY, a, b, SCHEDULES[0])
    assert outcome.stop is StopReason.FAULT and outcome.fault.cause is Cause.DEVICE
    assert "0xFF000040 to 0xFF000080" not in outcome.fault.sentence  # it names the bytes read
    assert "which load 1 of the DMA (DRAM 0x80100000 to 0xFF000040) writes and" in (
        outcome.fault.sentence
    )


def test_who_does_not_wait_reads_what_was_there_before():
    a, b, writer = one_slab(TINY)
    m, n, _ = TINY.units[0].tile
    writer.command("load", **PLACES)
    writer.fence()
    writer.command("compute", **PLACES)
    writer.command("store")
    writer.copy(C, COPY, m * n // 2)
    iss, outcome = run(writer, TINY, a, b, SCHEDULES[0])
    assert outcome.stop is StopReason.DONE
    right = expected(TINY, a, b)
    assert np.array_equal(bits_at(iss, C, (m, n)), right)
    assert not np.any(bits_at(iss, COPY, (m, n)))


def test_a_program_sees_what_was_refused():
    a, b, writer = one_slab(TINY)
    writer.command("compute", a=0, b=16)
    writer.text += f"        lw gp, {MATRIX['error'].offset}(s0)\n        vx_tmc zero\n"
    iss, outcome = run(writer, TINY, a, b, SCHEDULES[0])
    assert (outcome.stop, outcome.exit_code) == (StopReason.DONE, 2)
    assert "a command out of range (first rejected command: 0x00100000)" in (iss.devices.describe())
