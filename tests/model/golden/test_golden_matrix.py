"""Tests of the golden matrix unit by command, against loops over its steps, and against RTL."""

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from spica.hw.config import MatrixUnitConfig
from spica.hw.config.formats import FloatFormat
from spica.hw.isa.commands import Function, bounds_sizes, encode
from spica.hw.isa.memory_map import DRAM_BASE, MATRIX_BASE, SHARED_BASE
from spica.hw.presets import PRESETS
from spica.kernels.elements import dtype_of
from spica.sim.engine.testbench import simulate
from spica.sim.golden.matrix.command.command_decoder import CommandModel
from spica.sim.golden.matrix.systolic.sequencer import (
    expected_d,
    expected_descriptors,
    expected_rows,
    expected_steps,
    expected_weights,
)
from spica.sim.golden.matrix.systolic.systolic import read_out, systolic_os
from spica.sim.golden.matrix.systolic.systolic_unit import operand_a, operand_b
from spica.sim.iss.devices import Devices
from support.cluster.unit_register_bench import DRAM_BYTES, SmallMemory, random_writes, rocc_writes
from support.matrix.systolic_unit_bench import WAIT, MatrixHost

TINY = PRESETS["tiny_matrix"]
TINY = replace(TINY, units=(replace(TINY.units[0], tile=(8, 8, 8)),))


def change(**fields):
    return replace(TINY, units=(replace(TINY.units[0], **fields),))


CONFIGS = {
    "fp16": TINY,
    "legacy": change(cisc_map="legacy"),
    "output-stationary": change(dataflow="output_stationary", rows=2),
    "int8": change(operand="int8", read_scale=False),
    "2x8": change(rows=2, columns=8, multiply_add_latency=1),
    "loads of D": change(load_d=True),
    "fp8 2x2": change(operand="fp8_e4m3", rows=2, columns=2),
}


def memory_of(config, seed):
    """Return memory with numbers near 1 of the operand's format, so that sums round."""
    rng = np.random.default_rng(seed)
    form = config.units[0].operand_format
    counts = (size // (form.width // 8) for size in (DRAM_BYTES, config.shared.size))
    if isinstance(form, FloatFormat):
        one, spread = form.bias << form.fraction_width, 1 << form.fraction_width
        stored = [
            rng.integers(one - 2 * spread, one + spread, count)
            | rng.integers(0, 2, count) << form.magnitude_width
            for count in counts
        ]
    else:
        stored = [rng.integers(0, 256, count) for count in counts]
    return SmallMemory(*(x.astype(f"u{form.width // 8}").view(np.uint8) for x in stored))


class Loops:
    """Reference with explicit loops; `golden.sequencer` pairs the values in the array."""

    def __init__(self, config, memory):
        self.config = MatrixUnitConfig.of(config)
        self.matrix, self.memory = config.units[0], memory
        wide = dtype_of(self.matrix.accumulator_format.name)
        self.sums = np.zeros((self.matrix.accumulator_rows, self.matrix.columns), wide)
        form = self.matrix.operand_format
        codes = np.arange(1 << form.width).astype(f"u{form.width // 8}")
        stored = codes.view(dtype_of(self.matrix.operand))
        ones = np.ones((1, 1), stored.dtype)
        # A multiplication by 1 decodes.
        if isinstance(form, FloatFormat):
            ones[:] = np.array([form.bias << form.fraction_width], codes.dtype).view(ones.dtype)
        self.values = systolic_os(stored[:, None], ones, 1, operand=self.matrix.operand)[:, 0]

    def run(self, operation):
        descriptors = expected_descriptors(self.config, operation)
        for descriptor in descriptors:
            if descriptor["direction"] == "LOAD":
                for row in range(descriptor["rows"]):
                    source = descriptor["dram"] + row * descriptor["dram_pitch"]
                    target = SHARED_BASE + descriptor["local"] + row * descriptor["local_pitch"]
                    self.memory.write(
                        target, self.memory.read(source, descriptor["bytes"]).tobytes()
                    )
        for descriptor in expected_d(self.config, operation):
            self.load_d(descriptor)
        if operation["compute"]:
            shared = self.memory.shared.tobytes()
            if self.matrix.dataflow == "weight_stationary":
                self.rows(operation, shared)
            else:
                self.steps(operation, shared)
        if operation["store"]:
            self.store(operation, descriptors[-1])

    def load_d(self, descriptor):
        """Copy the words of D of one column block."""
        size = 4 * self.matrix.columns
        refills = descriptor["direction"] == "REFILL"
        source, target = ("local", "dram") if refills else ("dram", "local")
        for row, word in product(range(descriptor["rows"]), range(descriptor["bytes"] // 4)):
            start = descriptor[source] + row * descriptor[f"{source}_pitch"] + 4 * word
            value = self.memory.read(start + (SHARED_BASE if refills else 0), 4)
            place = descriptor[target] + row * descriptor[f"{target}_pitch"]
            self.sums[place // size, word] = value.view(self.sums.dtype)[0]

    def rows(self, operation, shared):
        weights = self.values[expected_weights(self.config, operation, shared)]
        tile = -1
        for a, swap, address, accumulate in expected_rows(self.config, operation, shared):
            tile += swap
            sums = np.zeros_like(self.sums[0])
            for r, value in enumerate(self.values[a]):
                sums += value * weights[tile * self.matrix.rows + r]
            self.sums[address] = self.sums[address] + sums if accumulate else sums

    def steps(self, operation, shared):
        chains, turn = [], 0
        for a, b, first, last, *rest in expected_steps(self.config, operation, shared):
            if first:
                chains.append(np.zeros((self.matrix.rows, self.matrix.columns), self.sums.dtype))
                turn = len(chains) - 1
            chains[turn] += self.values[a][:, None] * self.values[b]
            if last:
                address, accumulate = rest
                part = self.sums[address : address + self.matrix.rows]
                part[:] = part + chains[turn] if accumulate else chains[turn]
            turn += 1
            if turn == len(chains):
                turn = 0
                if last:
                    chains = []

    def store(self, operation, descriptor):
        wide = operation["wide"]
        matrix = self.matrix
        form = (matrix.accumulator_format if wide else matrix.narrow_format).name
        scale = np.uint32(operation["scale"]).view(np.float32) if matrix.scales else None
        spills = descriptor["direction"] == "SPILL"
        start, pitch = (
            (SHARED_BASE + descriptor["local"], descriptor["local_pitch"])
            if spills
            else (descriptor["dram"], descriptor["dram_pitch"])
        )
        # Block by block: the write order if rows overlap in memory.
        width, height = operation["width"], operation["height"]
        for first in range(0, width, matrix.columns):
            for i, j in product(range(height), range(first, min(width, first + matrix.columns))):
                column = j - first
                row = first // matrix.columns * operation["i_blocks"] * matrix.rows + i
                one = read_out(
                    self.sums[row, column : column + 1], form, relu=operation["relu"], scale=scale
                )
                self.memory.write(start + i * pitch + j * one.itemsize, one.tobytes())


def bits(values):
    """Return stored bits, with NaNs made canonical."""
    if values.dtype == np.float32:
        values = np.where(np.isnan(values), np.float32(np.nan), values)
    return values.view(np.uint8)


@pytest.mark.parametrize("name", CONFIGS)
def test_random_commands_do_what_loops_do(name):
    config, rng = CONFIGS[name], random.Random(name)
    memory, loops = memory_of(config, 1), Loops(config, memory_of(config, 1))
    devices, golden = Devices(config, memory), CommandModel(MatrixUnitConfig.of(config))
    devices.matrix.written[:] = True  # zeros, here
    writes = [
        *rocc_writes(Function.BOUNDS, 0, encode(bounds_sizes, i=2, j=2, k=2)),
        *rocc_writes(Function.SPAD_AB, 0, config.shared.size // config.units[0].b_bytes),
        *rocc_writes(Function.ADDRESSES_AB, DRAM_BASE, DRAM_BASE),
        *rocc_writes(Function.ADDRESSES_DC, 0, DRAM_BASE),
    ]
    seen = Counter()
    for _ in range(300):
        for offset, data in writes:
            devices.write(MATRIX_BASE + offset, data)
            golden.write(offset, data)
        for operation in golden.operations:
            seen.update(key for key, value in operation.items() if value)
            with np.errstate(all="ignore"):
                loops.run(operation)
        golden.operations.clear()
        devices.finish()
        assert np.array_equal(memory.dram, loops.memory.dram)
        assert np.array_equal(memory.shared, loops.memory.shared)
        assert np.array_equal(bits(devices.matrix.model.accumulator), bits(loops.sums))
        assert (devices.matrix.error, devices.matrix.read("error_word")) == (
            golden.error,
            golden.error_word,
        )
        writes = random_writes(config, rng)
    parts = ["compute", "store", "spill"]
    # A command cannot load elements that do not fill a word.
    if config.units[0].rows * config.units[0].operand_bytes >= 4:
        parts += ["load_a", "load_b"]
    assert min(seen[part] for part in parts) > 10
    assert golden.error == 3
    assert seen["accumulate"] > 5 and seen["relu"] > 5
    assert (seen["load_d"] > 5) == config.units[0].load_d


@pytest.mark.parametrize("name", CONFIGS)
def test_a_tile_is_placed_where_it_counts(name):
    """Bytes outside the reported range do not affect the result; each byte inside does."""
    config, rng = CONFIGS[name], random.Random(name)
    golden, memory = CommandModel(MatrixUnitConfig.of(config)), memory_of(config, 1)
    device, turned = Devices(config, memory).matrix, Counter()
    while turned.total() < 100:
        for offset, data in random_writes(config, rng):
            golden.write(offset, data)
        computes = [operation for operation in golden.operations if operation["compute"]]
        for operation, tile in product(computes, "ab"):
            inside = np.zeros(config.shared.size, bool)
            region = device.tile(operation, tile)
            for start in (region.starts - SHARED_BASE).tolist():
                inside[start : start + region.width] = True
            usual, same, other = (
                stored(config, operation, tile, shared)
                for shared in (
                    memory.shared,
                    np.where(inside, memory.shared, ~memory.shared),
                    np.where(inside, ~memory.shared, memory.shared),
                )
            )
            assert np.array_equal(same, usual)
            assert np.all(other != usual)
            turned[operation[f"transpose_{tile}"]] += 1
        golden.operations.clear()
    if config.units[0].rows == config.units[0].columns:
        assert turned[1] > 10


def stored(config, operation, tile, shared):
    """Return the bits of A or B, without the columns beyond N."""
    matrix = config.units[0]
    elements = (
        operand_a(matrix, operation, shared)
        if tile == "a"
        else operand_b(matrix, operation, shared)[:, : operation["width"]]
    )
    return np.ascontiguousarray(elements).view(f"u{elements.itemsize}")


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("fp16", 8),
        ("loads of D", 20),
        *(pytest.param(name, 50, marks=pytest.mark.slow) for name in CONFIGS),
    ],
)
@pytest.mark.full
def test_random_commands_do_what_the_hardware_does(name, count):
    """One after the other, on Amaranth's simulator."""
    config, rng = CONFIGS[name], random.Random(name)
    memory, golden = memory_of(config, 2), CommandModel(MatrixUnitConfig.of(config))
    full = config.units[0].accumulator_rows // config.units[0].rows
    every = rocc_writes(
        Function.BOUNDS, 0, encode(bounds_sizes, i=min(full, 16), j=full // 16, k=1)
    )
    writes = [
        *rocc_writes(Function.SPAD_AB, 0, config.shared.size // config.units[0].b_bytes),
        *rocc_writes(Function.ADDRESSES_AB, DRAM_BASE, DRAM_BASE),
        *rocc_writes(Function.ADDRESSES_DC, 0, DRAM_BASE),
        *every,
        *rocc_writes(Function.LOOP_WS, 0, 0x2B8),  # so that the whole accumulator is defined
    ]
    host = MatrixHost(MatrixUnitConfig.of(config), [], stall=0.2)
    host.shared[:] = memory.shared.tobytes()
    host.dram[:] = memory.dram.tobytes()
    devices = Devices(config, memory)
    while len(golden.operations) < count:
        for offset, data in writes:
            host.writes.append((offset, data))
            devices.write(MATRIX_BASE + offset, data)
            golden.write(offset, data)
        host.writes.append(WAIT)
        devices.finish()
        writes = random_writes(config, rng)
    simulate(host.dut, host.run)
    assert memory.shared.tobytes() == host.shared
    assert memory.dram.tobytes() == host.dram
    stores = sum(operation["store"] for operation in golden.operations)
    assert stores > count // 5
